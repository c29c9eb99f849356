"""Interprets functions: expressions, statements, calls, objects."""

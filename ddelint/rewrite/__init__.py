"""Rewrites: one move a file, what they read and write, and the search that keeps what verification passes."""

"""Rewrites: one move a file, the engine that applies their edits, the search that keeps what verification passes."""

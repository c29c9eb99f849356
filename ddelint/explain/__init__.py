"""Somebody else's error text or log, told as diagnostics. Runs in the parent: no torch, and nothing is executed."""

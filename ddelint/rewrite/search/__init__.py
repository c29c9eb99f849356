"""Propose, retrace, verify, keep or try the next: the loop over the questions of one entry."""

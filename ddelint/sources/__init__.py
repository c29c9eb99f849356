"""Source files as text and syntax: where things stand in them, and new text in their place."""

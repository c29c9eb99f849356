"""With what to call a program of which nobody says so: read off its text, corrected by what running it answers."""

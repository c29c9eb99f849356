"""What was demanded, as findings; and what a file's text alone says."""

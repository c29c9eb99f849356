"""What is known of a program: values, numbers as linear forms, facts, states. Knows nothing of files."""

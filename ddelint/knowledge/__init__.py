"""What is known of rules, operators and GPUs, read from rules/ and checked once; and of files, from call to call."""

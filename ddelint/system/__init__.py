"""Files and streams, read and written so that nobody is hurt."""

"""What a call was asked to do, which files it is about, and what it leaves out."""

"""What a reproduction leaves: files, verdicts, and the page."""

"""Planning with many tests: branch and bound over evidence."""

"""Results and numbers that the paper tells in its text."""

"""What jobs measure for results that the paper tells in its text, and for its special tables."""

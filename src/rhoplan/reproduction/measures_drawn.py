"""What jobs measure for the figures."""

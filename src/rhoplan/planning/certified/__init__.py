"""The optimum with no horizon limit, between certified bounds."""

"""Certified bounds for problems with several hidden factors, on a grid of beliefs for each factor."""

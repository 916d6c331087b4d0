"""Certified bounds on the optimal value of a finite POMDP with a price on information."""

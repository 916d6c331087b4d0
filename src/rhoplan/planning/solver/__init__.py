"""Certified bounds on the optimal value of a finite POMDP with a price on information.

This package will replace `planning.certified`, which `rhoplan.solve` uses. So far it holds the search for discounts
below 1, which begins with first bounds of the older package. Policies, checks and problems without a discount follow.
"""

"""Certified bounds for any finite problem, by points and vectors on visible classes."""

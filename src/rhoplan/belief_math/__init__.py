"""Bayes' rule, entropy and information gain, transitions, and sampling, on arrays."""

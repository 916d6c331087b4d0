"""Planners: the merged belief graph, exact look-ahead on it, and the certified optimum."""

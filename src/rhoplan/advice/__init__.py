"""Advice for people: what to do next in a case and why, what is still to come, and the whole pathway."""

"""Planners: each a value that says how to look ahead, in a file of its own; `agents.registry` lists them."""

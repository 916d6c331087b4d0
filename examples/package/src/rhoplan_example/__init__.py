"""A planner and a utility for rhoplan."""

"""Studies: scores of many problems, agents and settings as rows."""

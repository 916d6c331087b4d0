"""Agents as data, and what they do on a graph."""

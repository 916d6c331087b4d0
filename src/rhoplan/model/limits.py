"""Limits of models, in a module that does not import NumPy."""

from __future__ import annotations

LARGEST_REWARD = 1e100
"""Largest absolute reward: its square and sums are finite."""

LARGEST_HORIZON = 10_000

MOST_ACTIONS = 20_000
"""Tests, panels, decisions or actions that a model file may list of each."""

MOST_MENUS = 300
"""Observable states whose menus are visited to determine properties of a problem, in order of distance."""

FEW_STATES = 24
"""States up to which results of repeatable tests are assumed to lead to different beliefs; larger models are mostly
regular."""

UNITS = ("nats", "bits")
"""Units of information."""

"""The largest numbers that the engine computes with; apart, so that nobody waits for NumPy to read them."""

from __future__ import annotations

LARGEST_REWARD = 1e100
"""Size of a reward whose square and sums are still numbers."""

LARGEST_HORIZON = 10_000

MOST_ACTIONS = 20_000
"""Tests, panels, commits or actions that a model file may list of each: a few seconds of every plan."""

MOST_MENUS = 300
"""Menus that are looked at to learn about a problem, the nearest to the start first."""

FEW_STATES = 24
"""States up to which results of tests that can be repeated are taken not to meet in one belief: beyond, models are
mostly regular."""

UNITS = ("nats", "bits")
"""Units of information."""

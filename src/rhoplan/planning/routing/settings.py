"""Settings of routing: limits beyond which it does less, and tolerances."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RoutingSettings:
    """Limits of tours, site graphs and bounds.

    tests: tests that a task may still run when it is rated; beyond 8, one more changes next to nothing. sites: whose
    order is optimised for every belief (2^13 sets, milliseconds); sites_once: if one order serves every belief (a
    second). places: beyond which a problem is not decomposed; compared: observable states that are compared one by one
    to prove that it decomposes. joint_states: joint hidden states over which a bound is averaged one by one.

    known_states: pairs of observable and hidden state of a problem that is solved with full information; sweeps: of
    that value iteration; converged: largest change in its last sweep, relative to the rewards. task_gap: between the
    bounds on the optimum of one task. equal: costs of walks that differ by no more are equal. shorter: by how much a
    changed order must be shorter to replace the one before; longest_shift: sites moved together to another place of it.
    """

    tests: int = 8
    sites: int = 13
    sites_once: int = 17
    places: int = 20_000
    compared: int = 100_000
    joint_states: int = 1 << 16
    known_states: int = 1_000_000
    sweeps: int = 10_000
    converged: float = 1e-12
    task_gap: float = 1e-6
    equal: float = 1e-9
    shorter: float = 1e-9
    longest_shift: int = 3


SETTINGS = RoutingSettings()
"""What is used unless a caller has other settings."""

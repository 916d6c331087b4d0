"""Without a discount, plans that first go to where they can rest for nothing, known or not, are found and valued."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from bridge import _ends, _staying, given, splits
from bridge import solve_bounds as solve
from rhoplan import ProblemError
from test_supports import SEEDS, moved, problem_of

HARD = (34, 99, 174, 323, 353, 354, 358, 619)
"""Problems in which every action, always taken, costs for ever from some state, while some sets are at rest."""


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each action leads from each state, what it costs there, and two states of which one is the start."""
    rng = np.random.default_rng([11, seed])
    states, actions = 3 + seed % 2, 2 + seed // 2 % 2
    leads = rng.integers(states, size=(actions, states))
    paid = -rng.integers(0, 3, size=(actions, states)) * (rng.random((actions, states)) < 0.6) * 1.0
    start = np.zeros(states)
    start[rng.choice(states, 2, replace=False)] = 0.5
    return leads, paid, start


def best(leads: np.ndarray, paid: np.ndarray, start: np.ndarray) -> float:
    """The best value: over all beliefs that one can come to, whoever can go on for nothing does."""
    beliefs, arcs = [tuple(start)], []
    for belief in beliefs:
        arcs.append([])
        for to, pay in zip(leads, paid, strict=True):
            after = tuple(np.bincount(to, belief, len(belief)))
            if after not in beliefs:
                beliefs.append(after)
            arcs[-1].append((float(np.dot(pay, belief)), beliefs.index(after)))
    resting = set(range(len(beliefs)))
    while lost := {one for one in resting if not any(pay == 0 and to in resting for pay, to in arcs[one])}:
        resting -= lost
    value = [0.0 if one in resting else -np.inf for one in range(len(beliefs))]
    for _ in beliefs:
        value = [max(v, max(pay + value[to] for pay, to in ways)) for v, ways in zip(value, arcs, strict=True)]
    return value[0]


@pytest.mark.parametrize("seed", [*HARD, *range(40)])
def test_bounds_meet_at_the_best_way_to_rest(seed: int) -> None:
    leads, paid, start = drawn(seed)
    states = len(start)
    rewards = np.repeat(paid[:, :, None], states, 2)
    problem = rhoplan.from_arrays(
        np.eye(states)[leads], np.ones((len(leads), states, 1)), rewards, start=start, discount=1.0
    )
    truth = best(leads, paid, start)
    try:
        found = solve(problem, gap=1e-6, seconds=20, check=True)
    except ProblemError:
        assert seed not in HARD
        return
    assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
    assert found.converged
    assert found.certificate is not None
    assert found.certificate.holds


def test_a_policy_ends_in_a_class_if_it_does_from_all_that_it_may_come_to() -> None:
    some = every = 0
    for seed in SEEDS[:40]:
        ready = next(given(problem_of(*moved(np.random.default_rng(seed))), weight=0.0, discount=1.0))
        for problem in (ready, *splits(ready)):
            nowhere = np.zeros(problem.slots, dtype=bool)
            nowhere[problem.model.class_state[:-1][problem.ended]] = True
            for policy in np.stack([problem.model.class_pair[:-1], problem.model.class_pair[1:] - 1]):
                policy = np.where(problem.ended, -1, policy)
                ends = _ends(problem, policy, nowhere)
                taken = policy[policy >= 0]
                for pair in taken[ends[~problem.ended]]:
                    first, last = problem.model.pair_branch[pair : pair + 2]
                    assert ends[problem.model.branch_target[first:last]].all()
                some, every = some + ends.any(), every + 1
                still = _staying(problem, policy)
                assert set(np.unique(problem.model.pair_class[still[still >= 0]])) == set(
                    np.flatnonzero(~problem.ended)
                )
    assert 0 < some < every

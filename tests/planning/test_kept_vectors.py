"""A policy keeps what its plans go on with: the lower bound at a belief is at most what its action brings there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import rhoplan
from rhoplan.model.pomdp import Action, Array
from rhoplan.planning.certified.pointbased.records import compile_problem, entry_count, factor_entries
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.solved import SolvedPolicy, policy_of


def searched(seed: int, weight: float) -> tuple[SolvedPolicy, int]:
    """The policy of a search that has forgotten some vectors, and how many it keeps beside those that count."""
    rng = np.random.default_rng(seed)
    transition, likelihood = rng.dirichlet(np.full(5, 0.4), size=(3, 5)), rng.dirichlet(np.full(3, 0.4), size=(3, 5))
    problem = rhoplan.from_arrays(transition, likelihood, rng.normal(size=(3, 5)), discount=0.95)
    compiled = compile_problem(problem, weight=weight)
    search = Search(compiled, weight=weight, discount=0.95, gap=1e-4, seconds=np.inf, memory=1e9)
    search.run(lambda lower, upper, nodes: done(nodes))
    plan = search.solution("gap").plan
    kept = sum(len(vectors) for vectors in plan.vectors_of.values())
    return policy_of(problem, plan), kept - search.vectors


def done(nodes: int) -> None:
    if nodes > 300:
        raise KeyboardInterrupt


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_lower_bound_is_at_most_what_following_it_one_step_brings(weight: float) -> None:
    more = 0
    for seed in range(6):
        policy, others = searched(seed, weight)
        more += others
        home = policy.problem.start_class
        for belief in np.random.default_rng(seed).dirichlet(np.full(5, 0.5), size=60):
            low, pair = policy._best(home, belief)
            assert low <= policy._ahead(pair, belief)[0] + 1e-12
    assert more > 0  # some vectors do not count any more, and are needed


def test_steps_are_counted_with_the_outcomes_that_their_states_can_give() -> None:
    rng = np.random.default_rng(0)
    states, outcomes = 40, 30
    moves = np.where(rng.random((states, states)) < 0.1, rng.random((states, states)), 0.0) + np.eye(states)
    shows: Array = np.zeros((states, outcomes))
    shows[np.arange(states), np.arange(states) % outcomes] = 0.75
    shows[np.arange(states), (np.arange(states) + 7) % outcomes] = 0.25
    moves /= moves.sum(axis=1, keepdims=True)
    names = tuple(f"o{number}" for number in range(outcomes))
    for table in (moves, np.stack([moves] * outcomes)):
        change = csr_array(table.reshape(-1, states))
        action = Action("go", np.zeros(states), shows, names, ("here",) * outcomes, transition=change)
        rows, seen, after, chance = factor_entries(action)
        assert entry_count(action) == len(rows) == 2 * np.count_nonzero(moves)
        found: Array = np.zeros((states, outcomes, states))
        found[rows, seen, after] = chance
        np.testing.assert_allclose(found, shows[:, :, None] * moves[:, None, :], atol=1e-15)

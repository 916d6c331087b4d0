"""What a visible state offers, for whole layers of beliefs: ending actions by factor, and actions that go on.

Kept for present; their rebuild deletes it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rhoplan.model.diagnostic import Test, best_commits
from rhoplan.model.pomdp import POMDP, Action, Array, Ids

MANY_STATES = 256

LARGEST_TABLE = 150_000_000
"""Probabilities that a table of beliefs about more than MANY_STATES states may hold: 1.2 GB, and as much again while it
grows. Below that the limit on nodes is enough."""


class VisibleMenu:
    """The actions of one visible state, split into those that end the episode and those that go on.

    ending_rewards: for each factor that ending actions concern, which of them do, and their rewards (S, E of them).
    right: beside each of these, 1 where one of them is a best one for the state, else 0.
    """

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.ending = tuple(action for action in actions if action.ends_episode)
        self.going = tuple(action for action in actions if not action.ends_episode)

    @cached_property
    def ending_rewards(self) -> list[tuple[int, Ids, Array]]:
        found = []
        for factor in sorted({action.factor for action in self.ending}):
            columns = np.flatnonzero([action.factor == factor for action in self.ending])
            rewards = np.stack([self.ending[column].reward for column in columns], axis=1)
            found.append((factor, columns, rewards))
        return found

    @cached_property
    def right(self) -> list[Array]:
        return [best_commits(rewards.T).T for _, _, rewards in self.ending_rewards]


def most_nodes(problem: POMDP) -> int:
    """How many situations a graph may hold whose beliefs are long; no limit that matters where they are not."""
    states = max(len(factor.states) for factor in problem.factors)
    return sys.maxsize if states <= MANY_STATES else LARGEST_TABLE // states


BYTES_PER_ARC = 16
"""What a graph holds of an outcome of an action: a probability, a number and what is known of it, about."""


def nodes_within(problem: POMDP, size: float) -> int:
    """About how many situations of `problem` a graph holds in so many bytes."""
    actions, outcomes = known_width(problem)
    return max(1000, int(size / (BYTES_PER_ARC * max(actions, 1) * max(outcomes, 1))))


def known_width(problem: POMDP) -> tuple[int, int]:
    """At least as many actions that go on, and outcomes of one, as a menu can have; zeros where nobody knows ahead."""
    if problem.listed is not None:
        tests = problem.listed.tests
        return most_at_once(tests), max([len(test.outcomes) for test in tests], default=0)
    if not problem.observes_then_commits:
        return 0, 0
    menus = [[action for action in actions if not action.ends_episode] for _, actions in problem.menus()]
    return max(map(len, menus)), max([len(action.outcomes) for menu in menus for action in menu], default=0)


def most_at_once(tests: Sequence[Test]) -> int:
    """At least as many as there can ever be of `tests` on one menu.

    A test that may run once is gone by the time one that waits for it is offered: of a chain of such tests one is left.
    """
    once = {test.name for test in tests if not test.repeatable}
    last_of_chains: set[str] = set()
    for test in tests:
        last_of_chains -= {*[name for name in test.after if name in last_of_chains & once][:1]}
        last_of_chains.add(test.name)
    return len(last_of_chains)

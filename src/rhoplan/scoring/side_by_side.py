"""Episodes of a solved policy on the solver's own arrays, many side by side, with little left to chance.

What is drawn is what is seen; the state stays hidden, and what an action pays and tells is counted as the belief
expects it. And what a result brings later is known in the mean before it is drawn: after each step the lower bound that
the results would give on average counts instead of the one that the result drawn gives. The differences are 0 in the
mean whatever that bound says, so the value is estimated without bias; where the bound is near what the plan is worth,
they take nearly all of the chance out of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from rhoplan.belief.information import entropy
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.check import spans
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.solved import SolvedPolicy

COLUMNS = ("reward", "value", "information", "steps", "cut off")
"""What is told of an episode: all that it pays; discounted reward and information, as the bounds count them; discounted
nats (NaN with weight 0: states that pay alike are one state then, whatever tells them apart); actions taken; and
whether it was cut off."""


class Step(NamedTuple):
    """A pair on all its branches at once: P(s', o | s), one branch beside the other; where each of them begins; and
    which of these columns are the same state s' (None where information has no price)."""

    matrix: csr_array
    begins: Ids
    states: csr_array | None


@dataclass
class Following:
    """Episodes of `policy` under way: the class (n,) each is in, what it believes (n, largest class), the pair it takes
    next, and the lower bound there."""

    policy: SolvedPolicy
    home: Ids
    belief: Array
    pair: Ids
    worth: Array
    steps: dict[int, Step] = field(default_factory=dict)

    @classmethod
    def begun(cls, policy: SolvedPolicy, count: int) -> Following:
        problem = policy.problem
        belief = np.zeros((count, int(problem.sizes.max())))
        belief[:, : len(problem.start)] = problem.start
        home = np.full(count, problem.start_class)
        worth, pair = policy.best_of(problem.start_class, problem.start[None, :])
        return cls(policy, home, belief, np.repeat(pair, count), np.repeat(worth, count))

    def step(self, pair: int, members: Ids, rng: Generator) -> tuple[Array, Array, Array]:
        """Let these episodes, which are in one class, take `pair`: what it pays, what it tells in nats (NaN with weight
        0), and the lower bound that its results give on average less that of the result drawn."""
        problem, policy = self.policy.problem, self.policy
        model, size = problem.model, int(problem.sizes[problem.model.pair_class[pair]])
        if pair not in self.steps:
            self.steps[pair] = step_of(problem, pair, informs=policy.settings.weight > 0)
        matrix, begins, states = self.steps[pair]
        before = self.belief[members, :size]
        paid = before @ model.reward[model.pair_reward[pair] : model.pair_reward[pair] + size]
        joint: Array = (matrix.T @ before.T).T
        chance: Array = np.add.reduceat(joint, begins[:-1], axis=1)
        told = np.full(len(members), np.nan)
        if states is not None:
            told = entropy(joint @ states) + entropy(chance) - entropy(joint)
        drawn, mean = drawn_from(chance, rng), np.zeros(len(members))
        self.belief[members] = 0.0
        for branch in range(chance.shape[1]):
            target = int(model.branch_target[model.pair_branch[pair] + branch])
            rows, wide = np.flatnonzero(chance[:, branch]), int(problem.sizes[target])
            if not len(rows):
                continue
            after = joint[rows, begins[branch] : begins[branch + 1]] / chance[rows, branch, None]
            worth, taken = policy.best_of(target, after)
            mean[rows] += chance[rows, branch] * worth
            here = np.flatnonzero(drawn[rows] == branch)
            into = members[rows[here]]
            self.home[into], self.pair[into], self.worth[into] = target, taken[here], worth[here]
            self.belief[into, :wide] = after[here]
        return paid, told, mean - self.worth[members]


def followed(policy: SolvedPolicy, count: int, cap: int, rng: Generator) -> Array:
    """So many episodes (count, 5) of `policy`, of `cap` actions at most: see COLUMNS."""
    ended, weight = policy.problem.ended, policy.settings.weight
    rows, under_way = np.zeros((count, len(COLUMNS))), Following.begun(policy, count)
    for step in range(cap):
        going = ~ended[under_way.home]
        if not going.any():
            break
        fade, later = (policy.settings.discount ** policy.origin.time_taken(step + more) for more in (0, 1))
        pairs = under_way.pair.copy()
        for pair in np.unique(pairs[going]).tolist():
            members = np.flatnonzero(going & (pairs == pair))
            paid, told, chance = under_way.step(pair, members, rng)
            value = fade * (paid + weight * told if weight > 0 else paid) + later * chance
            rows[members, :4] += np.stack([paid, value, fade * told, np.ones(len(members))], axis=1)
    rows[:, 4] = ~ended[under_way.home]
    return rows


def step_of(problem: Compiled, pair: int, *, informs: bool) -> Step:
    """`pair` as a step of many episodes. informs: whether what it tells is asked for."""
    model, size = problem.model, int(problem.sizes[problem.model.pair_class[pair]])
    branches = np.arange(model.pair_branch[pair], model.pair_branch[pair + 1])
    target = model.branch_target[branches]
    begins = np.concatenate([[0], np.cumsum(problem.sizes[target])])
    rows = (model.branch_row[branches][:, None] + np.arange(size)).ravel()
    places, owner = spans(model.row[rows], model.row[rows + 1])
    column = begins[owner // size] + model.column[places]
    matrix = csr_array((model.chance[places], (owner % size, column)), shape=(size, int(begins[-1])))
    if not informs:
        return Step(matrix, begins, None)
    symbols = np.concatenate([model.symbol[model.class_state[one] : model.class_state[one + 1]] for one in target])
    kinds, place = np.unique(symbols, return_inverse=True)
    states = csr_array((np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), len(kinds)))
    return Step(matrix, begins, states)


def drawn_from(chance: Array, rng: Generator) -> Ids:
    """A column (n,) for each row of `chance` (n, columns), as often as it says: never one of no chance, which rounding
    would allow beyond the last."""
    edges = chance.cumsum(axis=1)
    last = chance.shape[1] - 1 - (chance[:, ::-1] > 0).argmax(axis=1)
    result: Ids = np.minimum((rng.random(len(chance))[:, None] * edges[:, -1:] >= edges).sum(axis=1), last)
    return result

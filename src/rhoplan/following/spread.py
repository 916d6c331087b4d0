"""Mean and spread of what cases are paid, exact, while they are followed.

A case's pay so far says something about its hidden state once rewards have depended on it. So beside the mean M of each
place goes, for each hidden factor, how far the mean is from M given the factor's state (`apart`). Given what was seen,
factors are independent, and cases that meet have the same belief; therefore this is all one needs:

    E[pay | place, state of f] = M + apart_f(state)

The variance is kept as one number, the expected variance *within* places. An action with reward r adds its own variance
and twice its covariance with the pay so far; an outcome that tells cases apart takes out what is between them; cases
that meet put it in again. Where an action pays by its outcome and the state after it (`Action.pays`), that is one more
variance, and the outcome tells about it. At the end the variance between the places where cases ended comes on top.
Only differences are squared, so neither a large common part nor a giant reward of no probability costs a digit.

Shapes: n places, m acts, p parts (an act that goes on, and an outcome), F factors, S states (the most any factor has).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rhoplan.following.worlds import Ending, World
from rhoplan.model.pomdp import Array, Ids
from rhoplan.model.transitions import is_by_outcome, moved_each


class Paid:
    """What cases have been paid; `result` once all have ended. The methods are called in this order, step by step."""

    def __init__(self, world: World) -> None:
        self.world = world
        factors = world.problem.factors
        self._shape = len(factors), max(len(factor.states) for factor in factors)
        self._within = 0.0
        self._mean: Array = np.zeros(1)
        self._apart: Array | None = None
        self._ended: list[tuple[Array, Array]] = []

    @property
    def result(self) -> tuple[float, float]:
        """Mean and variance over all cases."""
        mass, mean = (np.concatenate(parts) for parts in zip(*self._ended, strict=True))
        centre = math.fsum(mass * mean)
        return centre, max(self._within + math.fsum(mass * (mean - centre) ** 2), 0.0)

    def cut_off(self, mass: Array) -> None:
        """The cases (n,) that are left end here."""
        self._ended.append((mass, self._mean))

    def commit(self, endings: list[Ending], row: Ids, mass: Array, reward: Array) -> None:
        """Acts (m,) of cases `row` (m,) that end the episode, and what they pay on average (m,)."""
        for one in endings:
            place = one.place
            self._vary(one.belief, row[place], mass[place], one.factor, one.rewards - reward[place][:, None])
        self._ended.append((mass, self._mean[row] + reward))

    def go_on(self, truth: Ids, row: Ids, slot: Ids, mass: Array, reward: Array) -> None:
        """Acts (m,) of cases `row` (m,) that go on, and what they pay on average (m,)."""
        graph, apart = self.world.graph, None if self._apart is None else self._apart[row]
        depends = graph.depends(truth, slot).nonzero()[0]
        for action, factor, found in graph.kernels(truth[depends], slot[depends]) if depends.size else ():
            places = depends[found]
            around = action.reward - reward[places][:, None]
            beliefs, chance = graph.beliefs(truth[places], factor), action.pays_by_chance
            self._vary(beliefs, row[places], mass[places], factor, around)
            if chance is not None:
                self._within += float(mass[places] @ (beliefs @ chance.variance))
            apart = np.zeros((len(row), *self._shape)) if apart is None else apart
            apart[places, factor, : around.shape[1]] += around
        self._mean, self._apart = self._mean[row] + reward, apart

    def tell(self, truth: Ids, slot: Ids, act: Ids, outcome: Ids, mass: Array) -> None:
        """Outcomes (p,) of the acts (p,) that went on are told, each to a share of cases `mass` (p,)."""
        before = self._mean[act]
        self._mean = before
        if self._apart is None:
            return
        self._mean, self._apart = before.copy(), self._apart[act]
        for action, factor, places in self.world.graph.kernels(truth[act], slot[act]):
            states = len(action.reward)
            held = self._apart[places, factor, :states]
            belief = self.world.graph.beliefs(truth[act[places]], factor) * action.likelihood[:, outcome[places]].T
            total = belief.sum(axis=1, keepdims=True)
            belief /= np.where(total > 0, total, 1.0)  # a chance too small for floats is none
            if action.pays is not None and is_by_outcome(action.pays):
                held = held + action.pays[:, outcome[places]].T - action.reward
            told = (belief * held).sum(axis=1)
            if action.transition is not None:
                after = moved_each(belief, action.transition, outcome[places])
                chance = action.pays_by_chance
                if chance is None or chance.by_change is None:
                    shares = moved_each(belief * (held - told[:, None]), action.transition, outcome[places])
                else:  # what the change paid tells about the state after it
                    shares = moved_each(belief * (held - action.reward), action.transition, outcome[places])
                    shares = shares + moved_each(belief, chance.by_change, outcome[places])
                    told = shares.sum(axis=1)
                    shares = shares - after * told[:, None]
                held = shares / np.where(after > 0, after, 1.0)
            else:
                held = held - told[:, None]
            self._mean[places] += told
            self._apart[places, factor, :states] = held
        self._within -= float(mass @ (self._mean - before) ** 2)

    def end(self, mass: Array, ends: NDArray[np.bool_]) -> None:
        """The parts (p,) that are marked end with their outcome; the others stay."""
        self._ended.append((mass[ends], self._mean[ends]))
        self._mean = self._mean[~ends]
        self._apart = None if self._apart is None else self._apart[~ends]

    def meet(self, place: Ids, mass: Array, total: Array, kept: NDArray[np.bool_]) -> None:
        """Parts (p,) of `mass` (p,) meet at places (p,) with mass `total` (n,); those that are kept (n,) go on."""
        if not total.size:
            self._mean, self._apart = total, None
            return
        total = np.where(total > 0, total, 1.0)  # a share of cases may be too small for a float
        mean = np.bincount(place, weights=mass * self._mean, minlength=len(total)) / total
        shift = self._mean - mean[place]
        self._within += float(mass @ shift**2)
        if self._apart is not None:
            moved = ((self._apart + shift[:, None, None]) * mass[:, None, None]).reshape(len(place), -1)
            columns = [np.bincount(place, weights=column, minlength=len(total)) / total for column in moved.T]
            self._apart = np.stack(columns, axis=1).reshape(len(total), *self._shape)[kept]
        self._mean = mean[kept]

    def _vary(self, beliefs: Array, row: Ids, mass: Array, factor: int, around: Array) -> None:
        """Count the variance of a reward, and its covariance with the pay so far; around (k, S): by state, from its
        mean."""
        weights = around**2
        if self._apart is not None:
            weights += 2 * around * self._apart[row, factor, : around.shape[1]]
        self._within += float(mass @ (beliefs * weights).sum(axis=1))

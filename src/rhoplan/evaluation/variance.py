"""Mean and variance of the return, exact, along an occupancy propagation.

A case's return so far says something about its hidden state once rewards have depended on the state. So beside the mean
M at each place we keep, for each hidden factor, how far the mean given the factor's state is from M (the offset):

    E[return | place, state of f] = M + offset_f(state)

Given the observations, factors are independent, and cases that meet have the same belief; so this is sufficient. The
variance within places is one number, updated by the law of total variance: an action adds the variance of its reward
and twice its covariance with the return so far; an observation removes the variance between its outcomes; cases that
meet restore it. The variance between the places where cases end is added at the end. Only differences are squared, so
large common parts and giant rewards of tiny probability cost no digits.

Shapes: n cases of a layer, m acts, p parts, F factors, S states (the most any factor has).
"""

from __future__ import annotations

import math

import numpy as np

from rhoplan.belief_math.transitions import is_by_outcome, moved_each
from rhoplan.evaluation.occupancy import Layer
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import Action, Array, Ids


class ReturnMoments:
    """Mean and variance of the return in `world`; `observe` gets the layers in order."""

    def __init__(self, world: BeliefGraph) -> None:
        self._world = world
        factors = world.problem.factors
        self._shape = len(factors), max(len(factor.states) for factor in factors)
        self._within = 0.0
        self._mean: Array = np.zeros(1)
        self._offset: Array | None = None
        self._ended: list[tuple[Array, Array]] = []

    @property
    def result(self) -> tuple[float, float]:
        """Mean and variance over all cases."""
        mass, mean = (np.concatenate(parts) for parts in zip(*self._ended, strict=True))
        centre = math.fsum(mass * mean)
        return centre, max(self._within + math.fsum(mass * (mean - centre) ** 2), 0.0)

    def observe(self, layer: Layer) -> None:
        """Take the acts of a layer, their outcomes and where these lead into account."""
        if layer.is_cut:
            self._ended.append((layer.mass, self._mean))
            return
        mean, offset = self._reward(layer)
        stops = layer.stops
        self._ended.append((layer.act_mass[stops], mean[stops]))
        mean, offset = self._condition(layer, mean, offset)
        self._ended.append((layer.part_mass[layer.ends], mean[layer.ends]))
        on = np.flatnonzero(~layer.ends)
        self._meet(layer, mean[on], None if offset is None else offset[on], layer.part_mass[on])

    def _reward(self, layer: Layer) -> tuple[Array, Array | None]:
        """Means (m,) and offsets (m, F, S) after the rewards of acts; their variance is added."""
        world, arcs, case = self._world, layer.world_arcs, layer.case
        mean, offset = self._mean[case] + arcs.reward, None if self._offset is None else self._offset[case]
        before = offset
        for action, factor, mine in world.kernels(arcs.action):
            if action.same_reward is not None and action.pays is None:
                continue
            around = action.reward - arcs.reward[mine][:, None]
            beliefs, mass = world.beliefs(arcs.node[mine], factor), layer.act_mass[mine]
            weights = around**2
            if before is not None:
                weights += 2 * around * before[mine, factor, : around.shape[1]]
            if action.pays_by_chance is not None:
                weights += action.pays_by_chance.variance
            self._within += float(mass @ (beliefs * weights).sum(axis=1))
            if arcs.width[mine].any():  # otherwise all of them end the episode
                offset = np.zeros((len(case), *self._shape)) if offset is None else offset
                offset[mine, factor, : around.shape[1]] += around
        return mean, offset

    def _condition(self, layer: Layer, mean: Array, offset: Array | None) -> tuple[Array, Array | None]:
        """Means (p,) and offsets (p, F, S) given the outcomes; the variance between outcomes is removed."""
        before = mean[layer.act]
        if offset is None:
            return before, None
        mean, offset = before.copy(), offset[layer.act]
        for action, factor, mine in self._world.kernels(layer.world_arcs.action[layer.act]):
            beliefs = self._world.beliefs(layer.world_arcs.node[layer.act[mine]], factor)
            states = len(action.reward)
            shift, offset[mine, factor, :states] = conditioned(
                action, beliefs, layer.outcome[mine], offset[mine, factor, :states]
            )
            mean[mine] += shift
        self._within -= float(layer.part_mass @ (mean - before) ** 2)
        return mean, offset

    def _meet(self, layer: Layer, mean: Array, offset: Array | None, mass: Array) -> None:
        """Parts (q,) that arrive at one place share a mean and offset; the variance between them is added."""
        place, kept = layer.place, layer.kept
        total = np.where(layer.total > 0, layer.total, 1.0)  # a mass may be too small for a float
        together = np.bincount(place, weights=mass * mean, minlength=len(total)) / total
        shift = mean - together[place]
        self._within += float(mass @ shift**2)
        if offset is not None:
            moved = ((offset + shift[:, None, None]) * mass[:, None, None]).reshape(len(place), math.prod(self._shape))
            columns = [np.bincount(place, weights=column, minlength=len(total)) / total for column in moved.T]
            offset = np.stack(columns, axis=1).reshape(len(total), *self._shape)[kept]
        self._mean, self._offset = together[kept], offset


def conditioned(action: Action, beliefs: Array, outcome: Ids, offset: Array) -> tuple[Array, Array]:
    """Shift of the mean (p,) and the offset (p, S) by the state after `action`, given its outcome (p,).

    beliefs, offset (p, S): before the action.
    """
    belief = beliefs * action.likelihood[:, outcome].T
    total = belief.sum(axis=1, keepdims=True)
    belief /= np.where(total > 0, total, 1.0)  # a probability may be too small for a float
    if action.pays is not None and is_by_outcome(action.pays):
        offset = offset + action.pays[:, outcome].T - action.reward
    shift: Array = (belief * offset).sum(axis=1)
    if action.transition is None:
        return shift, offset - shift[:, None]
    after = moved_each(belief, action.transition, outcome)
    chance = action.pays_by_chance
    if chance is None or chance.by_change is None:
        shares = moved_each(belief * (offset - shift[:, None]), action.transition, outcome)
    else:  # a reward for a change of state is information about the state after it
        shares = moved_each(belief * (offset - action.reward), action.transition, outcome)
        shares = shares + moved_each(belief, chance.by_change, outcome)
        shift = shares.sum(axis=1)
        shares = shares - after * shift[:, None]
    return shift, shares / np.where(after > 0, after, 1.0)

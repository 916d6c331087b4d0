"""Belief-dependent utilities rho(b, a), evaluated for batches of arcs.

A rate adds its value to the expected reward of an action (Equation 1 of the paper). `rate_of` makes one of the utility
records of `planning.utility`; its weight is in reward units per nat.

Shapes: m arcs of a batch, n nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.model.pomdp import Action, Array, Ids
from rhoplan.planning.utility import FunctionUtility, Information, NegativeEntropy, Utility, checked_utility


class Rate(Protocol):
    """A utility of belief and action at its weight. rates_terminal: whether terminal actions have one."""

    @property
    def rates_terminal(self) -> bool: ...

    def __call__(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        """The utility (m,) of each arc."""

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        """Size (n,) of the terms whose difference the utility is at `nodes`, for the tie rule."""


@dataclass(frozen=True)
class InformationRate:
    """weight * expected information for non-terminal actions: the epistemic part of EFE if the weight is 1."""

    weight: float
    rates_terminal = False

    def __call__(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        return np.where(arcs.is_terminal, 0.0, self.weight * arcs.information)

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        return abs(self.weight) * _most_information(graph, nodes)


@dataclass(frozen=True)
class EntropyRate:
    """-weight * H(b) for every action."""

    weight: float
    rates_terminal = True

    def __call__(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        return -self.weight * graph.entropy(arcs.node)

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        return abs(self.weight) * _most_information(graph, nodes)


@dataclass(frozen=True, eq=False)
class FunctionRate:
    """weight * function(beliefs (n, S) about the action's factor, action) for every action. size: its largest value."""

    weight: float
    function: Callable[[Array, Action], Array]
    size: float
    rates_terminal = True

    def __call__(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        result = np.empty(len(arcs.node))
        for number in np.unique(arcs.action).tolist():
            action, mine = graph.table.actions[number], np.flatnonzero(arcs.action == number)
            beliefs = graph.beliefs(arcs.node[mine], action.factor)
            result[mine] = self.weight * checked_utility(self.function, beliefs, action)
        return result

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        return np.full(len(nodes), abs(self.weight) * self.size)


def _most_information(graph: BeliefGraph, nodes: Ids) -> Array:
    """The most information (n,), in nats, that actions can still yield at `nodes`."""
    if graph.problem.observes_then_commits:
        return graph.entropy(nodes)
    # Where the hidden state can change, the entropy before an observation may exceed that of the belief.
    return np.full(len(nodes), sum(math.log(len(factor.states)) for factor in graph.problem.factors))


def rate_of(utility: Utility) -> Rate:
    """The rate of a utility record at its weight."""
    if isinstance(utility, Information):
        return InformationRate(utility.weight)
    if isinstance(utility, NegativeEntropy):
        return EntropyRate(utility.weight)
    if isinstance(utility, FunctionUtility):
        return FunctionRate(utility.weight, utility.function, utility.size)
    raise AgentError(
        f"utility {utility.name} must be information, negative-entropy, target-belief or a function of beliefs and "
        "action: pass one of these",
        field=("utility",),
    )

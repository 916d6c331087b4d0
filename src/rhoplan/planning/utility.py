"""Belief-dependent utilities rho(b, a): what an agent values besides reward.

The planner adds the utility of taking action a under belief b to the reward of a (Equation 1 of the paper, with the
action-dependent rho of Proposition 1). A utility answers for a batch of graph nodes: once for the actions that go on,
and, where it has something to say about them, for the actions that end the episode.

Every utility is a weight times something per nat, and says what it is called.

A utility of your own is a function of beliefs and action, for `Objective(utility=...)`:

    def surprise(beliefs, action):          # beliefs (n, S) -> (n,)
        return -np.log(beliefs.max(axis=1))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan.errors import AgentError
from rhoplan.model.pomdp import Action, Array, Ids, Problem


class Utility(Protocol):
    """What every utility offers. Weights are in reward units per nat."""

    @property
    def name(self) -> str:
        """What records and logs call it."""

    @property
    def weight(self) -> float:
        """How much it counts."""

    def at(self, weight: float) -> Utility:
        """The same utility at another weight."""

    @property
    def rates_endings(self) -> bool:
        """Whether the utility has something to say about ending actions."""

    def going(self, graph: Graph, nodes: Ids) -> Array:
        """Utility (n, M) of each action that goes on, at `nodes`."""

    def ending(self, graph: Graph, nodes: Ids, visible: int) -> Array:
        """Utility (n, E) of each ending action at `nodes`, which share a visible state."""

    def scale(self, graph: Graph, nodes: Ids) -> Array:
        """Largest size (n,) that the utility can reach in all from `nodes` on, for the tie rule."""


@dataclass(frozen=True)
class Information:
    """weight * expected information for actions that go on, nothing for commits: rho_EFE when the weight is 1."""

    weight: float = 0.0
    name: ClassVar[str] = "information"
    rates_endings: ClassVar[bool] = False

    def at(self, weight: float) -> Information:
        return Information(weight)

    def going(self, graph: Graph, nodes: Ids) -> Array:
        return self.weight * graph.information[nodes]

    def ending(self, graph: Graph, nodes: Ids, visible: int) -> Array:
        return np.zeros((len(nodes), len(graph.menus[visible].ending)))

    def scale(self, graph: Graph, nodes: Ids) -> Array:
        return abs(self.weight) * most_information(graph, nodes)


@dataclass(frozen=True)
class NegativeEntropy:
    """-weight * H(b) at every action, commits included: being unsure costs, and so does deciding while unsure."""

    weight: float = 1.0
    name: ClassVar[str] = "negative-entropy"
    rates_endings: ClassVar[bool] = True

    def at(self, weight: float) -> NegativeEntropy:
        return NegativeEntropy(weight)

    def going(self, graph: Graph, nodes: Ids) -> Array:
        return np.repeat(self._value(graph, nodes)[:, None], graph.known.shape[1], axis=1)

    def ending(self, graph: Graph, nodes: Ids, visible: int) -> Array:
        return np.repeat(self._value(graph, nodes)[:, None], len(graph.menus[visible].ending), axis=1)

    def scale(self, graph: Graph, nodes: Ids) -> Array:
        return abs(self.weight) * most_information(graph, nodes)

    def _value(self, graph: Graph, nodes: Ids) -> Array:
        total: Array = sum(table.entropy[graph.belief[nodes, factor]] for factor, table in enumerate(graph.tables))
        return -self.weight * total


class FunctionUtility:
    """A function of beliefs (n, S) about the action's factor and the action, for every action, commits included.

    scale: the largest size that it reaches in all, at weight 1, for the tie rule. To replay a log with it, register it
    by name (`rhoplan.register`).
    """

    rates_endings = True

    def __init__(
        self,
        function: Callable[[Array, Action], Array],
        *,
        scale: float = 1.0,
        name: str = "own",
        weight: float = 1.0,
    ) -> None:
        self.function, self.name, self.weight = function, name, weight
        self.size = scale

    def at(self, weight: float) -> FunctionUtility:
        if weight == self.weight:
            return self
        return FunctionUtility(self.function, scale=self.size, name=self.name, weight=weight)

    def going(self, graph: Graph, nodes: Ids) -> Array:
        values = np.zeros((len(nodes), graph.known.shape[1]))
        for visible, positions in graph.by_visible(nodes):
            menu = graph.menus[visible].going
            values[positions, : len(menu)] = self._columns(graph, nodes[positions], menu)
        return values

    def ending(self, graph: Graph, nodes: Ids, visible: int) -> Array:
        return self._columns(graph, nodes, graph.menus[visible].ending)

    def scale(self, graph: Graph, nodes: Ids) -> Array:
        return np.full(len(nodes), abs(self.weight) * self.size)

    def _columns(self, graph: Graph, nodes: Ids, actions: tuple[Action, ...]) -> Array:
        values = np.empty((len(nodes), len(actions)))
        for column, action in enumerate(actions):
            beliefs = graph.beliefs(nodes, action.factor)
            values[:, column] = self.weight * checked_utility(self.function, beliefs, action)
        return values


def checked_utility(function: Callable[[Array, Action], Array], beliefs: Array, action: Action) -> Array:
    """The values (n,) of a utility at beliefs (n, S), if they are finite numbers."""
    try:
        values = np.asarray(function(beliefs, action), dtype=float)
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"a utility must return one number for each belief; for action '{action.name}': {error}", field=("utility",)
        ) from None
    if values.shape != (len(beliefs),):
        raise AgentError(
            f"a utility must return an array of shape ({len(beliefs)},), a number for each row of beliefs; for action "
            f"'{action.name}' its shape is {values.shape}",
            field=("utility",),
        )
    if not np.isfinite(values).all():
        raise AgentError(
            f"a utility must be finite; it is not for action '{action.name}': change the function", field=("utility",)
        )
    return values


class TargetBelief(FunctionUtility):
    """-weight * KL(b || target) at every action: the agent wants to end up believing `target`, all positive.

    target: probabilities (S,) in the order of the states, or a mapping from each state to its probability.
    """

    def __init__(self, target: Mapping[str, float] | Sequence[float] | Array, *, weight: float = 1.0) -> None:
        self.names = tuple(target) if isinstance(target, Mapping) else None
        goal: Array = np.asarray(list(target.values()) if isinstance(target, Mapping) else target, dtype=float)
        if goal.ndim != 1 or not goal.size or not np.all(goal > 0) or abs(float(goal.sum()) - 1) > 1e-9:
            raise AgentError("a target belief must be positive in every state and sum to 1", field=("target",))
        self.target = goal
        super().__init__(self._divergence, scale=float(-np.log(goal.min())), name="target-belief", weight=weight)

    def at(self, weight: float) -> TargetBelief:
        return self if weight == self.weight else TargetBelief(self._given, weight=weight)

    def for_problem(self, problem: Problem) -> TargetBelief:
        """The same with the probabilities in the order of the states of `problem`, where it names them."""
        if self.names is None:
            return self
        for factor in problem.factors:
            if sorted(factor.states) != sorted(self.names):
                raise AgentError(
                    f"target must give a probability to each state of '{problem.name}', {', '.join(factor.states)}; "
                    f"it names {', '.join(self.names)}",
                    field=("target",),
                )
        if len({factor.states for factor in problem.factors}) > 1:
            raise AgentError(
                f"target must be in the order of the states: the factors of '{problem.name}' list theirs differently",
                field=("target",),
            )
        given = dict(zip(self.names, self.target.tolist(), strict=True))
        return TargetBelief([given[state] for state in problem.factors[0].states], weight=self.weight)

    @property
    def _given(self) -> Mapping[str, float] | Array:
        if self.names is None:
            return self.target
        return dict(zip(self.names, self.target.tolist(), strict=True))

    def _divergence(self, beliefs: Array, action: Action) -> Array:
        if beliefs.shape[1] != len(self.target):
            raise AgentError(
                f"target must have a probability for each of the {beliefs.shape[1]} states; it has {len(self.target)}",
                field=("target",),
            )
        ratio = np.log(beliefs / self.target, out=np.zeros_like(beliefs), where=beliefs > 0)
        result: Array = -(beliefs * ratio).sum(axis=1)
        return result


def most_information(graph: Graph, nodes: Ids) -> Array:
    """The most (n,), in nats, that can still be learned at `nodes`: the entropy, unless the hidden state may change."""
    if graph.problem.gains is not None:
        held: Array = graph.tables[0].entropy[graph.belief[nodes, 0]]
        return held
    return np.full(len(nodes), sum(math.log(len(factor.states)) for factor in graph.problem.factors))

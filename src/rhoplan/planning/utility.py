"""Belief-dependent utilities rho(b, a): what an agent values besides reward.

The planner adds the utility of taking action a under belief b to the reward of a (Equation 1 of the paper, with the
action-dependent rho of Proposition 1). A utility of your own is a function of beliefs and action, for
`Objective(utility=...)`:

    def surprise(beliefs, action):          # beliefs (n, S) -> (n,)
        return -np.log(beliefs.max(axis=1))

Shapes: n nodes, m arcs of a batch, S hidden states.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.model.pomdp import POMDP, Action, Array, Ids


class Utility(ABC):
    """A weight in reward units per nat, times a function of beliefs and actions.

    name: in records and logs. rates_terminal: whether terminal actions have a utility.
    """

    name: str
    weight: float
    rates_terminal: ClassVar[bool] = True

    def at(self, weight: float) -> Self:
        """The same utility at another weight."""
        if weight == self.weight:
            return self
        found = copy(self)
        object.__setattr__(found, "weight", weight)
        return found

    @abstractmethod
    def values(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        """The utility (m,) of each arc."""

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        """Size (n,) of the terms whose difference the utility is at `nodes`, for the tie rule: by default the most
        information, in nats, that actions can still yield."""
        if graph.problem.observes_then_commits:
            return abs(self.weight) * graph.entropy(nodes)
        # Where the hidden state can change, the entropy before an observation may exceed that of the belief.
        most = sum(math.log(len(factor.states)) for factor in graph.problem.factors)
        return np.full(len(nodes), abs(self.weight) * most)


@dataclass(frozen=True)
class Information(Utility):
    """weight * expected information for non-terminal actions, nothing for commits: rho_EFE when the weight is 1."""

    weight: float = 0.0
    name: str = field(default="information", init=False, repr=False)
    rates_terminal: ClassVar[bool] = False

    def values(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        return np.where(arcs.is_terminal, 0.0, self.weight * arcs.information)


@dataclass(frozen=True)
class NegativeEntropy(Utility):
    """-weight * H(b) at every action, commits included: being unsure costs, and so does deciding while unsure."""

    weight: float = 1.0
    name: str = field(default="negative-entropy", init=False, repr=False)

    def values(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        return -self.weight * graph.entropy(arcs.node)


class FunctionUtility(Utility):
    """A function of beliefs (n, S) about the action's factor and the action, for every action, commits included.

    scale: the largest size that it reaches in all, at weight 1, for the tie rule. To replay a log with it, register it
    by name (`rhoplan.register`).
    """

    def __init__(
        self,
        function: Callable[[Array, Action], Array],
        *,
        scale: float = 1.0,
        name: str = "own",
        weight: float = 1.0,
    ) -> None:
        self.function, self.scale, self.name, self.weight = function, scale, name, weight

    def values(self, graph: BeliefGraph, arcs: Arcs) -> Array:
        result = np.empty(len(arcs.node))
        for number in np.unique(arcs.action).tolist():
            action, mine = graph.table.actions[number], np.flatnonzero(arcs.action == number)
            result[mine] = self.weight * self.checked(graph.beliefs(arcs.node[mine], action.factor), action)
        return result

    def rounding(self, graph: BeliefGraph, nodes: Ids) -> Array:
        return np.full(len(nodes), abs(self.weight) * self.scale)

    def checked(self, beliefs: Array, action: Action) -> Array:
        """The values (n,) of the function at beliefs (n, S), if they are finite numbers."""
        try:
            values = np.asarray(self.function(beliefs, action), dtype=float)
        except (TypeError, ValueError) as error:
            raise _error(
                f"a utility must return one number for each belief; for action '{action.name}': {error}"
            ) from None
        if values.shape != (len(beliefs),):
            raise _error(
                f"a utility must return an array of shape ({len(beliefs)},), a number for each row of beliefs; for "
                f"action '{action.name}' its shape is {values.shape}"
            )
        if not np.isfinite(values).all():
            raise _error(f"a utility must be finite; it is not for action '{action.name}': change the function")
        return values


class TargetBelief(FunctionUtility):
    """-weight * KL(b || target) at every action: the agent wants to end up believing `target`, all positive.

    target: probabilities (S,) in the order of the states, or a mapping from each state to its probability.
    """

    def __init__(self, target: Mapping[str, float] | Sequence[float] | Array, *, weight: float = 1.0) -> None:
        self.names = tuple(target) if isinstance(target, Mapping) else None
        goal: Array = np.asarray(list(target.values()) if isinstance(target, Mapping) else target, dtype=float)
        if goal.ndim != 1 or not goal.size or not np.all(goal > 0) or abs(float(goal.sum()) - 1) > 1e-9:
            raise _error("a target belief must be positive in every state and sum to 1", "target")
        self.target = goal
        super().__init__(self._divergence, scale=float(-np.log(goal.min())), name="target-belief", weight=weight)

    def for_problem(self, problem: POMDP) -> TargetBelief:
        """The same with the probabilities in the order of the states of `problem`, where it names them."""
        if self.names is None:
            return self
        states = problem.factors[0].states
        for factor in problem.factors:
            if sorted(factor.states) != sorted(self.names):
                raise _error(
                    f"target must give a probability to each state of '{problem.name}', {', '.join(factor.states)}; "
                    f"it names {', '.join(self.names)}",
                    "target",
                )
            if factor.states != states:
                raise _error(
                    f"target must be in the order of the states: the factors of '{problem.name}' list theirs "
                    "differently",
                    "target",
                )
        return TargetBelief(self.target[[self.names.index(state) for state in states]], weight=self.weight)

    def _divergence(self, beliefs: Array, action: Action) -> Array:
        if beliefs.shape[1] != len(self.target):
            raise _error(
                f"target must have a probability for each of the {beliefs.shape[1]} states; it has {len(self.target)}",
                "target",
            )
        ratio = np.log(beliefs / self.target, out=np.zeros_like(beliefs), where=beliefs > 0)
        result: Array = -(beliefs * ratio).sum(axis=1)
        return result


def _error(message: str, field: str = "utility") -> AgentError:
    return AgentError(message, field=(field,))

"""Belief-dependent utilities rho(b, a): what an agent values besides reward.

The planner adds the utility of taking action a under belief b to the reward of a (Equation 1 of the paper, with the
action-dependent rho of Proposition 1). A utility is a record: a name, and a weight times something per nat. `rates`
evaluates it on a belief graph.

A utility of your own is a function of beliefs and action, for `Objective(utility=...)`:

    def surprise(beliefs, action):          # beliefs (n, S) -> (n,)
        return -np.log(beliefs.max(axis=1))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.model.pomdp import POMDP, Action, Array


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


def is_utility(thing: object) -> bool:
    """Whether `thing` is a utility record, not a bare function."""
    return isinstance(thing, Information | NegativeEntropy | FunctionUtility)


@dataclass(frozen=True)
class Information:
    """weight * expected information for actions that go on, nothing for commits: rho_EFE when the weight is 1."""

    weight: float = 0.0
    name: ClassVar[str] = "information"

    def at(self, weight: float) -> Information:
        return Information(weight)


@dataclass(frozen=True)
class NegativeEntropy:
    """-weight * H(b) at every action, commits included: being unsure costs, and so does deciding while unsure."""

    weight: float = 1.0
    name: ClassVar[str] = "negative-entropy"

    def at(self, weight: float) -> NegativeEntropy:
        return NegativeEntropy(weight)


class FunctionUtility:
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
        self.function, self.name, self.weight = function, name, weight
        self.size = scale

    def at(self, weight: float) -> FunctionUtility:
        if weight == self.weight:
            return self
        return FunctionUtility(self.function, scale=self.size, name=self.name, weight=weight)


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

    def for_problem(self, problem: POMDP) -> TargetBelief:
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

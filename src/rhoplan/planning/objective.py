"""The objective of planning: expected discounted reward plus a weighted utility of beliefs (a rho-POMDP).

    rho(b, a) = sum_s b(s) R(s, a) + weight * utility(b, a)

The utility is expected information gain unless another one is given (Araya-Lopez et al. 2010 for rho-POMDPs).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from reprlib import repr as shortened
from typing import TypeAlias, cast

from rhoplan.belief_math.information import per_nat
from rhoplan.errors import AgentError, WrongKind, expect
from rhoplan.model.limits import LARGEST_REWARD, UNITS
from rhoplan.model.pomdp import POMDP, Action, Array
from rhoplan.planning.utility import FunctionUtility, Information, TargetBelief, Utility

BeliefUtility: TypeAlias = "Utility | Callable[[Array, Action], Array]"
"""A utility of this library, or a function of beliefs (n, S) and an action that returns values (n,)."""


@dataclass(frozen=True)
class Objective:
    """What a planner maximises: expected discounted reward + information_weight * utility of beliefs.

    Parameters
    ----------
    information_weight
        Reward units per unit of information; 0 leaves information out. It is the weight of `utility` where one is
        given; there 0 stands for the utility's own weight.
    information_unit
        "nats" or "bits".
    utility
        `NegativeEntropy()`, `TargetBelief({state: probability})` or a function `(beliefs, action) -> array`. None is
        expected information gain.
    discount
        None is the problem's own.
    inverse_temperature
        Softmax over action values: P(action) is proportional to exp(inverse_temperature * value). Infinity selects the
        best action.
    terminal_rewards
        Whether rewards of terminal actions count.
    """

    information_weight: float = 0.0
    _: KW_ONLY
    information_unit: str = "nats"
    utility: BeliefUtility | None = None
    discount: float | None = None
    inverse_temperature: float = math.inf
    terminal_rewards: bool = True

    def __post_init__(self) -> None:
        weight, unit, discount = self.information_weight, self.information_unit, self.discount
        most = f"a number of at most {LARGEST_REWARD:g}"
        _require(abs(weight) <= LARGEST_REWARD, f"information_weight must be {most}; it is {weight:g}", "weight")
        if unit not in UNITS:
            message = f"information_unit must be {' or '.join(UNITS)}, not '{unit}'"
            raise AgentError(message, field=("unit",), code="unknown-unit")
        if discount is not None:
            _require(0 < discount <= 1, f"discount must be above 0 and at most 1; it is {discount:g}", "discount")
        precision = self.inverse_temperature
        _require(precision > 0, f"inverse_temperature must be above 0; it is {precision:g}", "precision")
        utility = _utility(self.utility)
        object.__setattr__(self, "utility", utility)
        if self.information_weight == 0 and not isinstance(utility, Information):
            object.__setattr__(self, "information_weight", utility.weight / per_nat(1.0, self.information_unit))

    def weighted(self, weight: float) -> Objective:
        """This objective with another weight, which may be 0 for any utility."""
        utility = self.belief_utility
        if not isinstance(utility, Information):
            utility = utility.at(per_nat(weight, self.information_unit))
        return replace(self, information_weight=weight, utility=utility)

    def for_problem(self, problem: POMDP) -> Objective:
        """This objective with the problem's discount where it has none, and its target in the order of the states."""
        utility = self.belief_utility
        if isinstance(utility, TargetBelief):
            utility = utility.for_problem(problem)
        discount = problem.discount if self.discount is None else self.discount
        return replace(self, discount=discount, utility=utility)

    @property
    def belief_utility(self) -> Utility:
        """The utility, never a bare function."""
        return cast(Utility, self.utility)

    @property
    def discount_factor(self) -> float:
        """The discount as a number: 1 where neither the objective nor a problem has set one."""
        return 1.0 if self.discount is None else self.discount

    @cached_property
    def rho(self) -> Utility:
        """The utility at its weight per nat."""
        return self.belief_utility.at(per_nat(self.information_weight, self.information_unit))

    @property
    def is_information(self) -> bool:
        """Whether the utility is expected information gain: what the paper's propositions and most bounds are about."""
        return isinstance(self.utility, Information)

    @property
    def weight_per_nat(self) -> float:
        """The reward for a nat of information: 0 where the utility is another."""
        return per_nat(self.information_weight, self.information_unit) if self.is_information else 0.0

    @property
    def is_plain(self) -> bool:
        """Whether it is reward and weighted information, and the best action is taken."""
        return self.is_information and self.terminal_rewards and math.isinf(self.inverse_temperature)

    @property
    def target(self) -> tuple[float, ...] | None:
        """The belief that the utility aims at, if it does."""
        return tuple(self.utility.target.tolist()) if isinstance(self.utility, TargetBelief) else None


def objective_for(problem: POMDP, objective: Objective | None) -> Objective:
    """`objective`, by default reward alone, with the discount of `problem` where it has none."""
    expect(problem, POMDP, "make")
    if objective is not None and not isinstance(objective, Objective):
        raise WrongKind(
            f"objective must be an Objective; it is {shortened(objective)}: the objective of an agent is used by "
            'rhoplan.agent("efe").solve(problem)',
            field=("objective",),
        )
    return (objective or Objective()).for_problem(problem)


def _utility(given: BeliefUtility | None) -> Utility:
    """What is given as a utility; a function becomes one."""
    if given is None:
        return Information()
    if isinstance(given, Utility):
        return given
    if not callable(given):
        raise AgentError(
            "utility must be NegativeEntropy(), TargetBelief({...}) or a function (beliefs, action) -> array; "
            f"it is {given!r}",
            field=("utility",),
        )
    return FunctionUtility(given, name=getattr(given, "__name__", "own"))


def _require(holds: bool, message: str, setting: str) -> None:
    if not holds:
        raise AgentError(message, field=(setting,), code="setting-range")

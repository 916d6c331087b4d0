"""Actions as people write them: parts about hidden factors, and joint priors; `blocks` compiles them.

Shapes: S states of a factor, or combinations of those of several, the last varying fastest; O outcomes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from rhoplan.errors import Field, ProblemError
from rhoplan.model.problem import END, ROW_SUM_TOLERANCE, Array, Factor, Visible
from rhoplan.model.transitions import Transition, canonical, has_observation_axis, numbers, row_sums, shapes

DONE = "done"
"""The outcome of an action that shows nothing."""


@dataclass(frozen=True, eq=False)
class Part:
    """What an action does with the hidden `factors` (names), together.

    reward: what it pays by state (S,), by state and outcome (S, O), or by outcome, state and state after it (O, S, S).
    likelihood: (S, O) probability of each of `outcomes` given the state before; None where it shows nothing.
    change: (S, S), or (O, S, S) where it depends on the outcome; None where the state stays as it is.
    """

    factors: tuple[str, ...]
    reward: Transition | None = None
    outcomes: tuple[str, ...] = ()
    likelihood: Array | None = None
    change: Transition | None = None

    def __post_init__(self) -> None:
        for name in ("reward", "change"):
            if (table := getattr(self, name)) is not None:
                object.__setattr__(self, name, canonical(table))

    @property
    def reward_axes(self) -> int:
        """On how many of state, outcome and next state the reward depends; 0 without a reward."""
        if self.reward is None:
            return 0
        return self.reward.ndim if isinstance(self.reward, np.ndarray) else 3


@dataclass(frozen=True, eq=False)
class PartedAction:
    """An action with parts. reward: what it pays whatever is hidden (a cost is negative).

    leads_to: one visible state, or one for each of `outcomes`; END stops the episode.
    """

    name: str
    leads_to: tuple[Visible, ...]
    parts: tuple[Part, ...] = ()
    reward: float = 0.0

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of its parts, combined: `fine, loud`; the last part's vary fastest."""
        shown = [part.outcomes for part in self.parts if part.outcomes]
        return tuple(", ".join(names) for names in product(*shown)) if shown else (DONE,)

    @property
    def ends_episode(self) -> bool:
        return all(visible is END for visible in self.leads_to)


@dataclass(frozen=True, eq=False)
class JointPrior:
    """The probability (S,) of every combination of states of some factors; it stands for the priors of their own."""

    factors: tuple[str, ...]
    table: Array


def combined(states: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The names of all combinations of states: `good, worn`."""
    return tuple(", ".join(names) for names in product(*states))


def check_parts(
    factors: Sequence[Factor],
    joint: Sequence[JointPrior],
    passive: Sequence[Part],
    actions: Iterable[PartedAction],
) -> None:
    """Raise ProblemError unless every name is a factor's, every table has its shape, and nothing is said twice."""
    sizes = {factor.name: len(factor.states) for factor in factors}
    if len(sizes) < len(factors) or not sizes:
        raise ProblemError(
            "a problem must have hidden factors, all with different names", field=("factors",), code="no-factors"
        )
    _check_once("joint priors", [table.factors for table in joint], sizes, ("joint",))
    for table in joint:
        name = ", ".join(table.factors)
        _check_rows(
            f"joint prior of {name}",
            table.table,
            [(_count(table.factors, sizes),)],
            ("joint", name),
            sum_code="prior-sum",
        )
    _check_once("passive changes", [part.factors for part in passive], sizes, ("passive",))
    for part in passive:
        _check_part("passive change", part, sizes, ("passive", ", ".join(part.factors)))
        if part.outcomes or part.reward is not None or (part.change is not None and has_observation_axis(part.change)):
            raise ProblemError("a passive change must pay and show nothing", field=("passive",), code="passive-change")
    moving = {name for part in passive for name in part.factors}
    seen: set[int] = set()
    for action in actions:
        field = ("actions", action.name)
        for part in (part for part in action.parts if id(part) not in seen):
            seen.add(id(part))
            _check_part(f"'{action.name}'", part, sizes, (*field, "parts", ", ".join(part.factors)))
            by_change = part.reward_axes == 3
            if by_change and (part.change is None or moving.intersection(part.factors)):
                raise ProblemError(
                    f"'{action.name}' may pay by the state after it only where it changes {', '.join(part.factors)} "
                    "and no passive change does",
                    field=(*field, "reward"),
                    code="reward-shape",
                )
        changed = [part.factors for part in action.parts if part.change is not None]
        _check_once(f"changes of '{action.name}'", changed, sizes, field)
        if len(action.leads_to) not in (1, len(action.outcomes)):
            raise ProblemError(
                f"'{action.name}' must lead to one visible state, or to one for each of its {len(action.outcomes)} "
                f"outcomes; it leads to {len(action.leads_to)}",
                field=(*field, "leads_to"),
                code="next-states-count",
            )


def _check_part(label: str, part: Part, sizes: Mapping[str, int], field: Field) -> None:
    _check_once(f"factors of {label}", [(name,) for name in part.factors], sizes, field)
    states, outcomes = _count(part.factors, sizes), max(len(part.outcomes), 1)
    whose = f"{label} on {', '.join(part.factors)}"
    if not part.factors or bool(part.outcomes) != (part.likelihood is not None):
        raise ProblemError(
            f"{whose} must name factors, and have both outcomes and likelihood or neither",
            field=field,
            code="observation-without-likelihood",
        )
    if part.likelihood is not None:
        _check_rows(
            f"likelihood of {whose}",
            part.likelihood,
            [(states, outcomes)],
            (*field, "likelihood"),
            sum_code="likelihood-row-sum",
        )
    if part.change is not None:
        likelihood = np.ones((states, 1)) if part.likelihood is None else part.likelihood
        allowed = list(shapes(part.change, states, outcomes))
        _check_rows(
            f"change of {whose}",
            part.change,
            allowed,
            (*field, "change"),
            likelihood.T == 0,
            sum_code="transition-row-sum",
        )
    allowed = [(states,), (states, outcomes), (outcomes, states, states)]
    if part.reward is not None and part.reward.shape not in (*allowed, shapes(part.reward, states, outcomes)[1]):
        raise ProblemError(
            f"reward of {whose} must have one of the shapes {allowed}", field=(*field, "reward"), code="reward-shape"
        )


def _check_rows(
    what: str,
    table: Transition,
    shapes: list[tuple[int, ...]],
    field: Field,
    may_be_empty: Array | None = None,
    *,
    sum_code: str,
) -> None:
    if table.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ProblemError(
            f"{what} must have the shape {wanted}; it has {table.shape}", field=field, code="wrong-shape"
        )
    if not np.all(numbers(table) >= 0):
        raise ProblemError(f"{what} must hold probabilities; some are below 0", field=field, code="probability-range")
    sums = row_sums(table)
    sound = np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    if may_be_empty is not None and has_observation_axis(table):
        sound |= (sums == 0) & may_be_empty
    if not np.all(sound):
        rule = "rows that sum to 1" if table.ndim > 1 else "numbers that sum to 1"
        raise ProblemError(
            f"{what} must have {rule}; one sums to {float(sums[~sound].flat[0]):.10g}", field=field, code=sum_code
        )


def _check_once(what: str, scopes: Sequence[tuple[str, ...]], sizes: Mapping[str, int], field: Field) -> None:
    """No factor is in two of `scopes`, and all are factors."""
    seen: set[str] = set()
    for name in (name for scope in scopes for name in scope):
        if name not in sizes:
            raise ProblemError(
                f"{what} must be about factors; '{name}' is not one of {', '.join(sizes)}",
                field=field,
                code="unknown-factor",
            )
        if name in seen:
            raise ProblemError(
                f"{what} must have every factor once; '{name}' stands there twice", field=field, code="duplicate-name"
            )
        seen.add(name)


def _count(scope: tuple[str, ...], sizes: Mapping[str, int]) -> int:
    return prod(sizes[name] for name in scope)

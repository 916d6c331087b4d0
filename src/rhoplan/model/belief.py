"""The public belief: the observable state, and the probability of each hidden state given all observations.

A `Belief` is immutable; `update` applies Bayes' rule and returns another one. `as_belief` reads the forms in which
users write beliefs: an array, or a mapping of states to probabilities.

Shapes: S hidden states of a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from rhoplan.belief_math.transitions import Array
from rhoplan.errors import EvidenceError, Field, MissingExtra, WrongKind
from rhoplan.model.horizon import Left
from rhoplan.model.records import ROW_SUM_TOLERANCE, Factor, Observable
from rhoplan.model.situation import Situation, available, branch, find_action, initial, observe, observe_all, some

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

    from rhoplan.model.pomdp import POMDP

MOST_SHOWN = 8
"""States of a factor that `str` lists."""

SUM_TOLERANCE = 1e-6
"""How far the sum of given probabilities may be from 1: single precision. They are divided by their sum."""

Probabilities: TypeAlias = ArrayLike | Mapping[str, float]
"""Of one factor: an array (S,), or a mapping of states to probabilities, where missing states have probability 0."""

Evidence: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
"""Pairs of action and observation in the order in which they occurred, or a mapping if no action is repeated."""


@dataclass(frozen=True, eq=False, repr=False)
class Belief:
    """What the agent knows: the observable state and a probability distribution for each hidden factor.

    `belief["tiger-left"]` is a probability. With several hidden factors name the factor first:
    `belief["rock-1"]["good"]`. Iteration yields the names, so that `dict(belief)` is a mapping.
    """

    problem: POMDP
    situation: Situation

    @property
    def observable(self) -> Observable:
        """The observable part of the state; `END` after the end of the episode."""
        return self.situation.observable

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions available in the observable state."""
        return tuple(action.name for action in available(self.problem, self.situation))

    def update(self, action: str, observation: str) -> Belief:
        """The belief after `action` and `observation`; "?" is an observation that was lost."""
        return Belief(self.problem, observe(self.problem, self.situation, action, observation))

    def branches(self, action: str) -> list[BeliefBranch]:
        """The observations that `action` can yield, each with its probability and the belief after it."""
        taken = find_action(self.problem, self.situation, action)
        return [
            BeliefBranch(one.probability, one.outcome, Belief(self.problem, one.situation))
            for one in branch(self.problem, self.situation, taken)
        ]

    def max(self) -> float:
        """The probability of the most probable state; for one hidden factor only."""
        return float(self.to_array().max())

    def to_array(self) -> Array:
        """Probabilities (S,) in the order of `problem.states`; for one hidden factor only."""
        if len(self.problem.factors) > 1:
            raise self._needs_factor("max and to_array need one hidden factor", ("belief",))
        return self.situation.belief.copy()

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with the columns factor, state and probability."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise MissingExtra("a DataFrame", "pandas") from None
        return pd.DataFrame(self._rows(), columns=["factor", "state", "probability"])

    def keys(self) -> tuple[str, ...]:
        """Names of the states; of the factors where there are several."""
        return tuple(self._distributions if self._has_several else next(iter(self._distributions.values())))

    def __getitem__(self, name: str) -> Any:
        if not self._has_several:
            ((factor, distribution),) = self._distributions.items()
            return distribution if name == factor and name not in distribution else distribution[name]
        if name not in self._distributions:
            raise self._needs_factor(f"'{name}' is not a hidden factor", ("belief", name))
        return self._distributions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.to_array().astype(float if dtype is None else dtype, copy=False)

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Belief) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        shown = {name: _shown(distribution) for name, distribution in self._distributions.items()}
        return "; ".join(f"{name}: {text}" if self._has_several else text for name, text in shown.items())

    def __repr__(self) -> str:
        return f"Belief({self})"

    def _repr_html_(self) -> str:
        first = 0 if self._has_several else 1  # the name of the only factor is left out
        rows = [(escape(factor), escape(state), f"{share:.1%}")[first:] for factor, state, share in self._rows()]
        head = "".join(f"<th>{name}</th>" for name in ("factor", "state", "probability")[first:])
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _rows(self) -> list[tuple[str, str, float]]:
        return [(name, state, share) for name, held in self._distributions.items() for state, share in held.items()]

    @cached_property
    def _distributions(self) -> dict[str, _Distribution]:
        """The marginal distribution of each hidden factor by name; those with a joint distribution one by one."""
        pairs = zip(self.problem.factors, self.situation.beliefs, strict=True)
        return {
            one.name: _Distribution(one, share) for factor, belief in pairs for one, share in factor.marginals(belief)
        }

    @property
    def _has_several(self) -> bool:
        return len(self._distributions) > 1

    @property
    def _value(self) -> tuple[object, ...]:
        """What is equal for equal beliefs."""
        return names_of(self.problem), self.observable, tuple(tuple(held.tolist()) for held in self.situation.beliefs)

    def _needs_factor(self, what: str, field: Field) -> EvidenceError:
        return EvidenceError(
            f"{what}, and '{self.problem.name}' has several hidden factors; write belief[factor][state], where the "
            f"factors are {some(self._distributions, MOST_SHOWN)}",
            field=field,
        )


class BeliefBranch(NamedTuple):
    """One observation that an action can yield: its probability, its name and the belief after it."""

    probability: float
    observation: str
    belief: Belief


class _Distribution(dict[str, float]):
    """Probabilities of the states of one factor. If states are subtypes, a diagnosis is the sum of its subtypes."""

    def __init__(self, factor: Factor, belief: Array) -> None:
        super().__init__(zip(factor.states, belief.tolist(), strict=True))
        self._factor, self._belief = factor, belief

    def __missing__(self, name: str) -> float:
        factor = self._factor
        if name in factor.diagnoses:
            return float(factor.fold(self._belief)[factor.diagnoses.index(name)])
        known = some(factor.states, MOST_SHOWN)
        raise EvidenceError(f"there is no state '{name}'; there are {known}", field=("belief", name))


def make_belief(problem: POMDP, prior: Any = None, given: Evidence = ()) -> Belief:
    """The belief after `given`, starting from `prior`; see `POMDP.belief`."""
    start = initial(problem)
    if prior is not None:
        start = Situation(problem.start, _beliefs(problem, prior, ("prior",)))
    return Belief(problem, observe_all(problem, _pairs(given), start=start))


def as_belief(problem: POMDP, value: Any) -> Belief:
    """`value` as a belief of `problem`, at its initial observable state unless `value` is a Belief.

    value: a Belief; an array of one probability per state (one hidden factor); or a mapping of states to probabilities
    (with several hidden factors, of factors to such mappings or arrays).
    """
    if not isinstance(value, Belief):
        return Belief(problem, Situation(problem.start, _beliefs(problem, value, ("belief",))))
    if value.problem is problem:
        return value
    if names_of(value.problem) != names_of(problem):
        raise EvidenceError(
            f"the belief must have the hidden states of '{problem.name}'; it is a belief of '{value.problem.name}': "
            "make one with problem.belief()",
            field=("belief",),
        )
    if isinstance(value.observable, Left) != isinstance(problem.start, Left):
        has = "has" if isinstance(problem.start, Left) else "has not"
        raise EvidenceError(
            f"the belief must count the actions that are left if, and only if, the problem has a horizon; "
            f"'{problem.name}' {has} one: make the belief with problem.belief()",
            field=("belief",),
        )
    return Belief(problem, value.situation)


def names_of(problem: POMDP) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names of hidden factors and their states."""
    return tuple((factor.name, factor.states) for factor in problem.factors)


def _beliefs(problem: POMDP, value: Any, field: Field) -> tuple[Array, ...]:
    """Probabilities (S,) of each factor; the prior of those that `value`, a mapping, does not name."""
    named = {factor.name: factor for factor in problem.factors}
    only = problem.factors[0] if len(named) == 1 else None
    if only and not (only.joins and isinstance(value, Mapping)):
        return (_probabilities(only, value, field),)
    if not isinstance(value, Mapping):
        raise WrongKind(
            f"the {field[0]} of a problem with several hidden factors must be a mapping of {some(named, MOST_SHOWN)} "
            f"to probabilities; it is {shortened(value)}",
            field=field,
        )
    for name in value:
        if name not in named:
            joint = next((one for one in named for part in named[one].joins if part.name == name), None)
            why = "" if joint is None else f": '{name}' has a joint distribution with others, give that of '{joint}'"
            raise EvidenceError(
                f"the {field[0]} names the factor '{name}', which is not one of {some(named, MOST_SHOWN)}{why}",
                field=(*field, str(name)),
            )
    return tuple(
        _probabilities(factor, value[name], (*field, name)) if name in value else factor.prior
        for name, factor in named.items()
    )


def _probabilities(factor: Factor, value: Any, field: Field) -> Array:
    """The distribution (S,) of one factor that `value` gives."""
    what = "the " + " of ".join(f"'{one}'" if place else str(one) for place, one in enumerate(field))
    names, known = factor.states, some(factor.states, MOST_SHOWN)
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in factor.states]
        if unknown and all(name in factor.diagnoses for name in value):
            names, unknown = factor.diagnoses, []
        if unknown:
            raise EvidenceError(
                f"{what} names the state '{unknown[0]}', which is not one of {known}", field=(*field, str(unknown[0]))
            )
        value = [value.get(name, 0.0) for name in names]
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise WrongKind(
            f"{what} must be an array of {len(names)} probabilities or a mapping of states to probabilities; it is "
            f"{shortened(value)}",
            field=field,
        ) from None
    if found.shape != (len(names),):
        raise EvidenceError(
            f"{what} must have {len(names)} probabilities, one for each of {known}; it has the shape {found.shape}",
            field=field,
        )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        wrong = found[~(np.isfinite(found) & (found >= 0))][0]
        raise EvidenceError(f"{what} must have probabilities of at least 0; one is {wrong:g}", field=field)
    total = float(found.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise EvidenceError(
            f"{what} must have probabilities that sum to 1; they sum to {total:.10g}: give one for each of {known}",
            field=field,
        )
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        found /= total
    return found if names is factor.states else factor.spread(found)


def _pairs(given: Evidence) -> list[tuple[str, str]]:
    """`given` as pairs of action and observation."""
    wrong: object = given
    if isinstance(given, Iterable) and not isinstance(given, str):
        pairs: list[Any] = list(given.items() if isinstance(given, Mapping) else given)
        unfit = [one for one in pairs if not (isinstance(one, tuple | list) and len(one) == 2)]
        if not unfit:
            return [(str(action), str(observation)) for action, observation in pairs]
        wrong = unfit[0]
    raise WrongKind(
        'given must be pairs of action and observation, such as [("listen", "hear-left")], or a mapping; it has '
        f"{shortened(wrong)}",
        field=("given",),
    )


def _shown(distribution: Mapping[str, float]) -> str:
    """States with their probabilities; of many states the most probable."""
    names = list(distribution)
    if len(names) > MOST_SHOWN:
        names = sorted(names, key=lambda name: -distribution[name])[:MOST_SHOWN]
    more = f", {len(distribution) - len(names):,} more" if len(distribution) > len(names) else ""
    return ", ".join(f"{name} {distribution[name]:.1%}" for name in names) + more

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

from rhoplan.errors import EvidenceError, Field, MissingExtra, WrongKind, in_a_row
from rhoplan.model.horizon import Left
from rhoplan.model.pomdp import POMDP, ROW_SUM_TOLERANCE, Array, Factor, Observable
from rhoplan.model.situation import Situation, available, branch, find_action, initial, observe

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

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
            raise self._several()
        return self.situation.beliefs[0].copy()

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with the columns factor, state and probability."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise MissingExtra("a DataFrame", "pandas") from None
        return pd.DataFrame(self._rows(), columns=["factor", "state", "probability"])

    def keys(self) -> tuple[str, ...]:
        """Names of the states; of the factors where there are several."""
        several = len(self._distributions) > 1
        return tuple(self._distributions if several else next(iter(self._distributions.values())))

    def __getitem__(self, name: str) -> Any:
        if len(self._distributions) > 1:
            if name not in self._distributions:
                raise EvidenceError(
                    f"'{self.problem.name}' has several hidden factors and none is '{name}'; write "
                    f"belief[factor][state], where the factors are {_some(self._distributions)}",
                    field=("belief", name),
                )
            return self._distributions[name]
        (distribution,) = self._distributions.values()
        return distribution[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        found = self.to_array()
        return found if dtype is None else found.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return self._value == other._value if isinstance(other, Belief) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        parts = [(name, _shown(distribution)) for name, distribution in self._distributions.items()]
        return parts[0][1] if len(parts) == 1 else "; ".join(f"{name}: {text}" for name, text in parts)

    def __repr__(self) -> str:
        return f"Belief({self})"

    def _repr_html_(self) -> str:
        several = len(self._distributions) > 1
        heads = (["factor"] if several else []) + ["state", "probability"]
        rows = [
            [escape(name) for name in ((factor, state) if several else (state,))] + [f"{share:.1%}"]
            for factor, state, share in self._rows()
        ]
        body = "".join(f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        return f"<table><thead><tr><th>{'</th><th>'.join(heads)}</th></tr></thead><tbody>{body}</tbody></table>"

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
    def _value(self) -> tuple[object, ...]:
        """What is equal for equal beliefs."""
        held = [belief.tolist() for belief in self.situation.beliefs]
        return names_of(self.problem), self.observable, tuple(map(tuple, held))

    def _several(self) -> EvidenceError:
        """The refusal of what needs one hidden factor."""
        return EvidenceError(
            f"max and to_array need one hidden factor, and '{self.problem.name}' has several; write belief[factor], "
            f"where the factors are {_some(self._distributions)}",
            field=("belief",),
        )


class BeliefBranch(NamedTuple):
    """One observation that an action can yield: its probability, its name and the belief after it."""

    probability: float
    observation: str
    belief: Belief


class _Distribution(dict[str, float]):
    """Probabilities of the states of one factor. Where states are subtypes, a diagnosis is the sum of its subtypes."""

    def __init__(self, factor: Factor, belief: Array) -> None:
        super().__init__(zip(factor.states, belief.tolist(), strict=True))
        self._factor, self._belief = factor, belief

    def __missing__(self, name: str) -> float:
        factor = self._factor
        if name in factor.diagnoses:
            return float(factor.fold(self._belief)[factor.diagnoses.index(name)])
        raise EvidenceError(f"there is no state '{name}'; there are {_some(factor.states)}", field=("belief", name))


def initial_belief(problem: POMDP) -> Belief:
    """The belief before any action: the prior of the problem."""
    return Belief(problem, initial(problem))


def make_belief(problem: POMDP, prior: Any = None, given: Evidence = ()) -> Belief:
    """The belief after `given`, starting from `prior`; see `POMDP.belief`."""
    belief = initial_belief(problem)
    if prior is not None:
        belief = Belief(problem, Situation(problem.start, _beliefs(problem, prior, ("prior",))))
    for place, pair in enumerate(_pairs(given)):
        try:
            belief = belief.update(*pair)
        except EvidenceError as error:
            raise error.within("given", place) from None
    return belief


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
    """Probabilities (S,) of each factor of `problem`, where `value` does not name a factor those of the prior."""
    if len(problem.factors) == 1 and not problem.factors[0].joins:
        return (_probabilities(problem.factors[0], value, field),)
    named = {factor.name: factor for factor in problem.factors}
    if not isinstance(value, Mapping):
        if len(named) == 1:  # a joint distribution of all factors
            return (_probabilities(problem.factors[0], value, field),)
        raise WrongKind(
            f"the {field[0]} of a problem with several hidden factors must be a mapping of {_some(named)} to "
            f"probabilities; it is {shortened(value)}",
            field=field,
        )
    for name in value:
        if name not in named:
            joint = next((one for one in named for part in named[one].joins if part.name == name), None)
            why = "" if joint is None else f": '{name}' has a joint distribution with others, give that of '{joint}'"
            raise EvidenceError(
                f"the {field[0]} names the factor '{name}', which is not one of {_some(named)}{why}",
                field=(*field, str(name)),
            )
    return tuple(
        _probabilities(factor, value[name], (*field, name)) if name in value else factor.prior
        for name, factor in named.items()
    )


def _probabilities(factor: Factor, value: Any, field: Field) -> Array:
    """The distribution (S,) of one factor that `value` gives."""
    what = "the " + " of ".join(f"'{one}'" if place else str(one) for place, one in enumerate(field))
    by_diagnosis = False
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in factor.states]
        by_diagnosis = bool(unknown) and all(name in factor.diagnoses for name in value)
        if unknown and not by_diagnosis:
            raise EvidenceError(
                f"{what} names the state '{unknown[0]}', which is not one of {_some(factor.states)}",
                field=(*field, str(unknown[0])),
            )
        value = [value.get(name, 0.0) for name in (factor.diagnoses if by_diagnosis else factor.states)]
    size = len(factor.diagnoses if by_diagnosis else factor.states)
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise WrongKind(
            f"{what} must be an array of {size} probabilities or a mapping of states to probabilities; it is "
            f"{shortened(value)}",
            field=field,
        ) from None
    if found.shape != (size,):
        raise EvidenceError(
            f"{what} must have {size} probabilities, one for each of {_some(factor.states)}; it has the shape "
            f"{found.shape}",
            field=field,
        )
    if not (np.isfinite(found).all() and (found >= 0).all()):
        wrong = found[~(np.isfinite(found) & (found >= 0))][0]
        raise EvidenceError(f"{what} must have probabilities of at least 0; one is {wrong:g}", field=field)
    total = float(found.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise EvidenceError(
            f"{what} must have probabilities that sum to 1; they sum to {total:.10g}: give one for each of "
            f"{_some(factor.states)}",
            field=field,
        )
    if abs(total - 1) > ROW_SUM_TOLERANCE:
        found /= total
    return factor.spread(found) if by_diagnosis else found


def _pairs(given: Evidence) -> list[tuple[str, str]]:
    """`given` as pairs of action and observation."""
    wrong = None
    found = list(given.items() if isinstance(given, Mapping) else given) if isinstance(given, Iterable) else None
    if found is None or isinstance(given, str):
        wrong = given
    else:
        wrong = next((one for one in found if isinstance(one, str) or not _is_pair(one)), None)
    if wrong is not None:
        raise WrongKind(
            'given must be pairs of action and observation, such as [("listen", "hear-left")], or a mapping; it has '
            f"{shortened(wrong)}",
            field=("given",),
        )
    return [(str(action), str(observation)) for action, observation in found or ()]


def _is_pair(one: object) -> bool:
    return isinstance(one, tuple | list) and len(one) == 2


def _shown(distribution: Mapping[str, float]) -> str:
    """States with their probabilities; of many states the most probable."""
    names = list(distribution)
    if len(names) > MOST_SHOWN:
        names = sorted(names, key=lambda name: -distribution[name])[:MOST_SHOWN]
    more = f", {len(distribution) - len(names):,} more" if len(distribution) > len(names) else ""
    return ", ".join(f"{name} {distribution[name]:.1%}" for name in names) + more


def _some(names: Iterable[str]) -> str:
    """The first few of `names`, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - MOST_SHOWN:,} more" if len(known) > MOST_SHOWN else ""
    return in_a_row(known[:MOST_SHOWN]) + more

"""Beliefs: the observable state, and the probability of each hidden state given all observations.

A `Belief` is immutable; `update` applies Bayes' rule and returns another one. `as_belief` reads the forms in which
users write beliefs: an array, or a mapping of states to probabilities. Planners compute the same for whole batches with
`information.update`.

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

from rhoplan.belief_math.information import update
from rhoplan.belief_math.transitions import Array
from rhoplan.errors import EvidenceError, Field, ImpossibleEvidence, MissingExtra, WrongKind, in_a_row
from rhoplan.model.horizon import Left, horizon_of, without_horizon
from rhoplan.model.records import END, ROW_SUM_TOLERANCE, Action, Factor, Observable

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

    from rhoplan.model.pomdp import POMDP

UNKNOWN = "?"
"""The observation of a test whose result was lost. If a test has an observation of this name, that one is meant."""

MOST_NAMED = 20
"""Names that an error lists."""

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

    beliefs holds the distribution (S,) of each factor of the problem; factors with a joint distribution are one.
    """

    problem: POMDP
    observable: Observable
    beliefs: tuple[Array, ...]

    @property
    def menu(self) -> tuple[Action, ...]:
        """The actions that are available; none after the end of the episode, where `observable` is `END`."""
        return () if self.observable is END else self.problem.menu(self.observable)

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions that are available."""
        return tuple(action.name for action in self.menu)

    def update(self, action: str, observation: str) -> Belief:
        """The belief after `action` and `observation`; "?" is an observation that was lost."""
        taken = _as_evidence(self, action)
        if observation not in taken.outcomes:
            if observation == UNKNOWN:
                return _after_lost_result(self, taken)
            raise EvidenceError(
                f"test '{action}' has no outcome '{observation}'; it has {some(taken.outcomes)}",
                field=("outcome",),
                code="unknown-outcome",
            )
        after = next((one.belief for one in self.branches(taken) if one.observation == observation), None)
        if after is None:
            raise impossible(self.problem, self.beliefs[taken.factor], taken, observation)
        return after

    def branches(self, action: str | Action) -> list[BeliefBranch]:
        """The observations that `action`, a name or one of `menu`, can yield: probability, name and belief after it."""
        if isinstance(action, str):
            named = next((one for one in self.menu if one.name == action), None)
            if named is None:
                known = f"'{self.problem.name}' has no action '{action}' here; there are {some(self.actions) or 'none'}"
                raise EvidenceError(_why_not(self, action) or known, field=("action",))
            action = named
        probability, posterior = update(self.beliefs[action.factor][None, :], action)
        found = []
        for position in np.flatnonzero(probability[0] > 0).tolist():
            beliefs = list(self.beliefs)
            beliefs[action.factor] = posterior[0, position]
            after = Belief(self.problem, action.leads_to[position], tuple(beliefs))
            found.append(BeliefBranch(float(probability[0, position]), action.outcomes[position], after))
        return found

    def diagnoses(self) -> dict[str, dict[str, float]]:
        """The probability of each diagnosis by name for each hidden factor by name; joined factors one by one."""
        parts = zip(self.problem.factors, self.beliefs, strict=True)
        return {name: shares for factor, belief in parts for name, shares in factor.shares(belief).items()}

    def max(self) -> float:
        """The probability of the most probable state; for one hidden factor only."""
        return float(self.to_array().max())

    def to_array(self) -> Array:
        """Probabilities (S,) in the order of `problem.states`; for one hidden factor only."""
        if len(self.problem.factors) > 1:
            raise self._needs_factor("max and to_array need one hidden factor", ("belief",))
        return self.beliefs[0].copy()

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
        pairs = zip(self.problem.factors, self.beliefs, strict=True)
        return {
            one.name: _Distribution(one, share) for factor, belief in pairs for one, share in factor.marginals(belief)
        }

    @property
    def _has_several(self) -> bool:
        return len(self._distributions) > 1

    @property
    def _value(self) -> tuple[object, ...]:
        """What is equal for equal beliefs."""
        return names_of(self.problem), self.observable, tuple(tuple(held.tolist()) for held in self.beliefs)

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
    initial = tuple(factor.prior for factor in problem.factors)
    belief = Belief(problem, problem.start, initial if prior is None else _beliefs(problem, prior, ("prior",)))
    for place, (action, observation) in enumerate(_pairs(given)):
        try:
            belief = belief.update(action, observation)
        except EvidenceError as error:
            raise error.within("given", place) from None
    return belief


def as_belief(problem: POMDP, value: Any) -> Belief:
    """`value` as a belief of `problem`, at its initial observable state unless `value` is a Belief.

    value: a Belief; an array of one probability per state (one hidden factor); or a mapping of states to probabilities
    (with several hidden factors, of factors to such mappings or arrays).
    """
    if not isinstance(value, Belief):
        return Belief(problem, problem.start, _beliefs(problem, value, ("belief",)))
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
    return Belief(problem, value.observable, value.beliefs)


def impossible(problem: POMDP, belief: Array, action: Action, outcome: str) -> ImpossibleEvidence:
    """The error for an observation of probability zero."""
    states = problem.factors[action.factor].states
    held = ", ".join(f"{states[s]} {belief[s]:.3g}" for s in np.flatnonzero(belief)[:4])
    more = ", ..." if np.count_nonzero(belief) > 4 else ""
    return ImpossibleEvidence(
        f"outcome '{outcome}' of '{action.name}' has probability zero under the model of '{problem.name}' "
        f"when the belief is ({held}{more})",
        field=("outcome",),
    )


def some(names: Iterable[str], most: int = MOST_NAMED) -> str:
    """The first few of `names`, and how many more there are."""
    known = list(names)
    more = f" and {len(known) - most:,} more" if len(known) > most else ""
    return in_a_row(known[:most]) + more


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


def _as_evidence(belief: Belief, name: str) -> Action:
    """The available action `name`, which does not end the episode; EvidenceError if there is none."""
    problem, actions = belief.problem, {action.name: action for action in belief.menu}
    if isinstance(belief.observable, Left):
        _check_horizon(problem, belief.observable, name)
    if name not in actions:
        if why := _why_not(belief, name):
            ended = belief.observable is END
            raise EvidenceError(why, field=("test",), code="invalid-evidence" if ended else "test-not-available")
        tests = [one for one, action in actions.items() if action.kind == "test"]
        raise EvidenceError(
            f"'{problem.name}' has no test '{name}'; it has {some(tests) or 'none'}",
            field=("test",),
            code="unknown-test",
        )
    if actions[name].kind == "commit":
        raise EvidenceError(
            f"'{name}' is a terminal action, not a test: it ends the episode and cannot be evidence",
            field=("test",),
            code="decision-as-evidence",
        )
    return actions[name]


def _why_not(belief: Belief, name: str) -> str:
    """Why the action or test `name` is not available now; empty if the problem does not have it."""
    problem = belief.problem
    if belief.observable is END:
        return f"'{name}' is not available: the episode of '{problem.name}' has ended"
    test = next((one for one in problem.listed.tests if one.name == name), None) if problem.listed else None
    return "" if test is None else problem.flat.why_not(test, belief.observable, problem.name, problem.unit)


def _check_horizon(problem: POMDP, here: Left, test: str) -> None:
    """Refuse a test that is the last action of the horizon if nothing follows it, or that comes after the last."""
    known = {action.name: action for action in without_horizon(problem).menu(here.observable)}
    if here.actions > 1 or test not in known or known[test].ends_episode:
        return
    horizon, endings = horizon_of(problem), [name for name, action in known.items() if action.ends_episode]
    many = f"horizon of {horizon} action{'s' if horizon != 1 else ''}"
    if not here.actions:
        raise EvidenceError(
            f"the {many} is used up before '{test}': left are {some(endings)}",
            field=("test",),
            code="horizon-used-up",
        )
    if next(action for action in problem.menu(here) if action.name == test).is_last:
        raise EvidenceError(
            f"the {many} is used up with '{test}': after it nothing is left to decide",
            field=("test",),
            code="horizon-used-up",
        )


def _after_lost_result(belief: Belief, action: Action) -> Belief:
    """The belief after `action` if its observation was lost: the probabilities stay as they are."""
    if not action.preserves_hidden_state or any(observable != action.leads_to[0] for observable in action.leads_to):
        raise EvidenceError(
            f"the result of '{action.name}' must be known: what comes next depends on it",
            field=("outcome",),
            code="result-needed",
        )
    return Belief(belief.problem, action.leads_to[0], belief.beliefs)

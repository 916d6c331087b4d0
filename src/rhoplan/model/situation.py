"""The belief of the engine: `Situation`, the observable state with one belief per hidden factor, and its successors.

Planners compute the same for whole batches with `information.update`. The public form is `belief.Belief`.

Shapes: S hidden states of a factor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.belief_math.information import update
from rhoplan.errors import EvidenceError, ImpossibleEvidence, in_a_row
from rhoplan.model.horizon import Left, horizon_of, without_horizon
from rhoplan.model.records import END, Action, Array, Observable

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP

MOST_NAMED = 20
"""Names that an error lists."""

UNKNOWN = "?"
"""The observation of a test whose result was lost. If a test has an observation of this name, that one is meant."""


@dataclass(frozen=True, eq=False)
class Situation:
    """An observable state and the belief (S,) about each hidden factor."""

    observable: Observable
    beliefs: tuple[Array, ...]

    @property
    def belief(self) -> Array:
        """Belief about the first factor (the only one of a diagnostic problem)."""
        return self.beliefs[0]


@dataclass(frozen=True, eq=False)
class Branch:
    """One observation of an action: its probability, and the situation after it."""

    outcome: str
    probability: float
    situation: Situation


def initial(problem: POMDP) -> Situation:
    """The situation before any action."""
    return Situation(problem.start, tuple(factor.prior for factor in problem.factors))


def named_beliefs(problem: POMDP, situation: Situation) -> dict[str, dict[str, float]]:
    """The probability of each diagnosis by name for each hidden factor by name; joined factors one by one."""
    parts = zip(problem.factors, situation.beliefs, strict=True)
    return {name: shares for factor, belief in parts for name, shares in factor.shares(belief).items()}


def branch(problem: POMDP, situation: Situation, action: Action) -> tuple[Branch, ...]:
    """One Branch per observation of `action` that is possible."""
    probability, posterior = update(situation.beliefs[action.factor][None, :], action)
    branches = []
    for position in np.flatnonzero(probability[0] > 0).tolist():
        beliefs = list(situation.beliefs)
        beliefs[action.factor] = posterior[0, position]
        after = Situation(action.leads_to[position], tuple(beliefs))
        branches.append(Branch(action.outcomes[position], float(probability[0, position]), after))
    return tuple(branches)


def available(problem: POMDP, situation: Situation) -> tuple[Action, ...]:
    """The actions that can be taken in `situation`; none after the end of the episode."""
    return () if situation.observable is END else problem.menu(situation.observable)


def find_action(problem: POMDP, situation: Situation, name: str) -> Action:
    """The action called `name` among those available in `situation`; EvidenceError if there is none."""
    actions = {action.name: action for action in available(problem, situation)}
    if name in actions:
        return actions[name]
    why = _why_not(problem, situation, name)
    known = f"'{problem.name}' has no action '{name}' here; there are {some(actions) or 'none'}"
    raise EvidenceError(why or known, field=("action",))


def observe(problem: POMDP, situation: Situation, test: str, outcome: str) -> Situation:
    """The situation after `test` yielded `outcome`; EvidenceError if it cannot."""
    actions = {action.name: action for action in available(problem, situation)}
    if isinstance(situation.observable, Left):
        _check_horizon(problem, situation.observable, test)
    if test not in actions:
        if why := _why_not(problem, situation, test):
            ended = situation.observable is END
            raise EvidenceError(why, field=("test",), code="invalid-evidence" if ended else "test-not-available")
        tests = [name for name, action in actions.items() if action.kind == "test"]
        raise EvidenceError(
            f"'{problem.name}' has no test '{test}'; it has {some(tests) or 'none'}",
            field=("test",),
            code="unknown-test",
        )
    action = actions[test]
    if action.kind == "commit":
        raise EvidenceError(
            f"'{test}' is a commit, not a test: it ends the episode and cannot be evidence",
            field=("test",),
            code="decision-as-evidence",
        )
    if outcome not in action.outcomes:
        if outcome == UNKNOWN:
            return _after_lost_result(situation, action)
        raise EvidenceError(
            f"test '{test}' has no outcome '{outcome}'; it has {some(action.outcomes)}",
            field=("outcome",),
            code="unknown-outcome",
        )
    for candidate in branch(problem, situation, action):
        if candidate.outcome == outcome:
            return candidate.situation
    raise impossible(problem, situation.beliefs[action.factor], action, outcome)


def observe_all(problem: POMDP, evidence: Iterable[tuple[str, str]], *, start: Situation | None = None) -> Situation:
    """The situation after all of `evidence`, pairs of test and outcome in their order; `start`: the initial one."""
    situation = initial(problem) if start is None else start
    for place, (test, outcome) in enumerate(evidence):
        try:
            situation = observe(problem, situation, test, outcome)
        except EvidenceError as error:
            raise error.within("given", place) from None
    return situation


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


def _why_not(problem: POMDP, situation: Situation, name: str) -> str:
    """Why the action or test `name` is not available now; empty if the problem does not have it."""
    if situation.observable is END:
        return f"'{name}' is not available: the episode of '{problem.name}' has ended"
    test = next((one for one in problem.listed.tests if one.name == name), None) if problem.listed else None
    return "" if test is None else problem.flat.why_not(test, situation.observable, problem.name, problem.unit)


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


def _after_lost_result(situation: Situation, action: Action) -> Situation:
    """The situation after `action` if its observation was lost: the beliefs stay as they are."""
    if not action.preserves_hidden_state or any(observable != action.leads_to[0] for observable in action.leads_to):
        raise EvidenceError(
            f"the result of '{action.name}' must be known: what comes next depends on it",
            field=("outcome",),
            code="result-needed",
        )
    return Situation(action.leads_to[0], situation.beliefs)

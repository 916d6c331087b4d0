"""A Situation is all the agent knows: the visible state and one belief per hidden factor.

`branch` is where one action leads from one situation, for people and for tests; the planner asks the same
question for whole batches through `information.update`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.belief_math.information import update
from rhoplan.errors import EvidenceError, ImpossibleEvidence, in_a_row
from rhoplan.model.diagnostic import Done
from rhoplan.model.horizon import Left, horizon_of, without_horizon
from rhoplan.model.pomdp import END, POMDP, Action, Array, Observable

MOST_NAMED = 20
"""Tests or outcomes that an error names."""

UNKNOWN = "?"
"""The outcome of a test that was run and paid for, but whose result nobody knows; a model's own outcome of that name
comes first."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A visible state and the belief (S,) about each hidden factor."""

    observable: Observable
    beliefs: tuple[Array, ...]

    @property
    def belief(self) -> Array:
        """Belief about the first factor (the only one of a flat problem)."""
        return self.beliefs[0]


@dataclass(frozen=True, eq=False)
class Branch:
    """One outcome of an action: how probable it is, and the situation it leads to."""

    outcome: str
    probability: float
    situation: Situation


def initial(problem: POMDP) -> Situation:
    """The situation before any evidence."""
    return Situation(problem.start, tuple(factor.prior for factor in problem.factors))


def named_beliefs(problem: POMDP, situation: Situation) -> dict[str, dict[str, float]]:
    """For each hidden factor by name, the chance of each of its states by name; joined ones each by itself."""
    parts = zip(problem.factors, situation.beliefs, strict=True)
    return {name: shares for factor, belief in parts for name, shares in factor.shares(belief).items()}


def branch(problem: POMDP, situation: Situation, action: Action) -> tuple[Branch, ...]:
    """Where `action` can lead: one Branch per possible outcome."""
    probability, posterior = update(situation.beliefs[action.factor][None, :], action)
    branches = []
    for position in np.flatnonzero(probability[0] > 0).tolist():
        beliefs = list(situation.beliefs)
        beliefs[action.factor] = posterior[0, position]
        after = Situation(action.leads_to[position], tuple(beliefs))
        branches.append(Branch(action.outcomes[position], float(probability[0, position]), after))
    return tuple(branches)


def available(problem: POMDP, situation: Situation) -> tuple[Action, ...]:
    """The actions on the menu in `situation`; none once the episode has ended."""
    return () if situation.observable is END else problem.menu(situation.observable)


def find_action(problem: POMDP, situation: Situation, name: str) -> Action:
    """The action called `name` among those available in `situation`; EvidenceError where it is not."""
    _check_goes_on(problem, situation, name, "action")
    actions = {action.name: action for action in available(problem, situation)}
    if name in actions:
        return actions[name]
    if problem.listed is not None and any(known.name == name for known in problem.listed.tests):
        raise EvidenceError(_why_not(problem, situation, name), field=("action",))
    raise EvidenceError(
        f"'{problem.name}' has no action '{name}' here; there are {_some(list(actions)) or 'none'}", field=("action",)
    )


def _check_goes_on(problem: POMDP, situation: Situation, name: str, field: str) -> None:
    if situation.observable is END:
        raise EvidenceError(f"'{name}' is not available: the episode of '{problem.name}' has ended", field=(field,))


def observe(problem: POMDP, situation: Situation, test: str, outcome: str) -> Situation:
    """The situation after `test` came out as `outcome`."""
    _check_goes_on(problem, situation, test, "test")
    actions = {action.name: action for action in available(problem, situation)}
    if isinstance(situation.observable, Left):
        _check_horizon(problem, situation.observable, test)
    if test not in actions:
        if problem.listed is not None and any(known.name == test for known in problem.listed.tests):
            raise EvidenceError(_why_not(problem, situation, test), field=("test",), code="test-not-available")
        tests = [name for name, action in actions.items() if action.kind == "test"]
        raise EvidenceError(
            f"'{problem.name}' has no test '{test}'; it has {_some(tests) or 'none'}",
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
    if outcome == UNKNOWN and outcome not in action.outcomes:
        return _unread(situation, action)
    if outcome not in action.outcomes:
        raise EvidenceError(
            f"test '{test}' has no outcome '{outcome}'; it has {_some(action.outcomes)}",
            field=("outcome",),
            code="unknown-outcome",
        )
    for candidate in branch(problem, situation, action):
        if candidate.outcome == outcome:
            return candidate.situation
    raise impossible(problem, situation.beliefs[action.factor], action, outcome)


def _check_horizon(problem: POMDP, here: Left, test: str) -> None:
    """Refuse a test that is the last of the horizon, where nothing comes after, or that comes after the last."""
    known = {action.name: action for action in without_horizon(problem).menu(here.observable)}
    if here.actions > 1 or test not in known or known[test].ends_episode:
        return
    horizon, endings = horizon_of(problem), [name for name, action in known.items() if action.ends_episode]
    many = f"{horizon} action{'s' if horizon != 1 else ''}"
    if not here.actions:
        raise EvidenceError(
            f"the horizon of {many} is used up before '{test}': left are {_some(endings)}",
            field=("test",),
            code="horizon-used-up",
        )
    last = next(action for action in problem.menu(here) if action.name == test)
    if last.is_last:
        raise EvidenceError(
            f"the horizon of {many} is used up with '{test}': after it nothing is left to decide",
            field=("test",),
            code="horizon-used-up",
        )


def _unread(situation: Situation, action: Action) -> Situation:
    """The situation after `action` was taken and its outcome lost: believed is what was believed before."""
    if not action.preserves_hidden_state or any(observable != action.leads_to[0] for observable in action.leads_to):
        raise EvidenceError(
            f"the result of '{action.name}' must be known: what comes next depends on it",
            field=("outcome",),
            code="result-needed",
        )
    return Situation(action.leads_to[0], situation.beliefs)


def _some(names: Sequence[str]) -> str:
    """`names` in a row, and how many more there are where they are many."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return in_a_row(names[:MOST_NAMED]) + more


def _why_not(problem: POMDP, situation: Situation, name: str) -> str:
    """Why a test of a flat problem may not be run in `situation`."""
    menu = problem.flat
    test = next(known for known in menu.tests if known.name == name)
    done = situation.observable
    assert isinstance(done, Done)
    if not test.repeatable and name in done.run:
        return f"test '{name}' may run only once and has been run already"
    taken = [part for part in test.parts if part in done.run]
    if taken and not test.repeatable:
        return f"panel '{name}' is not to be had any more: {', '.join(taken)} has been run already"
    waits = [other for other in test.after if other not in done.run]
    if waits:
        return f"test '{name}' may run only after {', '.join(waits)}"
    full = menu.most_tests is not None and done.tests >= menu.most_tests
    cap = f"at most {menu.most_tests} tests" if full else f"a budget of {menu.budget:,.15g} {problem.unit}"
    return f"test '{name}' is beyond the cap: '{problem.name}' allows {cap}"


def observe_all(problem: POMDP, evidence: Iterable[tuple[str, str]]) -> Situation:
    """The situation after all of `evidence`, pairs of test and outcome in the order they were seen."""
    situation = initial(problem)
    for place, (test, outcome) in enumerate(evidence):
        try:
            situation = observe(problem, situation, test, outcome)
        except EvidenceError as error:
            raise error.within("given", place) from None
    return situation


def impossible(problem: POMDP, belief: Array, action: Action, outcome: str) -> ImpossibleEvidence:
    """The error for an outcome of probability zero; names situation, action and outcome."""
    states = problem.factors[action.factor].states
    held = ", ".join(f"{states[s]} {belief[s]:.3g}" for s in np.flatnonzero(belief)[:4])
    more = ", ..." if np.count_nonzero(belief) > 4 else ""
    return ImpossibleEvidence(
        f"outcome '{outcome}' of '{action.name}' has probability zero under the model of '{problem.name}' "
        f"when the belief is ({held}{more})",
        field=("outcome",),
    )

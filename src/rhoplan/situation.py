"""A Situation is all the agent knows: the visible state and one belief per hidden factor.

`branch` is where one action leads from one situation, for people and for tests; the planner asks the same
question for whole batches through `information.update`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.errors import EvidenceError, ImpossibleEvidence
from rhoplan.information import update
from rhoplan.menu import TESTS
from rhoplan.problem import END, Action, Array, Problem, Visible


@dataclass(frozen=True, eq=False)
class Situation:
    """A visible state and the belief (S,) about each hidden factor."""

    visible: Visible
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


def initial(problem: Problem) -> Situation:
    """The situation before any evidence."""
    return Situation(problem.start, tuple(factor.prior for factor in problem.factors))


def branch(problem: Problem, situation: Situation, action: Action) -> tuple[Branch, ...]:
    """Where `action` can lead: one Branch per outcome of positive probability."""
    probability, posterior = update(situation.beliefs[action.factor][None, :], action)
    branches = []
    for position, outcome in enumerate(action.outcomes):
        if probability[0, position] > 0:
            beliefs = list(situation.beliefs)
            beliefs[action.factor] = posterior[0, position]
            after = Situation(action.leads_to[position], tuple(beliefs))
            branches.append(Branch(outcome, float(probability[0, position]), after))
    return tuple(branches)


def available(problem: Problem, situation: Situation) -> tuple[Action, ...]:
    """The actions on the menu in `situation`; none once the episode has ended."""
    return () if situation.visible is END else problem.menu(situation.visible)


def observe(problem: Problem, situation: Situation, test: str, outcome: str) -> Situation:
    """The situation after `test` came out as `outcome`."""
    actions = {action.name: action for action in available(problem, situation)}
    if test not in actions:
        if problem.is_flat and any(known.name == test for known in problem.flat.tests):
            raise EvidenceError(_why_not(problem, situation, test))
        kinds = ", ".join(name for name, action in actions.items() if action.kind == "test")
        raise EvidenceError(f"'{problem.name}' has no test '{test}'; it has {kinds or 'none'}")
    action = actions[test]
    if action.kind == "commit":
        raise EvidenceError(f"'{test}' is a commit, not a test: it ends the episode and cannot be evidence")
    if outcome not in action.outcomes:
        raise EvidenceError(f"test '{test}' has no outcome '{outcome}'; it has {', '.join(action.outcomes)}")
    for candidate in branch(problem, situation, action):
        if candidate.outcome == outcome:
            return candidate.situation
    raise impossible(problem, situation.beliefs[action.factor], action, outcome)


def _why_not(problem: Problem, situation: Situation, name: str) -> str:
    """Why a test of a flat problem may not be run in `situation`."""
    menu = problem.flat
    test = next(known for known in menu.tests if known.name == name)
    done = situation.visible
    assert isinstance(done, frozenset)
    if not test.repeatable and name in done:
        return f"test '{name}' may run only once and has been run already"
    waits = [other for other in test.after if other not in done]
    if waits:
        return f"test '{name}' may run only after {', '.join(waits)}"
    counted: dict[str, Any] = dict(item for item in done if isinstance(item, tuple))
    full = menu.most_tests is not None and counted.get(TESTS, 0) >= menu.most_tests
    cap = f"at most {menu.most_tests} tests" if full else f"a budget of {menu.budget:g} {problem.unit}"
    return f"test '{name}' is beyond the cap: '{problem.name}' allows {cap}"


def observe_all(problem: Problem, evidence: Iterable[tuple[str, str]]) -> Situation:
    """The situation after all of `evidence`, pairs of test and outcome in the order they were seen."""
    situation = initial(problem)
    for test, outcome in evidence:
        situation = observe(problem, situation, test, outcome)
    return situation


def impossible(problem: Problem, belief: Array, action: Action, outcome: str) -> ImpossibleEvidence:
    """The error for an outcome of probability zero; names situation, action and outcome."""
    states = problem.factors[action.factor].states
    held = ", ".join(f"{states[s]} {belief[s]:.3g}" for s in np.flatnonzero(belief)[:4])
    more = ", ..." if np.count_nonzero(belief) > 4 else ""
    return ImpossibleEvidence(
        f"outcome '{outcome}' of '{action.name}' has probability zero under the model of '{problem.name}' "
        f"when the belief is ({held}{more})"
    )

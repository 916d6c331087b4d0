"""What a search over evidence leaves behind: bounds, the score of a plan, and what to do in any situation.

The plan behind the lower bound is kept as rows: what was run, the belief, the action, and both bounds. In a situation
that the plan comes to, the policy does what the plan does, so following it from the start is worth at least the lower
bound. Anywhere else it searches anew from there, with a fixed amount of work: the same situation always gives the same
answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from rhoplan.errors import EvidenceError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import END, POMDP, Array
from rhoplan.planning.asked import MANY_FORMAT, Asked, BoundedPolicy
from rhoplan.planning.many.evidence import digest_of, kinds_of

Trace: TypeAlias = tuple[tuple[int, ...], frozenset[str], int, int]
"""The kinds of tests that were run, where that leaves a trace, once for each run; groups paid for, tests and ticks."""

SAME_BELIEF = 1e-9
"""How far apart beliefs may be that stem from the same evidence in another order."""


@dataclass(frozen=True, eq=False)
class ManySolution:
    """Certified bounds on the best value, and the plan that reaches the lower one.

    stopped_by: `gap` where they are within the gap asked for, `proven` where the first action is and that was asked
    for, else what ran out (`time`, `memory`, `work`), or `interrupted`. first: the first action of the plan; actions:
    lower and upper bound on each, the best plan followed afterwards; proven: the one that no other can beat. reward,
    tests, success, truncated: the exact score of the plan, not discounted. ends: how cases end that follow it.
    """

    lower: float
    upper: float
    gap: float
    stopped_by: str
    first: str
    actions: dict[str, tuple[float, float]]
    proven: str | None
    reward: float
    tests: float
    success: float
    truncated: float
    nodes: int
    trials: int
    seconds: float
    policy: ManyPolicy = field(repr=False)
    ends: tuple[End, ...] = field(repr=False)

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap


class End(NamedTuple):
    """A situation where the plan stops: the share of cases that come there, tests run, and what they cost.

    commit: the one taken, None where cases are cut off. right: the chance that it is a best one for the true state.
    """

    share: float
    tests: int
    cost: float
    commit: str | None
    right: float


@dataclass(frozen=True, eq=False)
class Step:
    """A situation of the plan: what has been done, the belief (S,), what is done there, and bounds on the best value
    from there on."""

    done: Done
    belief: Array
    action: str
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class ManyPolicy(BoundedPolicy):
    """What to do in any situation of an observe-then-commit problem, and bounds on what that is worth.

    search: a search from any situation. kinds: the kind of each test, where having run it leaves a trace. steps: the
    plan, the start first.
    """

    origin: POMDP
    settings: Asked
    search: Callable[[Situation], ManySolution] = field(repr=False)
    kinds: Mapping[str, int]
    steps: dict[Trace, list[Step]] = field(repr=False)
    _anew: dict[object, ManySolution] = field(default_factory=dict, repr=False)
    _beliefs: dict[Trace, Array] = field(default_factory=dict, repr=False)

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`."""
        step = self.step(situation)
        return self._search(situation).first if step is None else step.action

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        step = self.step(situation)
        if step is not None:
            return step.lower, step.upper
        found = self._search(situation)
        return found.lower, found.upper

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        return dict(self._search(situation).actions)

    def proven(self, situation: Situation) -> str | None:
        """The action that no other can beat in `situation`, where the bounds prove it."""
        return self._search(situation).proven

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load_policy` reads it for the same problem.

        The plan is all that is written: off the plan a policy searches anew, from the problem and the settings.
        """
        steps = [step for found in self.steps.values() for step in found]
        observable = {done: place for place, done in enumerate(dict.fromkeys(step.done for step in steps))}
        names = {name: place for place, name in enumerate(dict.fromkeys(step.action for step in steps))}
        told = self.heading(MANY_FORMAT, digest_of(kinds_of(self.origin, self.origin.belief()))) | {
            "actions": list(names),
            "done": [[sorted(done.run), sorted(done.paid), done.tests, done.spent] for done in observable],
        }
        arrays = {
            "visible": np.array([observable[step.done] for step in steps]),
            "action": np.array([names[step.action] for step in steps]),
            "belief": np.stack([step.belief for step in steps]),
            "bound": np.array([(step.lower, step.upper) for step in steps]),
        }
        self.write(path, told, **arrays)

    def step(self, situation: Situation) -> Step | None:
        if situation.observable is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        assert isinstance(situation.observable, Done)
        trace = trace_of(situation.observable, self.kinds)
        if trace not in self.steps:
            return None
        if trace not in self._beliefs:
            self._beliefs[trace] = np.stack([step.belief for step in self.steps[trace]])
        same = np.flatnonzero(np.abs(self._beliefs[trace] - situation.beliefs[0]).max(axis=1) <= SAME_BELIEF)
        # Results of tests that are repeated can lead back to a belief; the plan is worth least where it ends soonest.
        return max((self.steps[trace][place] for place in same.tolist()), key=lambda step: step.lower, default=None)

    def _search(self, situation: Situation) -> ManySolution:
        key = situation.observable, situation.beliefs[0].tobytes()
        if key not in self._anew:
            self._anew[key] = self.search(situation)
        return self._anew[key]


def trace_of(done: Done, kinds: Mapping[str, int]) -> Trace:
    """What tells situations apart besides the belief, whichever copy of a test was run."""
    return tuple(sorted(kinds[name] for name in done.run if name in kinds)), done.paid, done.tests, done.spent


def by_trace(steps: Iterable[Step], kinds: Mapping[str, int]) -> dict[Trace, list[Step]]:
    """The steps of a plan as a policy looks them up."""
    found: dict[Trace, list[Step]] = {}
    for step in steps:
        found.setdefault(trace_of(step.done, kinds), []).append(step)
    return found

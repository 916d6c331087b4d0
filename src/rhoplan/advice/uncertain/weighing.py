"""Versions of a model weighed on one layout: the best plan of each, and what the plan made for the stated numbers is
worth there.

The numbers of a model enter the worth of a plan once each as long as no test with uncertain results is repeated and
information has no price (see `planning.batch`). Then what a plan is worth on average over independent numbers is what
it is worth at their means, the best plan for the stated numbers is the best there is for whoever does not know more,
and everything is exact that follows one number while the others stay at their means.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

import numpy as np

from rhoplan.advice.case import Evidence, check_fixed
from rhoplan.advice.questions import First, plans_versions, told_first
from rhoplan.advice.uncertain.numbers import Unsure
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError, RhoplanError
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning.batch import BatchLookahead, DecisionTree, ParameterBatch, PolicyActs

SAME = 1e-12
"""Share of what is at stake below which two plans are worth the same."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """What was found for each of K versions.

    best, kept (K,): worth of the version's own best plan, and of the plan made for the stated numbers. paid (K,): as
    kept, without information that has a price. first (K,): place of the version's first action among the names. chance
    (K,): that of what was seen, where that of the stated numbers is 1. Worths are multiplied by it: their sum over that
    of the chances is what is expected once it was seen.
    """

    best: Array
    kept: Array
    paid: Array
    first: Ids
    chance: Array

    @staticmethod
    def joined(parts: Sequence[Weighed]) -> Weighed:
        """Those of all parts, in order."""
        return Weighed(*(np.concatenate([getattr(one, field.name) for one in parts]) for field in fields(Weighed)))

    @property
    def gain(self) -> Array:
        """What (K,) knowing the version is worth: never below 0, and 0 where only last digits differ."""
        gain = self.best - self.kept
        result: Array = np.where(gain > SAME * np.maximum(np.abs(self.best), np.abs(self.kept)), gain, 0.0)
        return result


class Weigher:
    """Weighs versions of `problem` for `agent`, before any test is run or once `given` was seen.

    unavailable: tests that cannot be had from now on. names: of first actions, commits first. worth: of the plan for
    the stated numbers from here on. first: its first action.
    Not covered: problems that are not flat, and agents that do not plan exactly.
    """

    def __init__(
        self, problem: POMDP, agent: BoundAgent, given: Evidence = (), unavailable: Collection[str] = ()
    ) -> None:
        check_fixed(agent)
        _check(problem, agent)
        self.problem, self.agent, self.given = problem, agent, tuple(given)
        problem.belief(given=self.given)
        try:
            if not plans_versions(problem, agent) or not agent.commits_count:
                raise LimitError("it is not planned exactly")
            self.layout = DecisionTree(problem, self.given, agent.horizon, left_out=unavailable)
        except LimitError:
            raise LimitError(
                f"thousands of versions of '{problem.name}' are planned only exactly, and {agent.horizon} tests ahead "
                "that is too much; choose a shorter look-ahead (--horizon)"
            ) from None
        copies, first = self._planned(ParameterBatch.of(problem))
        self.names, self.endings = first.names, first.endings
        self.first = first.names[int(first.choice[0])]
        self.plan = copies.acts()
        self.worth = float(copies.value_of(self.plan, weight=agent.weight_per_nat)[0, 0])
        self.paid = float(copies.value_of(self.plan)[0, 0])

    def is_linear(self, items: Sequence[Unsure]) -> bool:
        """Whether each of `items` enters the worth of a plan once."""
        menu = self.problem.flat
        repeated = {name for test in menu.tests if test.repeatable for name in (test.name, *test.parts)}
        return not self.agent.weight_per_nat and not any(item.test in repeated for item in items)

    def weigh(self, numbers: ParameterBatch) -> Weighed:
        """All versions, as many at a time as fit one graph."""
        parts = []
        for part in self.layout.parts(numbers):
            copies, first = self._planned(part)
            paid = copies.value_of(self.plan)[:, 0]
            weight = self.agent.weight_per_nat
            kept = copies.value_of(self.plan, weight=weight)[:, 0] if weight else paid
            best = np.maximum(first.worth.max(axis=1), kept)
            parts.append(Weighed(best, kept, paid, first.choice, copies.mass))
        return Weighed.joined(parts)

    def plans(self, numbers: ParameterBatch) -> tuple[Array, PolicyActs]:
        """Worth (K,) of the best plan of each of a few versions, and these plans."""
        copies, first = self._planned(numbers)
        return first.worth.max(axis=1), copies.acts()

    def compared(self, plans: PolicyActs, count: int, numbers: ParameterBatch) -> Array:
        """What (K, count) so many plans are worth in each of a few versions."""
        return self._copies(numbers).value_of(plans, policies=count)

    def _copies(self, numbers: ParameterBatch) -> BatchLookahead:
        return BatchLookahead(self.layout, numbers, weight=self.agent.weight_per_nat)

    def _planned(self, numbers: ParameterBatch) -> tuple[BatchLookahead, First]:
        copies = self._copies(numbers)
        return copies, told_first(copies)


def _check(problem: POMDP, agent: BoundAgent) -> None:
    """Refuses what cannot be weighed."""
    if problem.listed is None:
        raise RhoplanError(
            f"uncertain numbers need a model of tests and decisions; '{problem.name}' has several hidden things, moves "
            "or states that change, where one number enters a plan many times"
        )
    if not agent.objective.is_information or agent.discount != 1:
        raise RhoplanError(
            "uncertain numbers need a model planned without discount or a utility of its own; "
            f"'{problem.name}' with agent '{agent.name}' is not"
        )
    if problem.start != Done():
        raise RhoplanError(
            "uncertain numbers need to know how likely all results were; those known at the start have no price or "
            "order here: enter them as results",
            field=("known",),
        )

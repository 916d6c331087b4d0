"""Bounds on the best value of any finite problem, closing until they meet or until time or memory runs out.

The step reward is r(s, a) + w I(S'; O | b, a), w >= 0. `first` gives bounds that hold everywhere, `trials` improve them
where it matters for the start, `prune` forgets. Both bounds hold at every moment, so the work can be stopped at any.
"""

from __future__ import annotations

import numpy as np

from rhoplan.planning import clock
from rhoplan.planning.asked import check_asked
from rhoplan.planning.certified.pointbased.circles import WayOut, lower_circles
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.found import GeneralSolution, Progress
from rhoplan.planning.certified.pointbased.graph import (
    BACKUPS,
    HOME,
    NODES,
    ROOT,
    SLOT,
    START,
    WORK,
)
from rhoplan.planning.certified.pointbased.plan import plan_of
from rhoplan.planning.certified.pointbased.points import BY_ALL, children_of
from rhoplan.planning.certified.pointbased.settle import plan_nodes, settle_above
from rhoplan.planning.certified.pointbased.settling import Settling
from rhoplan.planning.certified.pointbased.standing import Standing
from rhoplan.planning.certified.pointbased.trials import DONE, FULL, run_trials

ROUNDED, NEARER = 4, 0.99
"""Bounds no farther apart than so many times what rounding makes of one backup in all the steps to come, and no nearer
than such a share of the last time, are as near as floats let them be."""

SOON, LATER, REHEARSED, HALTING, FADING, LEAST_FADING = 0.1, 0.5, 0.5, 0.5, 0.01, 1e-7
"""Where there is no discount, or one near 1, the bounds are looked at after so many seconds (SOON where one can go
round for ever) and whenever they have doubled: if they are more than a share as far apart as the last time, the best
plan is rehearsed with another discount, for such a share of the seconds. What that takes of each step at first and at
the least: a tenth whenever the best plan is found; where memory ends, no more."""

LOOKED = 2
"""Circles are looked for again after so many times as long as it took the last time, if there is as much left."""

MOST_FOLLOWED, RISES = 1000, 0.01
"""Beliefs that a rehearsed plan comes to, which are backed up, nearest last; and again where that raised the lower
bound by such a share of the gap."""


def solve_general(
    problem: Compiled,
    *,
    weight: float = 0.0,
    discount: float,
    gap: float = 1e-3,
    seconds: float = 600.0,
    memory: float = 4e9,
    progress: Progress | None = None,
) -> GeneralSolution:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    Stops early, with the bounds it has, after `seconds`, when its arrays would take more than `memory` bytes, or when
    interrupted from the keyboard, or where rounding lets them come no nearer (`precision`). `progress` is told
    lower, upper and number of nodes every few milliseconds.
    Not covered: weights below 0, and with discount 1 problems where one can go on for ever without losing.
    """
    check_asked(weight, discount, gap)
    with clock.hurrying() as hurry:  # with the first bounds as far as they have come
        search = Search(problem, weight=weight, discount=discount, gap=gap, seconds=seconds, memory=memory)
    return search.solution("interrupted" if hurry.pressed else search.run(progress))


class Search(Settling):
    """A search under way: both bounds hold after every call."""

    def __init__(self, problem: Compiled, **asked: float) -> None:
        super().__init__(problem, **asked)
        self.rehearsal: Search | None = None
        self.fading = FADING
        self.goes_round = self.settings.discount == 1 and not self.settles
        self.far, self.next_look, self.looked = np.inf, 0.0, 0.0
        self.next_rehearsal = (SOON if self.goes_round else LATER) if self.is_nearer_one else np.inf
        self.memory /= 1 + REHEARSED * self.is_nearer_one
        self.begun = clock.now() - self.begin

    @property
    def is_nearer_one(self) -> bool:
        """Whether the discount is much nearer 1 than that of the next rehearsal, if there is to be one."""
        return self.fading > 0 and 1 - self.settings.discount <= 0.5 * self.fading

    def run(self, progress: Progress | None = None) -> str:
        """Trials until something stops them; what did."""
        if self.problem.ended[self.problem.start_class]:
            return "gap"
        try:
            while True:
                before = clock.now()
                code = run_trials(self.model, self.graph, self.settings)
                self.worked += int(self.graph.used[WORK])
                pace = (clock.now() - before) / max(int(self.graph.used[WORK]), 1)
                in_time = (before := clock.now()) + self.growth**2 * self.pause <= self.deadline  # each takes longer
                if self.graph.used[BACKUPS] > self.next_prune and in_time:
                    self.forget()
                    self.settle(pace)
                    self.pause, self.worked = clock.now() - before, 0
                    if self.is_rounded_only():
                        return "precision"
                if code != DONE:
                    self.look_for_ends()
                if progress:
                    progress(*self.bounds, int(self.graph.used[NODES]))
                if code == DONE:
                    return "gap" if self.bounds[1] - self.bounds[0] <= self.gap else "precision"
                if self.late:
                    return "time"
                if code == FULL and not self.make_room():
                    return "memory"
        except KeyboardInterrupt:
            return "interrupted"

    def look_for_ends(self) -> None:
        """Where one can go round for ever, or for long: lower circles, and rehearse, from time to time."""
        begin = clock.now()
        if self.goes_round and self.next_look < begin < self.deadline - LOOKED * self.looked:
            for least in (-np.inf, 0.0):  # all steps that gain nothing, then those alone that cost nothing
                for way in lower_circles(self.model, self.graph, self.settings, least):
                    self.walk_out(way)
            self.refresh()
            self.looked = clock.now() - begin
            self.next_look = clock.now() + LOOKED * self.looked
        if clock.now() - self.begin > self.next_rehearsal:
            before, self.far = self.far, self.bounds[1] - self.bounds[0]
            left = self.deadline - clock.now()
            if self.far > HALTING * before and left > self.begun:  # as long as it takes to begin
                self.rehearse()
            self.next_rehearsal = 2 * (clock.now() - self.begin) if self.is_nearer_one else np.inf

    def walk_out(self, way: WayOut) -> None:
        """Trials from where the way out of a circle leads to."""
        node, pair = np.array([way.node]), np.array([way.pair])
        if not self.work_out(node, pair):
            return
        for child in children_of(self.model, self.graph, node, pair)[0]:
            if child >= len(way.inside) or (child >= 0 and not way.inside[child]):
                self.graph.used[START] = child
                run_trials(self.model, self.graph, self.settings._replace(work=1))
        self.graph.used[START] = ROOT
        settle_above(self.model, self.graph, self.settings, node, 1, 1, 0.0)
        self.back_up(node)

    def rehearse(self) -> None:
        """Look for the best plan with a discount farther from 1, and back up the beliefs that it comes to.

        Without one, who goes round for nothing loses nothing: upper bounds are the same all along the way, and trials
        that follow them may never come to an end. A discount draws them there.
        """
        begin = clock.now()
        until = min(begin + REHEARSED * (begin - self.begin), self.deadline)
        if self.rehearsal is None:
            asked = {"weight": self.settings.weight, "discount": 1 - self.fading, "gap": 0.5 * self.gap}
            memory = REHEARSED * self.memory
            self.rehearsal = Search(self.given, seconds=until - begin, memory=memory, **asked)
        self.rehearsal.deadline = until
        stopped_by = self.rehearsal.run()
        if stopped_by == "interrupted":
            raise KeyboardInterrupt
        if self.rehearsal.graph.node[ROOT, SLOT] >= 0:
            self.follow(self.rehearsal, until + REHEARSED * (until - begin))
        if stopped_by != "time":
            least = LEAST_FADING if self.settings.discount == 1 else 0.0
            self.rehearsal, self.fading = None, max(0.1 * self.fading, least) if stopped_by != "memory" else 0.0

    def follow(self, other: Standing, until: float) -> None:
        """Back up the beliefs that the plan of another search for the same problem comes to, from far to near."""
        taken, members = np.empty(int(other.graph.used[NODES]), dtype=np.int64), np.empty(MOST_FOLLOWED, dtype=np.int64)
        count, _ = plan_nodes(other.model, other.graph, other.settings, taken, members)
        nodes = []
        plan = plan_of(other.given, other.graph, other.first, other.settings)
        for node in members[:count][::-1]:
            home = int(other.graph.node[node, HOME])
            if not self.make_room():
                return
            nodes.append(self.node_at(home, plan.beliefs(home, np.array([node]))[0]))
        rises = True
        while rises and clock.now() < min(until, self.deadline):
            lower, upper = self.bounds
            self.back_up(np.array(nodes), BY_ALL)
            self.refresh()
            rises = self.bounds[0] > lower + RISES * (upper - lower)

    def is_rounded_only(self) -> bool:
        """Whether nothing but rounding keeps the bounds apart, and they have not come nearer since the last call."""
        before, self.left = self.left, self.bounds[1] - self.bounds[0]
        rounding = self.settings.outward * self.lasting.max() + self.error
        return self.settles and self.gap < self.left and NEARER * before <= self.left <= ROUNDED * rounding

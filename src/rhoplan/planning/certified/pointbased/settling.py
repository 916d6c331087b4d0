"""A search that forgets what no longer helps and carries what it knows as far as it goes, without a trial."""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.decisions import Rows, best_values, empty_rows, plan_values, weights_of
from rhoplan.planning.certified.pointbased.graph import (
    ALIVE,
    BACKUPS,
    COUNT,
    GAP,
    HOME,
    NODES,
    NUMBERS,
    ROOT,
    SAME,
    SLOT,
    VECTOR_AT,
    VECTOR_HOME,
    VECTOR_PAIR,
    VECTORS,
    WORK,
)
from rhoplan.planning.certified.pointbased.points import (
    BY_ALL,
    BY_BEST,
    FROM_ABOVE,
    average,
    back_up_all,
    children_of,
    farther,
    list_points,
    lower_points,
    mix_anew,
    rows_of,
    weightiest,
    work_out,
)
from rhoplan.planning.certified.pointbased.prune import line_up, prune
from rhoplan.planning.certified.pointbased.settle import (
    equations,
    pay_plan,
    plan_by_nodes,
    plan_by_vectors,
    plan_nodes,
    settle_above,
    settle_below,
)
from rhoplan.planning.certified.pointbased.standing import FIRST_PRUNE, Standing

SETTLED, SETTLING = 1e-3, 10
"""Sweeps go on until one changes the bounds by this share of the gap, in the end; or for so many times the work allowed
between two looks at the clock."""

MOST_AT_ONCE = 4000
"""Points, or numbers of a plan, that are worked out at once, as one linear system."""

MOST_PLANNED = 200
"""Nodes of the plan behind the lower bound that are valued together: circles of beliefs near the start are short."""

MOST_MIXTURES, MIXED = 10, 0.3
"""How often the mixtures of children are worked out anew, at most, while points are settled at once; and not again
where that took such a share of the work of the trials before it, unless trials find no more beliefs."""

LEAST_GROWN, FEW, CLOSING, STILL = 20, 0.05, 0.5, 0.9
"""Where no more than such a share of the beliefs that trials met is new, others are looked for and backed up: as many
as half the points, and so many more. And where the bounds are no more than such a share as far apart as the last time,
as many (half of the others) where they matter most: random problems of 3 to 5 states took 0.6 to 0.9 of the time. Where
they are more than a share of it and there are no others, all beliefs that were opened are backed up, by all actions:
trials that go round in circles may leave some out for ever."""

MORE_VECTORS = 2
"""Where there are so many times the vectors of the last time, most are of no use: those are dropped before the plan is
settled that they are."""

MOST_CHILDREN = 200
"""What follows from known states in one step is opened at once if it is no more than so many beliefs: all that one can
come to later is a mixture of it, in dense problems far inside the corners."""


class Settling(Standing):
    """Both bounds hold after every call."""

    def forget(self) -> None:
        """Drop vectors and points that no longer help."""
        useful = np.empty(2 * int(self.graph.used[NODES]), dtype=np.int64)
        slack = 0.1 * self.settings.coarse * (self.bounds[1] - self.bounds[0])
        self.vectors = prune(self.model, self.graph, self.kept, useful, slack, self.settings)
        line_up(self.graph)
        self.next_prune = self.graph.used[BACKUPS] * self.growth + FIRST_PRUNE
        self.refresh()

    def settle(self, pace: float = 0.0) -> None:
        """Carry what the vectors and points say as far as it goes. pace: seconds per number touched."""
        settings, lower, upper = self.settings, *self.bounds
        change = SETTLED * (upper - lower) * max(1 / self.lasting.max(), 1e-4)
        nodes = np.arange(int(self.graph.used[NODES]))
        row = self.graph.node[nodes]
        points, work = nodes[row[:, SLOT] >= 0], SETTLING * settings.work
        if self.small:
            new = len(nodes) - self.nodes
            self.met += new
            stuck, closing = new <= FEW * self.met, upper - lower <= CLOSING * self.apart
            if stuck and upper - lower > STILL * self.apart:
                self.back_up(nodes[row[:, SLOT] >= 0], BY_ALL)
            if self.settles:
                self.value_points(change, stuck=stuck, closing=closing)
                work = 1  # one sweep, for beliefs that have no point: the points are settled
            self.nodes, self.apart = int(self.graph.used[NODES]), upper - lower
        settle_above(self.model, self.graph, settings, points, len(points), work, change)
        if self.settles:
            self.settle_plan(change, pace)
        self.refresh()
        self.recentre()

    def value_points(self, change: float, *, stuck: bool, closing: bool = False) -> None:
        """Lower the points to what they are worth as a Markov decision problem, until mixtures no longer change.

        stuck: whether trials find no more beliefs (they go in circles); then others are looked for here. closing:
        whether the bounds come nearer fast; then points are added where mixtures leave most open.
        """
        self.open_corners()
        self.spread_corners()
        settings, slack = self.settings, 0.1 * self.settings.coarse * (self.bounds[1] - self.bounds[0])
        work = 0
        for turn in range(MOST_MIXTURES):
            members = np.empty(int(self.graph.used[NODES]), dtype=np.int64)
            members = members[: list_points(self.graph, members)]
            if not 0 < len(members) <= MOST_AT_ONCE or not self.make_room():
                return
            self.graph.used[WORK] = 0
            for some in self.in_time(members):
                mix_anew(self.model, self.graph, settings, some, slack)
            work += int(self.graph.used[WORK])
            values, rows, pairs = rows_of(self.model, self.graph, settings, members)
            lasting = np.empty(len(members))
            average(self.model, self.graph, members, self.lasting, lasting)
            values, best = best_values(
                values,
                rows,
                lasting,
                rounding=2 * settings.rounding,
                more=SAME * settings.span,
                exact=0.1 * change,
                deadline=self.deadline,
            )
            fall = lower_points(self.model, self.graph, settings, members, values)
            taken = pairs[best]
            new = np.flatnonzero(taken < 0)
            self.work_out(members[new], -1 - taken[new])
            if stuck:
                grown = self.grow(len(members))
            else:
                grown = self.refine(members, taken, rows, best) if closing and turn == 0 else 0
            self.refresh()
            lower, upper = self.bounds
            if (fall <= change and not len(new) and not grown) or upper - lower <= self.gap or self.late:
                return
            if not stuck and not grown and work > MIXED * self.worked:
                return

    def open_corners(self) -> None:
        """Back up the known states, each once, while there is room and time."""
        homes = np.repeat(np.arange(self.problem.classes), self.problem.sizes)
        corners = []
        while self.corners < self.problem.slots and self.make_room() and not self.late:
            home = int(homes[self.corners])
            if not self.problem.ended[home]:
                belief = np.zeros(int(self.problem.sizes[home]))
                belief[self.corners - self.model.class_state[home]] = 1.0
                corners.append(self.node_at(home, belief))
            self.corners += 1
        self.back_up(np.array(corners, dtype=np.int64), FROM_ABOVE)

    def spread_corners(self) -> None:
        """Back up what follows from the known states in one step, whatever is done, if there is not too much of it."""
        row = self.graph.node[: self.graph.used[NODES]]
        corners = np.flatnonzero((row[:, SLOT] >= 0) & (row[:, COUNT] == 1))
        if self.spread >= len(corners) or len(corners) * self.settings.most_children > MOST_CHILDREN:
            return
        many = np.diff(self.model.class_pair)[homes := row[corners[self.spread :], HOME]]
        nodes = np.repeat(corners[self.spread :], many)
        pairs = np.concatenate([np.arange(*self.model.class_pair[home : home + 2]) for home in homes])
        self.spread = len(corners)
        if self.work_out(nodes, pairs):
            children = np.unique(children_of(self.model, self.graph, nodes, pairs))
            self.back_up(children[(children >= 0) & (self.graph.node[children, SLOT] < 0)], FROM_ABOVE)

    def work_out(self, nodes: Ids, pairs: Ids) -> bool:
        """Work the pairs out at the nodes beside them; whether there was room."""
        done = 0
        while self.make_room():
            done = work_out(self.model, self.graph, self.settings, nodes, pairs, done)
            if done == len(nodes):
                return True
        return False

    def grow(self, points: int) -> int:
        """Back up beliefs without a point that matter most for the start; how many. Where all have been lately, they
        may be again the next time."""
        found = farther(self.model, self.graph, self.settings, points // 2 + LEAST_GROWN)
        self.back_up(found)
        if not len(found):
            self.graph.bound[ROOT + 1 : self.graph.used[NODES], GAP] = np.inf
        return len(found)

    def refine(self, members: Ids, taken: Ids, rows: Rows, best: Ids) -> int:
        """Back up beliefs that mixtures stand for and that matter most for the start, if it has a point; how many.

        taken: the pair of each member. rows, best: what members are worth, and the row that is best for each.
        """
        start = np.flatnonzero(members == ROOT)
        if not len(start):
            return 0
        weights = weights_of(rows, best, int(start[0]))
        most = len(members) // 2 + LEAST_GROWN // 2
        found = weightiest(self.model, self.graph, self.settings, members, taken, weights, most)
        self.back_up(found)
        return len(found)

    def back_up(self, nodes: Ids, how: int = BY_BEST) -> None:
        """Back up the bounds at these nodes, while there is room and time; as `back_up_all` does."""
        for some in self.in_time(nodes):
            done = 0
            while done < len(some):
                if not self.make_room():
                    return
                done = back_up_all(self.model, self.graph, self.settings, some, done, how)

    def settle_plan(self, change: float, pace: float) -> None:
        """The lower bound's part of `settle`; left out where not even one sweep would be done in time, or where most
        vectors are of no use and dropping them might take longer than there is time."""
        alive = np.count_nonzero(self.graph.vector[self.kept : self.graph.used[VECTORS], ALIVE])
        if alive > MORE_VECTORS * max(self.vectors, LEAST_GROWN):
            if clock.now() + self.pause > self.deadline:
                return
            self.forget()
        vectors, nodes = int(self.graph.used[VECTORS]), int(self.graph.used[NODES])
        row = self.graph.vector[self.kept : vectors]
        homes = row[row[:, ALIVE] == 1, VECTOR_HOME]
        if self.has_room_for(homes, pace):
            members, copies = np.empty(len(homes), dtype=np.int64), np.empty(vectors, dtype=np.int64)
            plan_by_vectors(self.model, self.graph, self.kept, self.settings, copies, members)
            self.value_plan(vectors, change)
        taken, copies, members = (np.empty(size, dtype=np.int64) for size in (nodes, nodes, MOST_PLANNED))
        count, again = plan_nodes(self.model, self.graph, self.settings, taken, members)
        vectors = int(self.graph.used[VECTORS])
        if again and self.has_room_for(self.graph.node[members[:count][taken[members[:count]] >= 0], HOME], pace):
            plan_by_nodes(self.model, self.graph, self.settings, taken, copies, members, count)
            self.value_plan(vectors, change)

    def value_plan(self, first: int, change: float) -> None:
        """Let the vectors from `first` on, which are a plan, count for what it is worth."""
        model, settings, begin = self.model, self.settings, int(self.graph.vector[first, VECTOR_AT])
        count, vectors = int(self.graph.used[NUMBERS]) - begin, int(self.graph.used[VECTORS]) - first
        paid = np.empty(count)
        pay_plan(model, self.graph, first, settings, paid)
        paid += settings.outward  # what a last sweep loses is taken off once, in the end
        if count <= MOST_AT_ONCE:
            branches = model.pair_branch[self.graph.vector[first : first + vectors, VECTOR_PAIR][:, None] + [0, 1]]
            ends = model.row[model.branch_row[branches] - [0, 1]]
            rows = empty_rows(np.arange(count + 1), int(np.diff(ends).sum()))
            rows.known[:], rows.most[:] = paid, np.inf
            equations(model, self.graph, first, settings, rows)
            self.graph.alpha[begin : begin + count] = plan_values(self.graph.alpha[begin : begin + count], rows, change)
        settle_below(model, self.graph, first, settings, paid, self.lasting, SETTLING * settings.work, change)

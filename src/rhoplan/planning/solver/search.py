"""A search under way: trials, and between them pruning, the value of the controller and that of the points.

Both bounds hold after every call, so the work can be stopped at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver import controller, points
from rhoplan.planning.solver.blocks import LANES
from rhoplan.planning.solver.hsvi import DONE, FULL, refresh, run_trials, start_at
from rhoplan.planning.solver.lower import link_all
from rhoplan.planning.solver.prune import prune
from rhoplan.planning.solver.settings import Parameters
from rhoplan.planning.solver.tabular import Tabular
from rhoplan.planning.solver.tree import ROOT, SAME, grown, make_tree, rehash

AT_ONCE = 200
"""Nodes that are backed up between two looks at the time."""


class Prepared(NamedTuple):
    """A problem and bounds to begin with.

    class_, belief: where the episode begins. action_bound (as Tabular.reward): upper bound on W of each action, linear
    in the belief. vertex (N,): upper bound on W at each state. policies: lower bounds (N,), each the value of a policy
    on classes, and the action that it takes in each class. steps (N,): a number above that of the steps to come.
    """

    tabular: Tabular
    class_: int
    belief: Array
    action_bound: Array
    vertex: Array
    policies: Sequence[tuple[Array, Ids]]
    steps: Array


class Search:
    """Search from the start of `problem`.

    parameters: see `Parameters`. memory: of all arrays, in bytes.
    """

    def __init__(self, problem: Prepared, parameters: Parameters, *, memory: float = 4e9) -> None:
        self.problem, self.tabular, self.parameters = problem, problem.tabular, parameters
        self.settings, self.memory = parameters.settings, memory
        self.sizes = np.diff(self.tabular.classes["first_state"])
        labels = int(self.tabular.label.max(initial=0)) + 1
        self.tree = make_tree(self.sizes, labels, problem.vertex, problem.action_bound, parameters.settings.hull_states)
        self.initial_vectors = self._add_policies()
        self.all_classes_small = bool(self.sizes.max() <= parameters.settings.hull_states)
        self.next_refinement: float = self.settings.first_refinement
        self.time_of_trials = self.time_of_refinement = 0.0
        self._vertices_known, self._nodes_seen, self._gap_before = False, 0, np.inf
        self._end = np.inf
        if not self.make_room():
            raise LimitError("the search needs more memory than is allowed", field=("memory",), code="memory-limit")
        belief = np.zeros(int(self.sizes.max()))
        belief[: len(problem.belief)] = problem.belief
        start_at(self.tabular, self.tree, problem.class_, belief, parameters)
        refresh(self.tabular, self.tree, ROOT, parameters)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the value of the start."""
        first, end = self.tabular.classes["first_action"][self.problem.class_ : self.problem.class_ + 2]
        if first == end:  # the episode is over
            return 0.0, 0.0
        root, rounding = self.tree.nodes[ROOT], self.parameters.outward
        return float(root["lower"]) - rounding, float(root["upper"]) + rounding

    @property
    def gap(self) -> float:
        lower, upper = self.bounds
        return upper - lower

    def run(self, seconds: float) -> str:
        """Search until the gap is reached, time is up, or memory is full; which of these: gap, time or memory."""
        self._end = time.monotonic() + seconds
        while self.gap > self.parameters.gap:
            begin = time.monotonic()
            ended = run_trials(self.tabular, self.tree, self.parameters)
            self.time_of_trials += time.monotonic() - begin
            is_due = self.tree.counts[0]["backups"] > self.next_refinement
            if is_due and time.monotonic() + self.time_of_refinement < self._end:
                self.refine()
            if self._is_late():
                return "time"
            if ended == FULL and not self.make_room():
                return "memory"
            if ended == DONE:
                break
        return "gap"

    def refine(self) -> None:
        """Prune, evaluate the controller and, where all classes are small, solve the points."""
        begin, settings = time.monotonic(), self.settings
        slack = 0.1 * self.parameters.settings.point_share * self.gap
        starts = np.flatnonzero(self.tree.nodes["is_start"][: int(self.tree.counts[0]["nodes"])])
        starts = np.append(ROOT, starts)
        self.tree = prune(self.tabular, self.tree, self.parameters, starts, self.initial_vectors, slack)
        change = settings.settled * self.gap * max(1 / float(self.problem.steps.max()), 1e-4)
        self.evaluate_controller(change)
        if self.all_classes_small:
            self.solve_points(change)
        refresh(self.tabular, self.tree, ROOT, self.parameters)
        self.next_refinement = settings.growth * float(self.tree.counts[0]["backups"]) + settings.first_refinement
        self.time_of_refinement = time.monotonic() - begin
        self.time_of_trials = 0.0

    def evaluate_controller(self, change: float) -> None:
        """Add the vectors once more, at the value of the policy that they are."""
        count = int(self.tree.counts[0]["vectors"])
        classes = self.tree.vectors["class_"][self.initial_vectors : count]
        classes = classes[self.tree.vectors["is_alive"][self.initial_vectors : count] == 1]
        room = {"vectors": len(classes), "followers": len(classes) * self.parameters.most_children}
        if self.make_room(room | self._room_of(np.bincount(classes, minlength=len(self.sizes)))):
            controller.evaluate_controller(
                self.tabular, self.tree, self.parameters, self.initial_vectors, self.problem.steps, 1e-3 * change
            )

    def solve_points(self, change: float) -> None:
        """Lower the points to their value as a Markov decision problem, until their mixtures no longer change.

        Where trials find few new beliefs, or the gap closes fast, beliefs are added that matter most for the start.
        """
        tabular, parameters, settings = self.tabular, self.parameters, self.settings
        self._know_vertices()
        nodes = int(self.tree.counts[0]["nodes"])
        finds_few = nodes - self._nodes_seen <= settings.found * nodes
        looks = finds_few or self.gap <= 0.5 * self._gap_before
        begin, patience = time.monotonic(), max(settings.share_of_points * self.time_of_trials, 5e-3)
        for _ in range(settings.turns):
            members = points.members_of(self.tree)
            every = self.tree.nodes[: int(self.tree.counts[0]["nodes"])]
            room = {"hulls": int(every["size"][every["hull"] < 0].sum())}
            if not 0 < len(members) <= settings.most_points or not self.make_room(room):
                break
            slack = settings.slack * parameters.settings.point_share * self.gap
            points.mix_children(tabular, self.tree, parameters, members, slack)
            rows, first = points.rows_of(tabular, self.tree, parameters, members)
            before = points.values_of(tabular, self.tree, members)
            values, best = points.best_values(
                before,
                rows,
                first,
                points.steps_at(tabular, self.tree, members, self.problem.steps),
                rounding=2 * parameters.rounding,
                more=SAME * parameters.span,
                tolerance=0.01 * change,
            )
            points.lower_points(tabular, self.tree, parameters.convexity, members, values)
            unknown = rows.action[best] < 0
            actions = np.where(unknown, -1 - rows.action[best], rows.action[best])
            self._repeat(points.expand_all, members[unknown], actions[unknown])
            start = np.flatnonzero(members == ROOT)
            added = np.empty(0, dtype=np.int64)
            if looks and len(start):
                visits = points.visits(rows, best, int(start[0]))
                matter = points.open_children(tabular, self.tree, parameters, members, actions, visits)
                added = np.argsort(-matter)[: len(members) // 2 + 20]
                added = added[matter[added] > 0]
                self._repeat(points.back_up_all, added, self.gap, True)
            refresh(tabular, self.tree, ROOT, parameters)
            is_settled = float((before - values).max()) <= change and not unknown.any() and not len(added)
            if is_settled or self.gap <= parameters.gap or time.monotonic() > min(begin + patience, self._end):
                break
        self._nodes_seen, self._gap_before = int(self.tree.counts[0]["nodes"]), self.gap

    def make_room(self, more: dict[str, int] | None = None) -> bool:
        """Enlarge the arrays that have no room for one more backup, and for `more`; whether memory allows it."""
        rows, numbers = self.parameters.most_children + 2, self.parameters.most_numbers
        needs = dict.fromkeys(("nodes", "actions", "children", "vectors", "followers"), rows)
        needs |= {"beliefs": numbers, "hulls": numbers, "alpha_blocks": 2, "points_blocks": 2}
        needs |= dict.fromkeys(("alpha", "points"), LANES * int(self.sizes.max()))
        for name, count in (more or {}).items():
            needs[name] += count
        tree = grown(self.tree, needs, self.memory)
        if tree is None:
            return False
        if tree.counts[0]["nodes"] > len(tree.table):
            tree = tree._replace(table=np.full(8 * len(tree.table), -1))
            rehash(self.tabular, tree)
        self.tree = tree
        return True

    def _add_policies(self) -> int:
        """Make a vector per class of each first policy; how many there are. The first one of a class may be followed
        from every belief."""
        classes, policies = len(self.sizes), self.problem.policies
        count = classes * len(policies)
        room = self._room_of(np.full(classes, len(policies)))
        tree = grown(self.tree, {"vectors": count} | room, np.inf)
        assert tree is not None
        made = tree.vectors[:count]
        made["class_"], made["first_follower"], made["is_alive"] = np.tile(np.arange(classes), len(policies)), -1, 1
        made["action"], made["origin"] = np.concatenate([actions for _, actions in policies]), -1
        numbers_of = np.concatenate([values for values, _ in policies])
        states, first = int(self.sizes.sum()), self.tabular.classes["first_state"][:-1]
        offset = (states * np.arange(len(policies))[:, None] + first).ravel()
        link_all(self.tabular, tree, np.arange(count), offset, numbers_of)
        tree.counts["vectors"] = count
        self.tree = tree
        return count

    def _know_vertices(self) -> None:
        """Back up every known state once."""
        if not self._vertices_known:
            self._vertices_known = True
            nodes = np.full(len(self.tree.vertex), -1)
            state = 0
            while state < len(nodes) and self.make_room():
                state = points.add_vertices(self.tabular, self.tree, self.parameters, state, nodes)
            self._repeat(points.back_up_all, nodes[nodes >= 0], self.gap, False)

    def _repeat(self, work: Callable[..., int], nodes: Ids, *arguments: object) -> None:
        """Call `work` with some of `nodes` after others, while there is room and time."""
        done = 0
        while done < len(nodes) and not self._is_late() and self.make_room():
            some = nodes[: done + AT_ONCE]
            done = work(self.tabular, self.tree, self.parameters, some, *arguments, done)

    def _room_of(self, vectors: Ids) -> dict[str, int]:
        """The room that so many vectors of each class take at most, as `grown` wants to know it."""
        blocks = np.where(vectors > 0, vectors // LANES + 1, 0)
        return {"alpha_blocks": int(blocks.sum()), "alpha": LANES * int((blocks * self.sizes).sum())}

    def _is_late(self) -> bool:
        return time.monotonic() > self._end

"""The optimal plan with no horizon limit, between a lower and an upper bound that are both certified.

At each node each test is in one of three stages, and every stage is worth at least as much as the next:

    BOUND     the test is worth its reward plus perfect information for nothing
    REVEAL    for the price of one run, the test tells which likelihood row the true state has: all that repeating it
              for ever could tell, so by Blackwell's order at least as good as one run
    TRUE      the test itself

Upper bound: value iteration from above on this mixture. Lower bound: value iteration from below where only TRUE tests
may be used, that is, the exact value of a plan one can follow. Every iterate of either is a bound, so the answer is
certified whenever the work is stopped. A cut-off says where tests are TRUE: where it is still doubtful which row the
state has, and where a plan can still get to with some probability. The cut-off moves out, and the graph grows, only
along tests that the bounds have not ruled out, until the bounds meet.

The information term keeps the argument intact: with w >= 0 the objective is a reward that is convex in the belief
(with discount 1 it telescopes to the payoff "best commit - w * entropy" on stopping), so more information never hurts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan.errors import AgentError, LimitError, ProblemError
from rhoplan.planning.graph import Graph
from rhoplan.planning.merging import grown
from rhoplan.planning.symmetry import state_symmetries
from rhoplan.planning.ties import choose, tolerance
from rhoplan.problem import Action, Array, Ids, Problem, Visible

BOUND, REVEAL, TRUE = 0, 1, 2

FIRST_DOUBT, FIRST_REACH = 0.2, 0.02
"""Where the first cut-off lies: tests are TRUE at nodes that some plan reaches with this probability, as long as the
most probable likelihood row leaves this much doubt."""

DOUBT_STEP, REACH_STEP = 2.0, 3.0
"""By how much the cut-off moves out each round. On Tileworld one more item of net evidence divides doubt by four."""


@dataclass(frozen=True)
class RevealingMenu:
    """The menu of `problem` with, after the tests, one revelation per test in the same order, at the same price."""

    problem: Problem

    def __call__(self, visible: Visible) -> tuple[Action, ...]:
        actions = self.problem.menu(visible)
        tests = [action for action in actions if not action.ends_episode]
        commits = [action for action in actions if action.ends_episode]
        return (*tests, *(reveal(test) for test in tests), *commits)


def reveal(test: Action) -> Action:
    """An action that tells which distinct likelihood row of `test` the hidden state has."""
    rows, kinds = np.unique(test.likelihood, axis=0, return_inverse=True)
    likelihood = (kinds.reshape(-1, 1) == np.arange(len(rows))).astype(float)
    names = tuple(f"row-{row}" for row in range(len(rows)))
    return Action(f"reveal {test.name}", test.reward, likelihood, names, (test.leads_to[0],) * len(rows))


@dataclass(frozen=True)
class Solution:
    """Certified bounds on the optimal value, and the exact score of the plan that reaches the lower one.

    lower, upper: bounds on the best expected reward + weight * information. stopped_by: `gap` where they are within
    the gap asked for, else what ran out. reward, tests, success: of the plan behind `lower`. first: its first action.
    """

    lower: float
    upper: float
    gap: float
    stopped_by: str
    reward: float
    tests: float
    success: float
    truncated: float
    first: str
    nodes: int
    symmetries: int
    rounds: int
    seconds: float

    @property
    def converged(self) -> bool:
        return self.upper - self.lower <= self.gap


def solve(
    problem: Problem,
    *,
    weight: float = 0.0,
    discount: float = 1.0,
    gap: float = 1e-3,
    seconds: float = 600.0,
    memory: float = 4e9,
    progress: Callable[[float, float, int], None] | None = None,
) -> Solution:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    Stops early, with the bounds it has, after `seconds` or when the graph would take more than `memory` bytes.
    `progress` is told lower, upper and number of nodes after each round.
    Not covered: problems with several hidden factors. With a discount below 1 and only losses to commit to, putting off
    the loss for ever can be optimal; no cut-off reaches that, and the bounds then stay apart.
    """
    if not problem.is_flat:
        raise ProblemError(f"'{problem.name}' is not an observe-then-commit problem: it cannot be solved without limit")
    if not weight >= 0 or not np.isfinite(weight):
        raise AgentError(f"weight must be a number of at least 0; it is {weight:g}")
    if not gap > 0:
        raise AgentError(f"gap must be above 0; it is {gap:g}")
    begin = time.monotonic()
    bounds = Bounds(problem, weight=weight, discount=discount, memory=memory)
    doubt, reach, rounds, stopped_by = FIRST_DOUBT, FIRST_REACH, 0, "gap"
    while not bounds.within(gap):
        rounds += 1
        try:
            moved = bounds.grow(doubt, reach, negligible=gap * 1e-3, deadline=begin + seconds)
            settled = bounds.settle(gap, deadline=begin + seconds)
        except (LimitError, MemoryError):
            bounds.settle(gap, deadline=begin + seconds)
            stopped_by = "memory"
            break
        except TimeoutError:
            stopped_by = "time"
            break
        if progress:
            progress(*bounds.at_root, bounds.size)
        if not moved and settled and doubt < 1e-12:
            stopped_by = "rounding"
            break
        doubt, reach = doubt / DOUBT_STEP, reach / REACH_STEP
    lower, upper = bounds.at_root
    reward, tests, success, truncated, first = bounds.score_plan(problem.cap)
    return Solution(
        lower,
        upper,
        gap,
        "gap" if bounds.within(gap) else stopped_by,
        reward,
        tests,
        success,
        truncated,
        first,
        bounds.size,
        len(bounds.symmetries),
        rounds,
        time.monotonic() - begin,
    )


class Bounds:
    """Upper and lower values on a growing graph; see the module's text. N nodes, M tests, W outcomes.

    stage, doubt (N, M): stage of each test, and how probable it is that the state does not have the likeliest row.
    reward (N, M), chance and next (N, M, W): the arc that stands for the test in its stage; chance holds the discount.
    """

    def __init__(self, problem: Problem, *, weight: float, discount: float, memory: float) -> None:
        self.problem, self.weight, self.discount = problem, weight, discount
        self.symmetries = state_symmetries(problem)
        relaxed = Problem(problem.name, problem.factors, problem.start, RevealingMenu(problem), unit=problem.unit)
        group = self.symmetries if len(self.symmetries) > 1 else None
        self.tests = len(problem.flat.tests)
        self.graph = Graph(relaxed, permutations=group)
        self.size = 0
        width = self.graph.next.shape[2]
        # Beliefs, two arcs a test in the graph and one here, at 12 bytes an outcome; doubling capacity copies it all.
        bytes_per_node = 8 * len(problem.states) + self.tests * (36 * width + 60) + 80
        self.graph.node_limit = max(1000, int(memory / (2.5 * bytes_per_node)))
        self.stage: NDArray[np.int8] = np.empty((0, self.tests), dtype=np.int8)
        self.doubt: Array = np.empty((0, self.tests))
        self.next: NDArray[np.int32] = np.empty((0, self.tests, width), dtype=np.int32)
        self.chance: Array = np.empty((0, self.tests, width))
        self.reward: Array = np.empty((0, self.tests))
        self.upper: Array = np.empty(0)
        self.lower: Array = np.empty(0)
        self._admit()

    @property
    def at_root(self) -> tuple[float, float]:
        """Lower and upper bound on the value of the problem."""
        return float(self.lower[self.graph.root]), float(self.upper[self.graph.root])

    def within(self, gap: float) -> bool:
        lower, upper = self.at_root
        return upper - lower <= gap

    def settle(self, gap: float, *, deadline: float, sweeps: int = 5000) -> bool:
        """Back both bounds up until a sweep changes them by little; whether it came to that."""
        open_nodes = np.flatnonzero(self.upper[: self.size] - self.lower[: self.size] > gap * 1e-3)
        for _ in range(sweeps):
            if not open_nodes.size or self.sweep(open_nodes) < gap * 1e-2:
                return True
            if time.monotonic() > deadline:
                raise TimeoutError
        return False

    def sweep(self, nodes: Ids) -> float:
        """One backup of both bounds at `nodes`; the largest change of either."""
        reward, chance, arcs = self.reward[nodes], self.chance[nodes], self.next[nodes]
        stop = self.graph.stop_reward[nodes]
        above = (reward + (chance * self.upper[arcs]).sum(axis=-1)).max(axis=1, initial=-np.inf)
        below = np.where(self.stage[nodes] == TRUE, reward + (chance * self.lower[arcs]).sum(axis=-1), -np.inf)
        upper = np.minimum(self.upper[nodes], np.maximum(stop, above))
        lower = np.maximum(self.lower[nodes], below.max(axis=1, initial=-np.inf))
        change = max(float((self.upper[nodes] - upper).max()), float((lower - self.lower[nodes]).max()))
        self.upper[nodes], self.lower[nodes] = upper, lower
        return change

    def grow(self, doubt: float, reach: float, *, negligible: float, deadline: float) -> bool:
        """Move the cut-off out to `doubt` and `reach` along tests not ruled out; whether any test changed stage.

        The reach of a node is the largest probability of one path to it along such tests: a guide, not a bound.
        """
        alive = self._worth(np.arange(self.size), self.upper) > self.lower[: self.size, None] + negligible
        likely = np.zeros(self.size)
        likely[self.graph.root] = 1.0
        frontier, moved = np.array([self.graph.root]), False
        while frontier.size:
            if time.monotonic() > deadline:
                raise TimeoutError
            alive = np.concatenate([alive, np.isfinite(self.reward[len(alive) : self.size])])
            rows, slots = np.nonzero(alive[frontier])
            nodes = frontier[rows]
            doubts = self.doubt[nodes, slots]
            inside = (doubts > doubt) & (likely[nodes] > reach)
            wanted = np.where(inside | (doubts <= 0), TRUE, REVEAL)
            behind = self.stage[nodes, slots] < wanted
            if behind.any():
                moved = True
                self._advance(nodes[behind], slots[behind], wanted[behind])
            likely = np.concatenate([likely, np.zeros(self.size - len(likely))])
            flow = likely[nodes][:, None] * self.chance[nodes, slots]
            targets, place = np.unique(self.next[nodes, slots], return_inverse=True)
            best = np.zeros(len(targets))
            np.maximum.at(best, place.ravel(), flow.ravel())
            better = (best > likely[targets] * (1 + 1e-6)) & (best > 0.1 * reach)
            frontier = targets[better].astype(np.int64)
            likely[frontier] = best[better]
        return moved

    def score_plan(self, cap: int) -> tuple[float, float, float, float, str]:
        """Reward, tests, success and truncated share of the plan behind the lower bound, and its first action."""
        graph = self.graph
        commits = np.stack([commit.reward for commit in self.problem.flat.commits])
        best = (commits >= commits.max(axis=0) - tolerance(self.problem.reward_scale)).astype(float)
        choice = self._plan(np.arange(self.size))
        nodes: Ids = np.array([graph.root])
        mass: Array = np.ones(1)
        reward = tests = success = 0.0
        for step in range(cap):
            stops = choice[nodes] < 0
            ended, going, slots = nodes[stops], nodes[~stops], choice[nodes[~stops]]
            reward += float(mass[stops] @ graph.stop_reward[ended])
            success += float(mass[stops] @ (graph.beliefs(ended) * best[graph.stop_action[ended]]).sum(axis=1))
            tests += step * float(mass[stops].sum())
            if not going.size:
                nodes, mass = going, mass[~stops]
                break
            reward += float(mass[~stops] @ graph.reward[going, slots])
            flow = mass[~stops][:, None] * self.chance[going, slots] / self.discount
            targets = self.next[going, slots].ravel()
            total = np.bincount(targets, weights=flow.ravel(), minlength=self.size).astype(float)
            nodes = np.flatnonzero(total > 1e-18)
            mass = total[nodes]
        tests += cap * float(mass.sum())
        menu = graph.menus[graph.visible[graph.root]]
        slot = int(choice[graph.root])
        first = menu.going[slot] if slot >= 0 else menu.ending[int(graph.stop_action[graph.root])]
        return reward, tests, success, float(mass.sum()), first.name

    def _plan(self, nodes: Ids) -> Ids:
        """The TRUE test (n,) that the plan behind the lower bound takes at `nodes`, -1 to commit."""
        worth = np.where(self.stage[nodes] == TRUE, self._worth(nodes, self.lower), -np.inf)
        stop = self.graph.stop_reward[nodes][:, None]
        return choose(np.concatenate([stop, worth], axis=1), tolerance(self.problem.reward_scale)) - 1

    def _worth(self, nodes: Ids, values: Array) -> Array:
        """Value (n, M) of each test in its stage at `nodes`, given `values` of what follows."""
        worth: Array = self.reward[nodes] + (self.chance[nodes] * values[self.next[nodes]]).sum(axis=-1)
        return worth

    def _advance(self, nodes: Ids, slots: Ids, wanted: Ids) -> None:
        """Bring each pair of node and test to the stage wanted, growing the graph as needed."""
        graph = self.graph
        arc = np.where(wanted == TRUE, slots, slots + graph.going[graph.visible[nodes]] // 2)
        for slot in np.unique(arc):
            rows = nodes[arc == slot]
            graph.expand(
                rows, np.broadcast_to(np.arange(graph.known.shape[1]) == slot, (len(rows), graph.known.shape[1]))
            )
        self._admit()
        targets = graph.next[nodes, arc]
        self.stage[nodes, slots] = wanted
        self.next[nodes, slots] = np.maximum(targets, 0)
        self.chance[nodes, slots] = self.discount * np.where(targets >= 0, graph.probability[nodes, arc], 0.0)
        self.reward[nodes, slots] = graph.reward[nodes, arc] + self.weight * graph.information[nodes, arc]

    def _admit(self) -> None:
        """Give every new node its first bounds: commit at once below, perfect information for nothing above."""
        graph, new = self.graph, np.arange(self.size, self.graph.size)
        self.size = graph.size
        fills = {"stage": BOUND, "doubt": 0.0, "next": 0, "chance": 0.0, "reward": -np.inf, "upper": 0.0, "lower": 0.0}
        for name, fill in fills.items():
            setattr(self, name, grown(getattr(self, name), self.size, fill))
        self.lower[new] = graph.stop_reward[new]
        for visible, positions in graph.by_visible(new):
            nodes = new[positions]
            beliefs = graph.beliefs(nodes)
            perfect = self._perfect(nodes, beliefs)
            going = graph.menus[visible].going
            for slot, revelation in enumerate(going[len(going) // 2 :]):
                rows = beliefs @ revelation.likelihood
                telling = (rows > 0).sum(axis=1) > 1
                self.doubt[nodes, slot] = np.where(telling, np.maximum(1 - rows.max(axis=1), 1e-300), 0.0)
                worth = revelation.reward[0] + perfect
                # With discount 1 a test that can tell nothing more is never worth its price; below 1 it buys delay.
                self.reward[nodes, slot] = np.where(telling | (self.discount < 1), worth, -np.inf)
            self.upper[nodes] = np.maximum(graph.stop_reward[nodes], self.reward[nodes].max(axis=1, initial=-np.inf))

    def _perfect(self, nodes: Ids, beliefs: Array) -> Array:
        """Value (n,) of knowing the state for nothing and gaining all its entropy; a loss is put off for ever."""
        best = np.stack([commit.reward for commit in self.problem.flat.commits]).max(axis=0)
        if self.discount < 1:
            best = np.maximum(best, 0.0)
        result: Array = beliefs @ best + self.weight * self.graph.tables[0].entropy[self.graph.belief[nodes, 0]]
        return result

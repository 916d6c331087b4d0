"""A lower and an upper bound on the best value with no horizon limit, certified at every moment.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.graph import Graph
from rhoplan._old.merging import grown
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Action, Array, Ids, Observable
from rhoplan.planning import clock
from rhoplan.planning.certified.convex import Anchors
from rhoplan.planning.certified.follow import TRUE, first_actions, plan_vectors
from rhoplan.planning.certified.symmetry import state_symmetries

BOUND, REVEAL = 0, 1  # and TRUE, which `follow` needs too

MOST_CONVEX_STATES = 8
"""Interpolation between beliefs says little when they have many states: at 16 the revelations alone did better."""

MOST_ANCHORS, MOST_PLANNED = 200, 5000
"""Beliefs whose bounds are carried over to others, and nodes whose plan is worked out per true state for that."""


@dataclass(frozen=True)
class RevealingMenu:
    """The menu of `problem` with, after the tests, one revelation per test in the same order, at the same price."""

    problem: POMDP

    @property
    def gains(self) -> Array:
        return self.problem.flat.gains

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        actions = self.problem.menu(observable)
        tests = [action for action in actions if not action.ends_episode]
        commits = [action for action in actions if action.ends_episode]
        return (*tests, *(reveal(test) for test in tests), *commits)


def reveal(test: Action) -> Action:
    """An action that tells which distinct likelihood row of `test` the hidden state has."""
    rows, kinds = np.unique(test.likelihood, axis=0, return_inverse=True)
    likelihood = (kinds.reshape(-1, 1) == np.arange(len(rows))).astype(float)
    names = tuple(f"row-{row}" for row in range(len(rows)))
    return Action(f"reveal {test.name}", test.reward, likelihood, names, (test.leads_to[0],) * len(rows))


class Bounds:
    """Upper and lower values on a growing graph; see the module's text. N nodes, M tests, W outcomes.

    stage, doubt (N, M): stage of each test, and how probable it is that the state does not have the likeliest row.
    reward (N, M), chance and next (N, M, W): the arc that stands for the test in its stage; chance holds the discount.
    upper, lower (N,): the bounds. fallback (N,): value of going on without TRUE tests, by a commit or by the plan
    `borrowed` (N,) from the anchors (-1 for none). likely (N,): reach of each node when the graph last grew.
    """

    def __init__(self, problem: POMDP, *, weight: float, discount: float, memory: float) -> None:
        self.problem, self.weight, self.discount = problem, weight, discount
        self.symmetries = state_symmetries(problem)
        relaxed = POMDP(problem.name, problem.factors, problem.start, RevealingMenu(problem), unit=problem.unit)
        group = self.symmetries if len(self.symmetries) > 1 else None
        self.tests = len(problem.flat.tests)
        self.graph = Graph(relaxed, permutations=group)
        self.size = 0
        self._opening: dict[tuple[int, int], bool] = {}
        width = max([self.graph.next.shape[2], *(len(test.outcomes) for test in problem.flat.tests)])
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
        self.fallback: Array = np.empty(0)
        self.likely: Array = np.empty(0)
        self.borrowed: Ids = np.empty(0, dtype=np.int64)
        self.commits, self.best_commits = problem.flat.payoff, problem.flat.right
        # A plan fits another node only if the same tests can be run there, and an orbit hides which state is which.
        same_menu = problem.flat.same_everywhere
        few = len(problem.states) <= MOST_CONVEX_STATES
        self.anchors = Anchors(self._corners(), weight) if same_menu and few and group is None else None
        self._admit()

    @property
    def carries_over(self) -> bool:
        """Whether the bounds of one belief say something about another."""
        return self.anchors is not None

    @property
    def follows_plan(self) -> bool:
        """Whether it pays to grow along the optimistic plan: where bounds carry over, and where tests run once."""
        return self.carries_over or not self.problem.flat.same_everywhere

    @property
    def at_root(self) -> tuple[float, float]:
        """Lower and upper bound on the value of the problem."""
        return float(self.lower[self.graph.root]), float(self.upper[self.graph.root])

    def within(self, gap: float) -> bool:
        lower, upper = self.at_root
        return upper - lower <= gap

    def settle(self, gap: float, *, deadline: float, sweeps: int = 5000) -> bool:
        """Back both bounds up until a sweep changes them by little; whether it came to that."""
        open_nodes = self._focus(gap * 1e-3)
        for _ in range(sweeps):
            if not open_nodes.size or self.sweep(open_nodes) < gap * 1e-2:
                return True
            _check(deadline)
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

    def grow(self, doubt: float, reach: float, *, negligible: float, deadline: float, most: float = np.inf) -> bool:
        """Move the cut-off out to `doubt` and `reach` along every test not ruled out; whether it got all the way.

        It stops early, at a larger graph than `most` nodes. The reach of a node is the largest probability of one path
        to it along such tests: a guide, not a bound.
        """
        alive = self.worth(np.arange(self.size), self.upper) > self.lower[: self.size, None] + negligible
        alive &= self._open(0, negligible)
        frontier = self._start()
        while frontier.size and self.size <= most:
            _check(deadline)
            fresh = np.isfinite(self.reward[len(alive) : self.size]) & self._open(len(alive), negligible)
            alive = np.concatenate([alive, fresh])
            rows, slots = np.nonzero(alive[frontier])
            nodes = frontier[rows]
            doubts = self.doubt[nodes, slots]
            inside = (doubts > doubt) & (self.likely[nodes] > reach)
            self._advance(nodes, slots, np.where(inside | (doubts <= 0), TRUE, REVEAL))
            frontier = self._spread(nodes, slots, 0.1 * reach)
        return not frontier.size

    def grow_along(self, reach: float, *, negligible: float, deadline: float) -> bool:
        """Expand where the optimistic plan goes with probability `reach` and the bounds are apart; whether any was.

        An expanded node has all its tests TRUE, and only its best one is followed. Of use where bounds carry over.
        """
        frontier, before = self._start(), int(np.count_nonzero(self.stage[: self.size] == TRUE))
        while frontier.size:
            _check(deadline)
            frontier = frontier[self.upper[frontier] - self.lower[frontier] > negligible]
            rows, slots = np.nonzero(np.isfinite(self.reward[frontier]))
            self._advance(frontier[rows], slots, np.full(len(rows), TRUE))
            frontier = self._spread(frontier, self.worth(frontier, self.upper).argmax(axis=1), reach)
        return int(np.count_nonzero(self.stage[: self.size] == TRUE)) > before

    def _start(self) -> Ids:
        """Begin to follow paths: only the root is likely."""
        self.likely = np.zeros(self.size)
        self.likely[self.graph.root] = 1.0
        return np.array([self.graph.root])

    def _spread(self, nodes: Ids, slots: Ids, least: float) -> Ids:
        """Follow `slots` at `nodes` one step; the nodes that are likelier than known so far, and than `least`."""
        self.likely = np.concatenate([self.likely, np.zeros(self.size - len(self.likely))])
        flow = self.likely[nodes][:, None] * self.chance[nodes, slots]
        targets, place = np.unique(self.next[nodes, slots], return_inverse=True)
        best = np.zeros(len(targets))
        np.maximum.at(best, place.ravel(), flow.ravel())
        better = (best > self.likely[targets] * (1 + 1e-6)) & (best > least)
        reached = targets[better].astype(np.int64)
        self.likely[reached] = best[better]
        return reached

    def carry_over(self, gap: float) -> None:
        """Improve the bounds of open nodes by those of the nodes most likely met."""
        assert self.anchors is not None
        ranked = np.argsort(-self.likely, kind="stable")[:MOST_PLANNED]
        ranked = ranked[self.likely[ranked] > 0]
        plans = plan_vectors(self, ranked)[:MOST_ANCHORS]
        self.anchors.add_plans(plans, first_actions(self, ranked[:MOST_ANCHORS]))
        points = ranked[np.unique(np.geomspace(1, len(ranked), MOST_ANCHORS).astype(int)) - 1]
        self.anchors.set_points(self.graph.beliefs(points), self.upper[points], self._entropy(points))
        self._borrow(self._focus(gap * 1e-3))

    def _borrow(self, nodes: Ids) -> None:
        """Take over the anchors' bounds at `nodes` where they are better."""
        assert self.anchors is not None
        beliefs, entropy = self.graph.beliefs(nodes), self._entropy(nodes)
        self.upper[nodes] = np.minimum(self.upper[nodes], self.anchors.upper(beliefs, entropy))
        lower, plan = self.anchors.lower(beliefs, entropy)
        better = lower > self.lower[nodes]
        chosen = nodes[better]
        self.lower[chosen] = self.fallback[chosen] = lower[better]
        self.borrowed[chosen] = plan[better]

    def worth(self, nodes: Ids, values: Array) -> Array:
        """Value (n, M) of each test in its stage at `nodes`, given `values` of what follows."""
        worth: Array = self.reward[nodes] + (self.chance[nodes] * values[self.next[nodes]]).sum(axis=-1)
        return worth

    def _make_wide(self, width: int) -> None:
        """Room for tests with so many outcomes: one that waits for others may have more than all before."""
        more = ((0, 0), (0, 0), (0, max(0, width - self.next.shape[2])))
        if more[2][1]:
            self.next, self.chance = np.pad(self.next, more), np.pad(self.chance, more)

    def _advance(self, nodes: Ids, slots: Ids, wanted: Ids) -> None:
        """Bring each pair of node and test up to the stage wanted, growing the graph as needed."""
        graph, behind = self.graph, self.stage[nodes, slots] < wanted
        nodes, slots, wanted = nodes[behind], slots[behind], wanted[behind]
        arc = np.where(wanted == TRUE, slots, slots + graph.going[graph.observable[nodes]] // 2)
        for slot in np.unique(arc):
            rows = nodes[arc == slot]
            graph.expand(
                rows, np.broadcast_to(np.arange(graph.known.shape[1]) == slot, (len(rows), graph.known.shape[1]))
            )
        self._admit()
        targets = graph.next[nodes, arc]
        self.stage[nodes, slots] = wanted
        self._make_wide(targets.shape[-1])
        self.next[nodes, slots, : targets.shape[-1]] = np.maximum(targets, 0)
        chance = self.discount * np.where(targets >= 0, graph.probability[nodes, arc], 0.0)
        self.chance[nodes, slots, : targets.shape[-1]] = chance
        self.reward[nodes, slots] = graph.reward[nodes, arc] + self.weight * graph.information[nodes, arc]

    def _admit(self) -> None:
        """Give every new node its first bounds: commit at once below, perfect information for nothing above."""
        graph, new = self.graph, np.arange(self.size, self.graph.size)
        self.size = graph.size
        fills = {"stage": BOUND, "doubt": 0.0, "next": 0, "chance": 0.0, "reward": -np.inf, "upper": 0.0, "lower": 0.0}
        fills |= {"fallback": 0.0, "borrowed": -1}
        for name, fill in fills.items():
            setattr(self, name, grown(getattr(self, name), self.size, fill))
        self.lower[new] = self.fallback[new] = graph.stop_reward[new]
        for observable, positions in graph.by_visible(new):
            nodes = new[positions]
            beliefs = graph.beliefs(nodes)
            # Knowing the state for nothing, and gaining all its entropy.
            perfect = beliefs @ self._corners() + self.weight * self._entropy(nodes)
            going = graph.menus[observable].going
            for slot, revelation in enumerate(going[len(going) // 2 :]):
                rows = beliefs @ revelation.likelihood
                telling = (rows > 0).sum(axis=1) > 1
                self.doubt[nodes, slot] = np.where(telling, np.maximum(1 - rows.max(axis=1), 1e-300), 0.0)
                worth = revelation.reward[0] + perfect
                # A test that can tell nothing more is of use only for what it opens, and below discount 1 for delay.
                useful = telling | (self.discount < 1) | self._opens(observable, slot)
                self.reward[nodes, slot] = np.where(useful, worth, -np.inf)
            self.upper[nodes] = np.maximum(graph.stop_reward[nodes], self.reward[nodes].max(axis=1, initial=-np.inf))
        if self.anchors is not None and new.size:
            self._borrow(new)

    def _opens(self, observable: int, slot: int) -> bool:
        """Whether another test waits for a test in `visible`, be it alone or together with others."""
        if (observable, slot) not in self._opening:
            done, name = self.graph.observables[observable], self.graph.menus[observable].going[slot].name
            assert isinstance(done, Done)
            tests = self.problem.flat.tests
            runs = {name}.union(*(test.parts for test in tests if test.name == name)) - done.run
            self._opening[observable, slot] = any(runs & set(t.after) and t.name not in done.run for t in tests)
        return self._opening[observable, slot]

    def _corners(self) -> Array:
        """Upper value (S,) of each state once it is known; with a discount a loss can be put off for ever."""
        best: Array = self.commits.max(axis=0)
        return np.maximum(best, 0.0) if self.discount < 1 else best

    def _entropy(self, nodes: Ids) -> Array:
        result: Array = self.graph.tables[0].entropy[self.graph.belief[nodes, 0]]
        return result

    def _focus(self, negligible: float) -> Ids:
        """The open nodes that matter now: all, or where bounds carry over those reached last and what follows."""
        near = np.arange(self.size)
        if self.anchors is not None:
            reached = np.flatnonzero(self.likely)
            near = np.union1d(reached, self.next[reached].ravel())
        return near[self.upper[near] - self.lower[near] > negligible]

    def _open(self, first: int, negligible: float) -> NDArray[np.bool_]:
        """Whether the bounds of the nodes from `first` on (n, 1) are still apart."""
        return (self.upper[first : self.size] - self.lower[first : self.size] > negligible)[:, None]


def _check(deadline: float) -> None:
    if clock.now() > deadline:
        raise TimeoutError

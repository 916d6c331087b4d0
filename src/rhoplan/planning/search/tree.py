"""Tree search in one situation, for any problem: the Python side, which prepares the arrays that the kernels fill.

`TreeSearch` keeps the explored part of the problem and the arrays of its tree from one decision to the next, so that a
small search costs little more than its simulations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import rhoplan.planning.search.kernels as kernels
from rhoplan.belief.information import entropy
from rhoplan.belief.situation import Situation
from rhoplan.errors import AgentError, EvidenceError, ProblemError
from rhoplan.graph.ties import choose
from rhoplan.model.limits import LARGEST_HORIZON
from rhoplan.model.pomdp import END, Array, Ids, Problem
from rhoplan.planning.asked import check_about_states
from rhoplan.planning.search.kernels import Model, Settings, Tree, Work
from rhoplan.planning.search.mcts import mcts
from rhoplan.planning.search.model import SearchModel, cumulative
from rhoplan.planning.search.pomcp import pomcp

Kernel = Callable[[Model, Tree, Work, Settings, int], int]


class Method(NamedTuple):
    """How a search simulates. exploration: default constant of UCB1, as a share of the range of rewards in sight.

    over_beliefs: whether nodes are beliefs; then ending actions are known exactly and are no arms, a tree can be
    solved, and one that may not grow any more ends the search.
    """

    kernel: Kernel
    exploration: float
    over_beliefs: bool


METHODS: dict[str, Method] = {"mcts": Method(mcts, 0.2, True), "pomcp": Method(pomcp, 0.5, False)}

TREE_BYTES = 1_000_000_000
"""Largest size of a tree, shared equally by nodes, arms and children."""

LARGEST_BATCH = 50_000
"""Simulations between two returns to Python, where an interrupt from the keyboard is noticed."""

SMALLEST = 2048
"""Nodes, arms or children that there is room for at first."""

NODE_COLUMNS, WORTH_COLUMNS, ARM_COLUMNS = kernels.SOLVED + 1, kernels.CHANCE + 1, kernels.CLOSED + 1

FIRST_BATCH, SLICE = 16, 0.02
"""With a time limit: simulations to try first, and seconds that later batches are meant to take."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found out about the actions of one situation.

    going_values (M,), ending_values (E,): value of each action that goes on and of each that ends, in the order of the
    menu; minus infinity where the search has not tried it. going_visits, ending_visits: how often it was tried (`mcts`
    knows ending actions exactly and does not try them). value: the best of all. choice: the slot of the action to take,
    -1 to end with ending action number `ending` (-1 where none ends). simulations: how many were run; nodes: size of
    the tree; solved: whether all values are exact for the depth; seconds: how long it took.
    """

    going_values: Array
    ending_values: Array
    going_visits: Ids
    ending_visits: Ids
    value: float
    choice: int
    ending: int
    simulations: int
    nodes: int
    solved: bool
    seconds: float


class TreeSearch:
    """Online search for the best action by simulations: `pomcp`, or `mcts` over beliefs (MCTS-EFE).

    It maximises reward + weight * information (reward units per nat) over `depth` actions, then the best ending action
    (0 where none ends). exploration: constant of UCB1 in reward units; by default a share of the range of rewards.
    Not covered: a problem's own leaf, a Python function that kernels cannot call; rollouts and ending actions stand in
    for it. One object serves one thread at a time.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        method: str,
        depth: int,
        weight: float = 0.0,
        discount: float = 1.0,
        exploration: float | None = None,
    ) -> None:
        if method not in METHODS:
            raise AgentError(f"there is no search method '{method}'; there are {', '.join(METHODS)}", field=("method",))
        if not 1 <= depth <= LARGEST_HORIZON or depth != int(depth):
            raise AgentError(
                f"depth must be a whole number from 1 to {LARGEST_HORIZON}; it is {depth}", field=("depth",)
            )
        if not math.isfinite(weight):
            raise AgentError(f"weight must be a finite number; it is {weight:g}", field=("weight",))
        if not 0 < discount <= 1:
            raise AgentError(f"discount must be above 0 and at most 1; it is {discount:g}", field=("discount",))
        if exploration is not None and not 0 <= exploration < math.inf:
            raise AgentError(
                f"exploration must be a finite number of at least 0; it is {exploration:g}", field=("exploration",)
            )
        check_about_states(problem, weight, f"planner {method}")
        self.problem, self.method, self.depth = problem, method, int(depth)
        self._how = METHODS[method]
        self.weight, self.discount, self.exploration = float(weight), float(discount), exploration
        self.model = SearchModel(problem)
        self._width = len(problem.factors) * self.model.states
        self._most_gains = 0.0
        self._tree = _tree(0, 0, 0, self._width)
        self._work = self._workspace()
        # Compiling, or reading what was compiled before, must not count against a time limit.
        self._plant(Situation(problem.start, tuple(factor.prior for factor in problem.factors)))
        self._simulate(0, 0.0, frozen=False)

    def run(
        self,
        situation: Situation,
        *,
        simulations: int | None = 1000,
        seconds: float | None = None,
        seed: int | tuple[int, ...] = 0,
    ) -> SearchResult:
        """Search from `situation` until `simulations` are done or `seconds` are over, whichever comes first.

        Without a time limit the result depends on the settings, the situation and the seed only. `mcts` also stops once
        the tree is solved, or as large as it may become; `pomcp` then goes on without adding nodes.
        """
        began = time.perf_counter()
        _check_budget(simulations, seconds)
        if situation.visible is END:
            raise EvidenceError(f"the episode of '{self.problem.name}' has ended: there is nothing left to search")
        exploration, self._most_gains = self._exploration(situation), self._gains(situation)
        self._plant(situation)
        self._work.rng[0] = _stream(seed)
        done, frozen = 0, False
        while True:
            elapsed = time.perf_counter() - began
            batch = _batch(done, simulations, elapsed, seconds)
            if batch == 0 or self._is_solved:
                break
            ran = self._simulate(batch, exploration, frozen=frozen)
            done += ran
            if self._work.counters[kernels.MISSING] >= 0:
                self.model.explore(int(self._work.counters[kernels.MISSING]))
                self._work.counters[kernels.MISSING] = -1
            elif ran < batch and not self._is_solved and not self._grow():
                if self._how.over_beliefs:
                    break
                frozen = True
        return self._result(situation, done, time.perf_counter() - began)

    @property
    def _is_solved(self) -> bool:
        return bool(self._tree.nodes[0, kernels.SOLVED])

    def _exploration(self, situation: Situation) -> float:
        if self.exploration is not None:
            return self.exploration
        # The most that one action can pay apart from another: its reward, and all there is to know about its factor.
        rewards = self.model.reward_range(situation.visible, self.depth)
        return self._how.exploration * (rewards + abs(self.weight) * math.log(self.model.states))

    def _gains(self, situation: Situation) -> float:
        """The gains in the values compared in `situation`, for the tie rule: those of the best ending, or the scale.

        Larger gains that a plan may come to are left out: what a search estimates has more noise than digits lost.
        """
        if self.problem.gains is not None:
            told = float(entropy(situation.belief[None, :])[0])
            payoff = np.stack([commit.reward for commit in self.problem.commits])
            best = int(np.argmax(payoff @ situation.belief))
            return float(situation.belief @ np.maximum(payoff[best], 0.0)) + abs(self.weight) * told
        nats = sum(math.log(len(factor.states)) for factor in self.problem.factors)
        return self.problem.reward_scale + abs(self.weight) * nats

    def _simulate(self, simulations: int, exploration: float, *, frozen: bool) -> int:
        model, goal = self.model, (self.discount, self.weight, exploration, self._most_gains, self.depth)
        most = model.most_outcomes, model.most_arms, model.most_children
        settings = Settings(*goal, model.states, *most, frozen)
        with np.errstate(over="ignore"):  # the generator's arithmetic is modulo 2**64, also where nothing is compiled
            return self._how.kernel(model.arrays, self._tree, self._work, settings, simulations)

    def _plant(self, situation: Situation) -> None:
        """Begin a tree that consists of its root."""
        place = self.model.number(situation.visible)
        self.model.explore(place)
        if not self.problem.menu(situation.visible):
            raise ProblemError(f"'{self.problem.name}' offers no action in '{situation.visible}'")
        self._work.counters[:] = 1, 0, 0, -1
        if not len(self._tree.nodes):
            self._grow()
        root = np.zeros((len(situation.beliefs), self.model.states))
        for row, belief in zip(root, situation.beliefs, strict=True):
            row[: len(belief)] = belief
        self._work.prior[:] = cumulative(root).ravel()
        self._tree.beliefs[: self._width] = root.ravel()
        kernels.place_node(self.model.arrays, self._tree, 0, place, 1.0)
        self._tree.nodes[0, kernels.SOLVED] = self._how.over_beliefs and not self.model.menu(place).going

    def _grow(self) -> bool:
        """Double the arrays of the tree that one more simulation might not fit into; False where they may not grow."""
        tree, model = self._tree, self.model
        rooms = len(tree.nodes), len(tree.arms), len(tree.children)
        most = model.most_outcomes, model.most_arms, model.most_children
        row_bytes = 8 * (NODE_COLUMNS + WORTH_COLUMNS + self._width), 8 * ARM_COLUMNS, 8
        sizes = []
        for used, added, room, size in zip(self._work.counters.tolist(), most, rooms, row_bytes, strict=False):
            wanted = room if used + added <= room else max(used + added, 2 * room, SMALLEST)
            if wanted * size > TREE_BYTES // 3:
                return False
            sizes.append(wanted)
        self._tree = _tree(sizes[0], sizes[1], sizes[2], self._width)
        for old, new in zip(tree, self._tree, strict=True):
            new[: len(old)] = old
        return True

    def _workspace(self) -> Work:
        return Work(
            counters=np.zeros(4, dtype=np.int64),
            rng=np.zeros(1, dtype=np.uint64),
            prior=np.empty(self._width),
            truth=np.zeros(self._width, dtype=np.int64),
            belief=np.zeros(self._width),
            ahead=np.zeros(self._width),
            rows=np.zeros(3 * self.model.states),
            path=np.zeros((self.depth + 1, 2), dtype=np.int64),
            paid=np.zeros(self.depth),
        )

    def _result(self, situation: Situation, simulations: int, seconds: float) -> SearchResult:
        menu = self.model.menu(self.model.number(situation.visible))
        going, ending = len(menu.going), len(menu.ending)
        values, visits = np.full(going + ending, -np.inf), np.zeros(going + ending, dtype=np.int64)
        first = self._tree.nodes[0, kernels.ARMS]
        if first >= 0:
            arms = self._tree.arms[first : first + (going if self._how.over_beliefs else going + ending)]
            visits[: len(arms)] = arms[:, kernels.COUNT]
            values[: len(arms)] = np.where(arms[:, kernels.COUNT] > 0, arms[:, kernels.MEAN], -np.inf)
        if self._how.over_beliefs:
            values[going:] = [situation.beliefs[action.factor] @ action.reward for action in menu.ending]
        listed = np.concatenate([values[going:], values[:going]])
        gains = self._gains(situation)
        chosen = int(choose(listed[None, :], gains)[0])
        best = int(choose(listed[None, :ending], gains)[0]) if ending else -1
        return SearchResult(
            going_values=values[:going],
            ending_values=values[going:],
            going_visits=visits[:going],
            ending_visits=visits[going:],
            value=float(values.max()),
            choice=max(chosen - ending, -1),
            ending=best,
            simulations=simulations,
            nodes=int(self._work.counters[kernels.NODES_USED]),
            solved=self._is_solved,
            seconds=seconds,
        )


def _tree(nodes: int, arms: int, children: int, width: int) -> Tree:
    """Arrays for so many nodes, arms and children; kernels write each row before they read it."""
    return Tree(
        nodes=np.empty((nodes, NODE_COLUMNS), dtype=np.int64),
        worth=np.empty((nodes, WORTH_COLUMNS)),
        beliefs=np.empty(nodes * width),
        arms=np.empty((arms, ARM_COLUMNS)),
        children=np.empty(children, dtype=np.int64),
    )


def _check_budget(simulations: int | None, seconds: float | None) -> None:
    if simulations is None and seconds is None:
        raise AgentError("a search needs a number of simulations or of seconds", field=("simulations",))
    if simulations is not None and (not 1 <= simulations < math.inf or simulations != int(simulations)):
        raise AgentError(
            f"simulations must be a whole number of at least 1; it is {simulations}", field=("simulations",)
        )
    if seconds is not None and not 0 < seconds < math.inf:
        raise AgentError(f"seconds must be a finite number above 0; it is {seconds:g}", field=("time",))


def _stream(seed: int | tuple[int, ...]) -> int:
    """Where the random numbers of `seed` begin."""
    try:
        return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    except (TypeError, ValueError):
        raise AgentError(
            f"seed must be one or more whole numbers of at least 0; it is {seed}", field=("seed",)
        ) from None


def _batch(done: int, simulations: int | None, elapsed: float, seconds: float | None) -> int:
    """How many simulations to run next; 0 when the search is over."""
    left = LARGEST_BATCH if simulations is None else min(simulations - done, LARGEST_BATCH)
    if seconds is None:
        return left
    if elapsed >= seconds and done > 0:
        return 0
    pace = int(done / elapsed * min(SLICE, seconds - elapsed)) if done else 0
    return min(left, max(pace, FIRST_BATCH))

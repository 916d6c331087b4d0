"""Online tree search at one belief of any problem: settings, result, and the loop that runs simulations in batches.

`TreeSearch` keeps the explored part of the problem and the arrays of its tree from one decision to the next, so that a
small search costs little more than its simulations.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rhoplan.errors import AgentError, EvidenceError, LimitError, ProblemError
from rhoplan.graph.row_index import grown
from rhoplan.graph.ties import first_best
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids, Observable
from rhoplan.planning.asked import check_about_states
from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import mcts, pomcp
from rhoplan.planning.tree_search.model import Model, SearchModel
from rhoplan.planning.tree_search.tree import ARM, NODE, NODES, UNEXPLORED, Goal, Tree, enter, place_node


class Method(NamedTuple):
    """over_beliefs: whether nodes are beliefs, and terminal actions no arms. exploration: default constant of UCB1, as
    a share of the range of rewards in sight. extra_depth: actions beyond the horizon (POMCP: as published)."""

    over_beliefs: bool
    exploration: float
    extra_depth: int


METHODS = {"mcts": Method(True, 0.2, 0), "pomcp": Method(False, 0.5, 3)}


@dataclass(frozen=True)
class TreeSearchSettings:
    """Settings of tree search; planners check those that users give.

    method: `mcts` over beliefs, or `pomcp`. horizon: actions to look ahead; extra_depth: actions beyond these, by
    default as the method says. simulations, seconds: limits of one decision, one of which is needed. exploration:
    constant of UCB1 in reward units, by default as the method says. stop_probability: how often a rollout of POMCP ends
    at each step where it can. nearest: observable states around the root that count for the range of rewards. memory:
    bytes that the tree may take, about.

    largest_batch: simulations between two returns to Python, where an interrupt is noticed. With a time limit:
    first_batch: simulations to run first; slice_seconds: what later batches are meant to take.
    """

    method: str = "mcts"
    horizon: int = 3
    extra_depth: int | None = None
    simulations: int | None = 1000
    seconds: float | None = None
    exploration: float | None = None
    stop_probability: float = 0.3
    nearest: int = 256
    memory: int = 1_000_000_000
    largest_batch: int = 50_000
    first_batch: int = 16
    slice_seconds: float = 0.02

    @property
    def depth(self) -> int:
        """Largest number of actions from the root of the tree."""
        extra = METHODS[self.method].extra_depth if self.extra_depth is None else self.extra_depth
        return int(self.horizon) + extra


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found at one belief.

    values, visits (A,): by the place of an action, terminal actions first (see `ActionTable`); minus infinity if it was
    not tried. MCTS knows terminal actions exactly and does not visit them. place: of the best action. simulations: how
    many were run; nodes: size of the tree; exact: whether all values are exact for the depth; seconds: time taken.
    """

    values: Array
    visits: Ids
    place: int
    simulations: int
    nodes: int
    exact: bool
    seconds: float

    @property
    def value(self) -> float:
        """The value of the best action."""
        return float(self.values.max())


@compiled
def simulate(model: Model, tree: Tree, goal: Goal, simulations: int) -> int:
    """Run up to `simulations`; how many were done. One that must wait for an observable state leaves no trace."""
    for done in range(simulations):
        before = tree.rng[0]
        if tree.nodes[0].is_exact == 1:
            return done
        simulate_once(model, tree, goal)
        if tree.counters[UNEXPLORED] >= 0:
            tree.rng[0] = before
            return done
    return simulations


@compiled
def simulate_once(model: Model, tree: Tree, goal: Goal) -> None:
    """Walk down the tree by UCB1, add to it, and take what was found back to the root."""
    if not goal.over_beliefs:
        pomcp.draw_state(tree)
    node, steps, value = 0, 0, 0.0
    while node >= 0 and steps < goal.depth:
        arm = enter(model, tree, goal, node)
        if arm < 0:
            break
        tree.path_node[steps], tree.path_arm[steps] = node, arm
        steps += 1
        if goal.over_beliefs:
            node = mcts.descend(model, tree, goal, node, arm, steps)
        else:
            node, value = pomcp.descend(model, tree, goal, node, arm, steps)
    if tree.counters[UNEXPLORED] >= 0:
        return
    if goal.over_beliefs:
        mcts.back_up(model, tree, goal, steps)
    else:
        pomcp.average(tree, goal, steps, value)


class TreeSearch:
    """Search for the best action by simulations, which maximise reward + weight * information (per nat) over the depth
    of the settings, then the best terminal action (0 where there is none).

    A problem's own leaf value is not used. One object serves one thread at a time.
    """

    def __init__(
        self,
        problem: POMDP,
        settings: TreeSearchSettings | None = None,
        *,
        weight: float = 0.0,
        discount: float = 1.0,
    ) -> None:
        self.problem, self.settings = problem, settings or TreeSearchSettings()
        check_about_states(problem, weight, f"planner {self.settings.method}")
        self.weight, self.discount = float(weight), float(discount)
        self.model, self._method = SearchModel(problem), METHODS[self.settings.method]
        self._tree = Tree.empty(len(problem.factors), self.model.states, self.settings.depth)
        # Compiling, or loading compiled code, must not count against a time limit.
        self._plant(problem.belief())
        self._simulate(self._goal(problem.belief()), 0)

    def run(self, situation: Belief, *, seed: int | tuple[int, ...] = 0) -> SearchResult:
        """Search from `situation` until the simulations are done or the time is over, whichever comes first.

        It also stops when all values are exact, or the tree is as large as it may become. Without a time limit the
        result depends on the settings, the belief and the seed only.
        """
        began = time.perf_counter()
        if situation.observable is END:
            raise EvidenceError(f"the episode of '{self.problem.name}' has ended: there is nothing left to search")
        goal, done = self._goal(situation), 0
        self._plant(situation)
        self._tree.rng[0] = _stream(seed)
        while not self._is_exact:
            batch = self._make_room(self._batch(done, time.perf_counter() - began))
            if batch <= 0:
                break
            done += self._simulate(goal, batch)
            if self._tree.counters[UNEXPLORED] >= 0:
                self.model.explore(int(self._tree.counters[UNEXPLORED]))
                self._tree.counters[UNEXPLORED] = -1
        values, visits = self._values(situation)
        sizes = np.where(np.isfinite(values), np.abs(values), 0.0) + goal.scale
        best = int(first_best(values, sizes, np.zeros(1, dtype=np.int64))[0])
        seconds = time.perf_counter() - began
        return SearchResult(values, visits, best, done, int(self._tree.counters[NODES]), self._is_exact, seconds)

    def actions(self, observable: Observable) -> list[Action]:
        """The actions of an observable state by place, terminal ones first."""
        table = self.model.table
        number = table.observable_id(observable)
        return table.actions[table.first[number] :][: table.count[number]]

    @property
    def _is_exact(self) -> bool:
        return bool(self._tree.nodes[0].is_exact)

    def _goal(self, situation: Belief) -> Goal:
        settings, method, weight = self.settings, self._method, abs(self.weight)
        exploration = settings.exploration
        if exploration is None:
            # The most that one action can be worth more than another: its reward, and all information about a factor.
            rewards = self.model.reward_range(situation.observable, depth=settings.depth, most=settings.nearest)
            exploration = method.exploration * (rewards + weight * math.log(self.model.states))
        # The size of terminal rewards and information at the root. Estimates need nothing finer.
        absolute = [belief @ np.abs(reward) for belief, reward in self._terminal(situation)]
        scale = max(absolute, default=0.0) + weight * sum(math.log(len(f.states)) for f in self.problem.factors)
        how = settings.stop_probability, settings.depth, method.over_beliefs
        return Goal(self.discount, self.weight, float(exploration), float(scale), *how)

    def _terminal(self, situation: Belief) -> list[tuple[Array, Array]]:
        """The belief and the reward (S,) of each terminal action."""
        actions = [action for action in self.actions(situation.observable) if action.ends_episode]
        return [(situation.beliefs[action.factor], action.reward) for action in actions]

    def _simulate(self, goal: Goal, simulations: int) -> int:
        with np.errstate(over="ignore"):  # the generator's arithmetic is modulo 2**64, also where nothing is compiled
            return simulate(self.model.arrays, self._tree, goal, simulations)

    def _plant(self, situation: Belief) -> None:
        """Begin a tree that consists of its root."""
        table = self.model.table
        observable = table.observable_id(situation.observable)
        self.model.explore(observable)
        if not table.count[observable]:
            raise ProblemError(f"'{self.problem.name}' offers no action in '{situation.observable}'")
        self._tree.counters[:] = 0, 0, 0, -1
        if self._make_room(1) < 1:
            raise LimitError(
                f"a search tree of '{self.problem.name}' must fit into {self.settings.memory:,} bytes; one simulation "
                "needs more: raise memory",
                field=("memory",),
            )
        tree = self._tree
        tree.counters[NODES] = 1
        tree.beliefs[0] = 0.0
        for row, belief in zip(tree.beliefs[0], situation.beliefs, strict=True):
            row[: len(belief)] = belief
        place_node(self.model.arrays, tree, 0, observable, 1.0)
        nothing_to_search = table.count[observable] == table.terminal_count[observable]
        tree.nodes[0].is_exact = self._method.over_beliefs and nothing_to_search

    def _make_room(self, batch: int) -> int:
        """Make room in the tree for `batch` simulations, or for as many as memory allows; how many these are."""
        tree, used, most = self._tree, self._tree.counters[:3], self.model.most
        bytes_of_row = np.array([NODE.itemsize + tree.belief.nbytes, ARM.itemsize, tree.child.itemsize])
        room = self.settings.memory // len(used) // bytes_of_row - used
        batch = min(batch, int((room // most).min()))
        needed = used + max(batch, 0) * most
        places = {"nodes": 0, "beliefs": 0, "arms": 1, "child": 2}
        larger = {name: grown(getattr(tree, name), int(used[k]), int(needed[k])) for name, k in places.items()}
        self._tree = tree._replace(**larger)
        return batch

    def _batch(self, done: int, elapsed: float) -> int:
        """How many simulations to run next; 0 when the search is over."""
        settings = self.settings
        left = settings.largest_batch
        if settings.simulations is not None:
            left = min(int(settings.simulations) - done, left)
        if settings.seconds is None:
            return left
        if elapsed >= settings.seconds and done > 0:
            return 0
        pace = int(done / elapsed * min(settings.slice_seconds, settings.seconds - elapsed)) if done else 0
        return min(left, max(pace, settings.first_batch))

    def _values(self, situation: Belief) -> tuple[Array, Ids]:
        """Values and visits (A,) of all actions at the root, by place."""
        table, root = self.model.table, self._tree.nodes[0]
        count, arms = int(table.count[root.observable]), self._tree.arms[root.first_arm :][: root.arms]
        values, visits = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
        places = arms["action"] - table.first[root.observable]
        visits[places] = arms["visits"]
        values[places] = np.where(arms["visits"] > 0, arms["value"], -np.inf)
        if self._method.over_beliefs:
            rewards = [belief @ reward for belief, reward in self._terminal(situation)]
            values[: len(rewards)] = rewards
        return values, visits


def _stream(seed: int | tuple[int, ...]) -> int:
    """Where the random numbers of `seed` begin."""
    try:
        return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    except (TypeError, ValueError):
        raise AgentError(
            f"seed must be one or more whole numbers of at least 0; it is {seed}", field=("seed",)
        ) from None

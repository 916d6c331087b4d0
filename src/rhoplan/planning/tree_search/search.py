"""Online tree search at one belief of any problem: the Python side, which prepares the arrays that kernels fill.

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
from rhoplan.model.limits import LARGEST_HORIZON
from rhoplan.model.pomdp import END, POMDP, Array, Ids
from rhoplan.model.situation import Situation
from rhoplan.planning.asked import check_about_states
from rhoplan.planning.machine import compiled
from rhoplan.planning.tree_search import nodes
from rhoplan.planning.tree_search.kernels import Model
from rhoplan.planning.tree_search.mcts import enumerate_observations
from rhoplan.planning.tree_search.model import SearchModel, cumulative
from rhoplan.planning.tree_search.nodes import Goal, Tree, Work
from rhoplan.planning.tree_search.pomcp import sample


class Method(NamedTuple):
    """over_beliefs: whether nodes are beliefs, and terminal actions no arms. exploration: default constant of UCB1, as
    a share of the range of rewards in sight. extra_depth: actions beyond the horizon (POMCP: as published)."""

    over_beliefs: bool
    exploration: float
    extra_depth: int


METHODS = {"mcts": Method(True, 0.2, 0), "pomcp": Method(False, 0.5, 3)}


@dataclass(frozen=True)
class TreeSearchSettings:
    """Settings of tree search.

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

    def __post_init__(self) -> None:
        horizon, simulations, seconds, exploration = self.horizon, self.simulations, self.seconds, self.exploration
        if self.method not in METHODS:
            _refuse("method", f"must be one of {', '.join(METHODS)}", f"'{self.method}'")
        if not 1 <= horizon <= LARGEST_HORIZON or horizon != int(horizon):
            _refuse("horizon", f"must be a whole number from 1 to {LARGEST_HORIZON}", horizon)
        if simulations is None and seconds is None:
            _refuse("simulations", "must be given, or seconds", "None")
        if simulations is not None and (not 1 <= simulations < math.inf or simulations != int(simulations)):
            _refuse("simulations", "must be a whole number of at least 1", simulations)
        if seconds is not None and not 0 < seconds < math.inf:
            _refuse("time", "must be a finite number of seconds above 0", seconds)
        if exploration is not None and not 0 <= exploration < math.inf:
            _refuse("exploration", "must be a finite number of at least 0", exploration)

    @property
    def depth(self) -> int:
        """Largest number of actions from the root of the tree."""
        extra = METHODS[self.method].extra_depth if self.extra_depth is None else self.extra_depth
        return int(self.horizon) + extra


def _refuse(name: str, rule: str, found: object) -> None:
    raise AgentError(f"{name} {rule}; it is {found}", field=(name,), code="setting-range")


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


_INTS, _FLOATS = np.empty(0, dtype=np.int64), np.empty(0)
EMPTY = Tree(
    _INTS,
    _INTS,
    _INTS,
    _INTS,
    _INTS,
    _INTS,
    _FLOATS,
    _FLOATS,
    _FLOATS,
    _FLOATS,
    _FLOATS,
    _FLOATS,
    _FLOATS,
    _INTS,
    _INTS,
)


@compiled
def simulate(model: Model, tree: Tree, work: Work, goal: Goal, simulations: int) -> int:
    """Run up to `simulations`; how many were done. One that must wait for an observable state leaves no trace."""
    for done in range(simulations):
        if tree.exact[0] == 1:
            return done
        before = work.rng[0]
        if goal.over_beliefs:
            complete = enumerate_observations(model, tree, work, goal)
        else:
            complete = sample(model, tree, work, goal)
        if not complete:
            work.rng[0] = before
            return done
    return simulations


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
        self.model, self._over_beliefs = SearchModel(problem), METHODS[self.settings.method].over_beliefs
        self._width = len(problem.factors) * self.model.states
        self._tree, self._work = EMPTY, self._workspace()
        # Compiling, or loading compiled code, must not count against a time limit.
        self._plant(Situation(problem.start, tuple(factor.prior for factor in problem.factors)))
        self._simulate(0, 0.0, 0.0)

    def run(self, situation: Situation, *, seed: int | tuple[int, ...] = 0) -> SearchResult:
        """Search from `situation` until the simulations are done or the time is over, whichever comes first.

        It also stops when all values are exact, or the tree is as large as it may become. Without a time limit the
        result depends on the settings, the belief and the seed only.
        """
        began = time.perf_counter()
        if situation.observable is END:
            raise EvidenceError(f"the episode of '{self.problem.name}' has ended: there is nothing left to search")
        exploration, scale = self._exploration(situation), self._scale(situation)
        self._plant(situation)
        self._work.rng[0] = _stream(seed)
        done = 0
        while not self._is_exact:
            batch = self._make_room(self._batch(done, time.perf_counter() - began))
            if batch <= 0:
                break
            done += self._simulate(batch, exploration, scale)
            if self._work.counters[nodes.UNEXPLORED] >= 0:
                self.model.explore(int(self._work.counters[nodes.UNEXPLORED]))
                self._work.counters[nodes.UNEXPLORED] = -1
        return self._result(situation, scale, done, time.perf_counter() - began)

    @property
    def _is_exact(self) -> bool:
        return bool(self._tree.exact[0])

    def _exploration(self, situation: Situation) -> float:
        settings = self.settings
        if settings.exploration is not None:
            return settings.exploration
        # The most that one action can be worth more than another: its reward, and all information about its factor.
        rewards = self.model.reward_range(situation.observable, depth=settings.depth, most=settings.nearest)
        return METHODS[settings.method].exploration * (rewards + abs(self.weight) * math.log(self.model.states))

    def _scale(self, situation: Situation) -> float:
        """The size of terminal rewards and information at the root, for the tie rule. Estimates need nothing finer."""
        _, absolute = self.model.terminal_rewards(
            self.model.table.observable_id(situation.observable), situation.beliefs
        )
        nats = sum(math.log(len(factor.states)) for factor in self.problem.factors)
        return float(absolute.max(initial=0.0)) + abs(self.weight) * nats

    def _simulate(self, simulations: int, exploration: float, scale: float) -> int:
        settings = self.settings
        aim = self.discount, self.weight, exploration, scale, settings.stop_probability, settings.depth
        goal = Goal(*aim, self._over_beliefs)
        with np.errstate(over="ignore"):  # the generator's arithmetic is modulo 2**64, also where nothing is compiled
            return simulate(self.model.arrays, self._tree, self._work, goal, simulations)

    def _plant(self, situation: Situation) -> None:
        """Begin a tree that consists of its root."""
        observable = self.model.table.observable_id(situation.observable)
        self.model.explore(observable)
        table = self.model.table
        if not table.count[observable]:
            raise ProblemError(f"'{self.problem.name}' offers no action in '{situation.observable}'")
        self._work.counters[:] = 0, 0, 0, -1
        if self._make_room(1) < 1:
            raise LimitError(
                f"a search tree of '{self.problem.name}' must fit into {self.settings.memory:,} bytes; one simulation "
                "needs more: raise memory",
                field=("memory",),
            )
        self._work.counters[nodes.NODES] = 1
        root = np.zeros((len(situation.beliefs), self.model.states))
        for row, belief in zip(root, situation.beliefs, strict=True):
            row[: len(belief)] = belief
        self._work.prior[:] = cumulative(root).ravel()
        self._tree.beliefs[: self._width] = root.ravel()
        nodes.place_node(self.model.arrays, self._tree, 0, observable, 1.0)
        self._tree.exact[0] = self._over_beliefs and table.count[observable] == table.terminal_count[observable]

    def _make_room(self, batch: int) -> int:
        """Make room in the tree for `batch` simulations, or for as many as memory allows; how many these are."""
        used, most, width = self._work.counters[:3], self.model.most, self._width
        bytes_of_row = np.array([8 * (len(nodes.BY_NODE) + width), 8 * len(nodes.BY_ARM), 8])
        room = self.settings.memory // len(used) // bytes_of_row - used
        batch = min(batch, int((room // most).min()))
        needed = used + max(batch, 0) * most
        sizes = {name: (int(used[0]), int(needed[0])) for name in nodes.BY_NODE}
        sizes |= {name: (int(used[1]), int(needed[1])) for name in nodes.BY_ARM}
        sizes |= {"beliefs": (int(used[0]) * width, int(needed[0]) * width), "child": (int(used[2]), int(needed[2]))}
        self._tree = Tree(**{name: grown(getattr(self._tree, name), *size) for name, size in sizes.items()})
        return batch

    def _workspace(self) -> Work:
        width, depth = self._width, self.settings.depth
        return Work(
            counters=np.zeros(4, dtype=np.int64),
            rng=np.zeros(1, dtype=np.uint64),
            prior=np.empty(width),
            truth=np.zeros(width, dtype=np.int64),
            belief=np.zeros(width),
            ahead=np.zeros(width),
            rows=np.zeros(3 * self.model.states),
            path_node=np.zeros(depth, dtype=np.int64),
            path_arm=np.zeros(depth, dtype=np.int64),
            paid=np.zeros(depth),
        )

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

    def _result(self, situation: Situation, scale: float, simulations: int, seconds: float) -> SearchResult:
        table, tree = self.model.table, self._tree
        observable = table.observable_id(situation.observable)
        count, terminal = int(table.count[observable]), int(table.terminal_count[observable])
        values, visits = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
        first = int(tree.first_arm[0])
        if first >= 0:
            searched = count - terminal if self._over_beliefs else count
            places = (terminal + np.arange(searched)) % count
            arms = slice(first, first + searched)
            visits[places] = tree.arm_visits[arms]
            values[places] = np.where(visits[places] > 0, tree.mean[arms], -np.inf)
        if self._over_beliefs:
            values[:terminal] = self.model.terminal_rewards(observable, situation.beliefs)[0]
        sizes = np.where(np.isfinite(values), np.abs(values), 0.0) + scale
        best = int(first_best(values, sizes, np.zeros(1, dtype=np.int64))[0])
        return SearchResult(
            values, visits, best, simulations, int(self._work.counters[nodes.NODES]), self._is_exact, seconds
        )


def _stream(seed: int | tuple[int, ...]) -> int:
    """Where the random numbers of `seed` begin."""
    try:
        return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    except (TypeError, ValueError):
        raise AgentError(
            f"seed must be one or more whole numbers of at least 0; it is {seed}", field=("seed",)
        ) from None

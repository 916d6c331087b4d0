"""Seeded episodes, with the published random streams, as a check on the exact score and for worlds beyond its reach.

Episode i of seed s draws from PCG64(SeedSequence(s * 10000 + i)): first the hidden state, then one uniform number per
outcome that is not certain (`draws` has the rules). Agents share the streams, so their episodes are paired, and two
agents with one policy give identical rows. An agent's own randomness (finite precision) comes from a separate stream
of the same seed. All episodes of a chunk walk the merged belief graph in step, so each belief is decided once, however
many episodes meet there.

The loop it agrees with, for one episode:

    state = draw_state(rng, world.prior)
    while not ended and steps < cap:
        action = decide(problem, agent, situation).choice
        outcome = draw from P(. | state, action) with rng.random()
        situation = observe(problem, situation, action, outcome)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from rhoplan.agent import Agent
from rhoplan.draws import draw_state, outcome_order
from rhoplan.errors import AgentError, ProblemError
from rhoplan.planning.graph import shared_graph
from rhoplan.policy import Policy
from rhoplan.problem import Array, Ids, Problem
from rhoplan.scoring import best_commits, check_same_names
from rhoplan.situation import impossible

PUBLISHED_SEEDS = (42, 123, 456, 789, 1024)

CHUNK = 5000
"""Episodes that walk together: enough to share the cost of a step, few enough to keep every core busy."""

BLOCK = 32
"""Uniform numbers drawn per episode at first; an episode that needs more draws its stream again, twice as long."""


@dataclass(frozen=True)
class Episodes:
    """One row per episode, in order of seed and number: what it paid and took, whether it succeeded or was cut off,
    and the log of the probability that its final belief gave the true state. Each array (n,)."""

    reward: Array
    tests: Ids
    success: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    log_score: Array


@dataclass(frozen=True)
class Estimate:
    """Means over episodes with their standard errors; the same columns as the exact `Score`."""

    reward: float
    reward_se: float
    reward_sd: float
    tests: float
    tests_se: float
    success: float
    success_se: float
    truncated: float
    truncated_se: float
    log_score: float
    log_score_se: float
    tests_distribution: tuple[float, ...]
    episodes: int
    seeds: tuple[int, ...]


def simulate(
    problem: Problem,
    agent: Agent,
    *,
    world: Problem | None = None,
    seeds: Sequence[int] = PUBLISHED_SEEDS,
    episodes: int = 1000,
    cap: int | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Estimate:
    """Score of `agent` (whose model is `problem`) estimated from `episodes` episodes for each of `seeds` in `world`."""
    rows = simulate_episodes(
        problem, agent, world=world, seeds=seeds, episodes=episodes, cap=cap, jobs=jobs, progress=progress
    )
    return summarise(rows, tuple(seeds))


def simulate_episodes(
    problem: Problem,
    agent: Agent,
    *,
    world: Problem | None = None,
    seeds: Sequence[int] = PUBLISHED_SEEDS,
    episodes: int = 1000,
    cap: int | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Episodes:
    """The episodes themselves. The result does not depend on `jobs`; `progress` is told how many are done since."""
    if not problem.is_flat:
        raise ProblemError(f"'{problem.name}' is not an observe-then-commit problem")
    if episodes < 1 or not seeds:
        raise AgentError(f"there must be at least one episode and one seed; there are {episodes} and {len(seeds)}")
    if min(seeds) < 0:
        raise AgentError(f"seeds must not be negative; {min(seeds)} is")
    if jobs < 1:
        raise AgentError(f"jobs must be at least 1; it is {jobs}")
    if world is not None:
        check_same_names(problem, world)
    steps = problem.cap if cap is None else cap
    chunks = [(seed, first, min(first + CHUNK, episodes)) for seed in seeds for first in range(0, episodes, CHUNK)]
    walker = (problem, agent, problem if world is None else world, steps)
    parts: list[Episodes] = []
    for (_, first, last), part in zip(chunks, _run(walker, chunks, jobs), strict=True):
        parts.append(part)
        if progress:
            progress(last - first)
    columns = Episodes.__dataclass_fields__
    return Episodes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns})


def summarise(rows: Episodes, seeds: tuple[int, ...]) -> Estimate:
    """Means and standard errors of `rows`."""
    count = len(rows.reward)

    def mean(values: NDArray[np.generic]) -> tuple[float, float]:
        numbers = values.astype(float)
        if count < 2 or not np.all(np.isfinite(numbers)):
            return float(numbers.mean()), float("nan")
        return float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(count))

    reward, reward_se = mean(rows.reward)
    tests, tests_se = mean(rows.tests)
    success, success_se = mean(rows.success)
    truncated, truncated_se = mean(rows.truncated)
    log_score, log_score_se = mean(rows.log_score)
    return Estimate(
        reward, reward_se, reward_se * float(np.sqrt(count)), tests, tests_se, success, success_se,
        truncated, truncated_se, log_score, log_score_se,
        tests_distribution=tuple(float(share) for share in np.bincount(rows.tests) / count),
        episodes=count,
        seeds=seeds,
    )  # fmt: skip


Walker = tuple[Problem, Agent, Problem, int]
Chunk = tuple[int, int, int]


def _run(walker: Walker, chunks: list[Chunk], jobs: int) -> Iterator[Episodes]:
    if jobs == 1 or len(chunks) == 1:
        walk = _Walk(*walker)
        yield from (walk.chunk(*chunk) for chunk in chunks)
        return
    with (
        _single_threaded_children(),
        ProcessPoolExecutor(
            min(jobs, len(chunks)), mp_context=get_context("spawn"), initializer=_start_worker, initargs=(walker,)
        ) as pool,
    ):
        yield from pool.map(_work, chunks)


_worker: _Walk | None = None


def _start_worker(walker: Walker) -> None:
    global _worker
    _worker = _Walk(*walker)


def _work(chunk: Chunk) -> Episodes:
    assert _worker is not None
    return _worker.chunk(*chunk)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Processes started inside use one thread each for linear algebra: the cores are busy with other episodes."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Walk:
    """An agent walking its graph while a world draws the outcomes."""

    def __init__(self, problem: Problem, agent: Agent, world: Problem, cap: int) -> None:
        self.policy = Policy(shared_graph(problem), agent)
        self.graph, self.world, self.cap = self.policy.graph, world, cap
        self.state_place = np.array([problem.states.index(state) for state in world.states])
        rewards = {commit.name: commit.reward for commit in world.flat.commits}
        self.commit_reward = np.stack([rewards[commit.name] for commit in problem.flat.commits])
        self.commit_best = best_commits(self.commit_reward)
        self._menus: dict[int, tuple[Array, Ids, Array]] = {}

    def chunk(self, seed: int, first: int, last: int) -> Episodes:
        """Episodes `first` to `last` (not included) of `seed`."""
        streams = _Streams(self.world.prior, seed, first, last, own=not self.policy.is_deterministic)
        count, states, graph = last - first, streams.states, self.graph
        nodes = np.full(count, graph.root)
        reward = np.zeros(count)
        tests = np.zeros(count, dtype=np.int64)
        success = np.zeros(count, dtype=bool)
        truncated = np.zeros(count, dtype=bool)
        drawn = np.zeros(count, dtype=np.int64)
        active = np.arange(count)
        for step in range(self.cap):
            slots, commits = self._act(nodes[active], streams, active, step)
            ends = active[slots < 0]
            chosen = commits[slots < 0]
            reward[ends] += self.commit_reward[chosen, states[ends]]
            success[ends] = self.commit_best[chosen, states[ends]] > 0
            active, slots = active[slots >= 0], slots[slots >= 0]
            if not active.size:
                break
            uniforms = streams.uniforms(active, drawn[active])
            for visible, positions in graph.by_visible(nodes[active]):
                walkers, taken = active[positions], slots[positions]
                cumulative, order, cost = self._menu(visible)
                row = cumulative[taken, states[walkers]]
                outcome = order[taken, states[walkers], (uniforms[positions, None] >= row).sum(axis=1)]
                drawn[walkers] += row[:, 0] < 1.0
                reward[walkers] += cost[taken]
                nodes[walkers] = self._follow(nodes[walkers], taken, outcome)
            tests[active] += 1
        else:
            truncated[active] = True
        place = self.state_place[states]
        with np.errstate(divide="ignore"):
            log_score = np.log(graph.beliefs(nodes)[np.arange(count), place])
        return Episodes(reward, tests, success, truncated, log_score)

    def _act(self, nodes: Ids, streams: _Streams, walkers: Ids, step: int) -> tuple[Ids, Ids]:
        """Slot taken (n,), -1 to commit, and the commit (n,) it would be."""
        if self.policy.is_deterministic:
            self.policy.settle(np.unique(nodes))
            return self.policy.choice[nodes], self.policy.ending[nodes]
        distinct, place = np.unique(nodes, return_inverse=True)
        ending, going = self.policy.probabilities(distinct)
        cumulative = np.cumsum(np.concatenate([ending, going], axis=1), axis=1)[place]
        drawn = (streams.own_uniforms(walkers, step)[:, None] >= cumulative / cumulative[:, -1:]).sum(axis=1)
        commits = ending.shape[1]
        return np.where(drawn < commits, -1, drawn - commits), np.minimum(drawn, commits - 1)

    def _follow(self, nodes: Ids, slots: Ids, outcomes: Ids) -> Ids:
        targets = self.graph.next[nodes, slots, outcomes]
        lost = np.flatnonzero(targets < 0)
        if lost.size:
            node, slot, outcome = (int(values[lost[0]]) for values in (nodes, slots, outcomes))
            action = self.graph.menus[int(self.graph.visible[node])].going[slot]
            raise impossible(self.graph.problem, self.graph.situation(node).belief, action, action.outcomes[outcome])
        return targets.astype(np.int64)

    def _menu(self, visible: int) -> tuple[Array, Ids, Array]:
        """Of the world's tests in the slots of one visible state: cumulative probabilities and the outcomes they stand
        for, as the agent numbers them (M, S, O), and rewards (M,)."""
        if visible not in self._menus:
            tests = {test.name: test for test in self.world.flat.tests}
            going = self.graph.menus[visible].going
            shape = (len(going), len(self.world.states), max(len(action.outcomes) for action in going))
            cumulative, order, cost = np.ones(shape), np.zeros(shape, dtype=np.int64), np.zeros(len(going))
            for slot, action in enumerate(going):
                test = tests[action.name]
                mine = np.array([action.outcomes.index(outcome) for outcome in test.outcomes])
                place, sums = outcome_order(test.likelihood)
                cumulative[slot, :, : len(mine)] = sums
                order[slot, :, : len(mine)] = mine[place]
                order[slot, :, len(mine) :] = order[slot, :, len(mine) - 1 : len(mine)]
                cost[slot] = -test.cost
            self._menus[visible] = cumulative, order, cost
        return self._menus[visible]


class _Streams:
    """The published random stream of each episode of a chunk."""

    def __init__(self, prior: Array, seed: int, first: int, last: int, *, own: bool) -> None:
        self.prior = prior
        self.entropy = seed * 10000 + np.arange(first, last)
        self.states = np.empty(last - first, dtype=np.int64)
        self._drawn = np.empty((last - first, BLOCK))
        for row, entropy in enumerate(self.entropy.tolist()):
            generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
            self.states[row] = draw_state(generator, prior)
            self._drawn[row] = generator.random(BLOCK)
        self._own = np.empty((last - first, 0)) if own else None

    def uniforms(self, walkers: Ids, places: Ids) -> Array:
        """The uniform number (n,) at `places` in the streams of the episodes `walkers`, all that are still going on."""
        if places.max() >= self._drawn.shape[1]:
            longer = np.empty((len(self._drawn), 2 * self._drawn.shape[1]))
            for row in walkers.tolist():
                generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(int(self.entropy[row]))))
                draw_state(generator, self.prior)
                longer[row] = generator.random(longer.shape[1])
            self._drawn = longer
        result: Array = self._drawn[walkers, places]
        return result

    def own_uniforms(self, walkers: Ids, step: int) -> Array:
        """The `step`-th number (n,) of the agent's own stream in the episodes `walkers`."""
        assert self._own is not None
        if step >= self._own.shape[1]:
            self._own = np.empty((len(self._own), max(BLOCK, 2 * self._own.shape[1])))
            for row in walkers.tolist():
                sequence = np.random.SeedSequence(int(self.entropy[row]), spawn_key=(1,))
                self._own[row] = np.random.Generator(np.random.PCG64(sequence)).random(self._own.shape[1])
        result: Array = self._own[walkers, step]
        return result

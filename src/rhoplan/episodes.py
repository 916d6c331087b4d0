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
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from rhoplan.agent import Agent
from rhoplan.errors import AgentError
from rhoplan.problem import Problem
from rhoplan.scoring import check_same_names
from rhoplan.walk import Episodes, Walk

PUBLISHED_SEEDS = (42, 123, 456, 789, 1024)

LARGEST_SEED = 10**14

CHUNK = 5000
"""Episodes that walk together: enough to share the cost of a step, few enough to keep every core busy."""


@dataclass(frozen=True)
class Estimate:
    """Means over episodes with their standard errors; the same columns as the exact `Score`."""

    reward: float
    reward_se: float
    reward_sd: float
    discounted: float
    discounted_se: float
    tests: float
    tests_se: float
    success: float
    success_se: float
    truncated: float
    truncated_se: float
    log_score: float
    log_score_se: float
    steps: float
    steps_se: float
    tallies: dict[str, tuple[float, float]]
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
    if episodes < 1 or not seeds:
        raise AgentError(f"there must be at least one episode and one seed; there are {episodes} and {len(seeds)}")
    if min(seeds) < 0 or max(seeds) > LARGEST_SEED:
        raise AgentError(f"seeds must lie between 0 and {LARGEST_SEED}; they are {', '.join(map(str, seeds))}")
    ordered = sorted(seeds)
    for seed, following in pairwise(ordered):
        if seed * 10000 + episodes > following * 10000:
            raise AgentError(
                f"seeds {seed} and {following} share episodes when there are {episodes}: seed s takes the streams from "
                "s * 10000 on; choose seeds further apart"
            )
    if jobs < 1:
        raise AgentError(f"jobs must be at least 1; it is {jobs}")
    if world is not None:
        check_same_names(problem, world)
    steps = problem.cap if cap is None else cap
    if steps < 1:
        raise AgentError(f"cap must be at least 1; it is {steps}")
    chunks = [(seed, first, min(first + CHUNK, episodes)) for seed in seeds for first in range(0, episodes, CHUNK)]
    walker = (problem, agent, problem if world is None else world, steps)
    parts: list[Episodes] = []
    for (_, first, last), part in zip(chunks, _run(walker, chunks, jobs), strict=True):
        parts.append(part)
        if progress:
            progress(last - first)
    columns = [name for name in Episodes.__dataclass_fields__ if name != "tallies"]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    tallies = {name: np.concatenate([part.tallies[name] for part in parts]) for name in parts[0].tallies}
    return Episodes(**joined, tallies=tallies)


def summarise(rows: Episodes, seeds: tuple[int, ...]) -> Estimate:
    """Means and standard errors of `rows`."""
    count = len(rows.reward)

    def mean(values: NDArray[np.generic]) -> tuple[float, float]:
        numbers = values.astype(float)
        if count < 2 or not np.all(np.isfinite(numbers)):
            return float(numbers.mean()), float("nan")
        return float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(count))

    reward, reward_se = mean(rows.reward)
    discounted, discounted_se = mean(rows.discounted)
    tests, tests_se = mean(rows.tests)
    success, success_se = mean(rows.success)
    truncated, truncated_se = mean(rows.truncated)
    log_score, log_score_se = mean(rows.log_score)
    steps, steps_se = mean(rows.steps)
    return Estimate(
        reward, reward_se, reward_se * float(np.sqrt(count)), discounted, discounted_se,
        tests, tests_se, success, success_se,
        truncated, truncated_se, log_score, log_score_se, steps, steps_se,
        tallies={name: mean(values) for name, values in rows.tallies.items()},
        tests_distribution=tuple(float(share) for share in np.bincount(rows.tests) / count),
        episodes=count,
        seeds=seeds,
    )  # fmt: skip


Walker = tuple[Problem, Agent, Problem, int]
Chunk = tuple[int, int, int]


def _run(walker: Walker, chunks: list[Chunk], jobs: int) -> Iterator[Episodes]:
    if jobs == 1 or len(chunks) == 1:
        walk = Walk(*walker)
        yield from (walk.chunk(*chunk) for chunk in chunks)
        return
    with (
        _single_threaded_children(),
        ProcessPoolExecutor(
            min(jobs, len(chunks)), mp_context=get_context("spawn"), initializer=_start_worker, initargs=(walker,)
        ) as pool,
    ):
        yield from pool.map(_work, chunks)


_worker: Walk | None = None


def _start_worker(walker: Walker) -> None:
    global _worker
    _worker = Walk(*walker)


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

"""Seeded episodes, with the published random streams, as a check on the exact score and for worlds beyond its reach.

Episode i of seed s draws from PCG64(SeedSequence(s * 10000 + i)): first the hidden state, then one uniform number per
outcome that is not certain (`draws` has the rules). Agents share the streams, so their episodes are paired, and two
agents with one policy give identical rows. An agent's own randomness (finite precision) comes from a separate stream
of the same seed. All episodes of a chunk walk the merged belief graph in step, so each belief is decided once, however
many episodes meet there.

A mean is no surer than its standard error is true. Where the exact spread is cheap to have, the errors come from it;
elsewhere they come from the episodes, and a loss that can happen and did not is told.

The loop it agrees with, for one episode:

    state = draw_state(rng, world.prior)
    while not ended and steps < cap:
        action = decide(problem, agent, situation).choice
        outcome = draw from P(. | state, action) with rng.random()
        situation = observe(problem, situation, action, outcome)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import AgentError, ImpossibleEvidence, LimitError, expect
from rhoplan.following.worlds import check_world
from rhoplan.graph.graph import shared_graph
from rhoplan.graph.menu import most_nodes
from rhoplan.model.horizon import cut_off_worth
from rhoplan.model.pomdp import Problem
from rhoplan.scoring.episode_table import Episodes
from rhoplan.scoring.episodes import HALF, SHARE_KEPT, Walk
from rhoplan.scoring.evaluate import ExactScore, evaluate
from rhoplan.scoring.intervals import wilson
from rhoplan.work.processes import process_pool, quiet_start

PUBLISHED_SEEDS = (42, 123, 456, 789, 1024)

LARGEST_SEED = 10**14

CHUNK = 5000
"""Episodes that walk together: enough to share the cost of a step, few enough to keep every core busy."""

EXACT_NODES = 20_000
"""Situations up to which the exact spread is worked out beside a simulation: well below a second."""

ONE_SE = math.erf(math.sqrt(0.5))
"""Share of a normal distribution within one standard error."""


@dataclass(frozen=True)
class UnseenLoss:
    """The worst that an action taken could have paid, where no episode met it.

    reward: that payment. worst_seen: the worst single payment of the episodes. chance: how often per episode it is to
    be expected, by what the agent believed when it acted.
    """

    reward: float
    worst_seen: float
    chance: float


@dataclass(frozen=True)
class Estimate:
    """Means over episodes with their standard errors; the same columns as the exact `ExactScore`.

    se_from: `exact` where the spread of reward, tests, steps, success and truncated is the exact one, `sample` where
    it is that of the episodes; log_score, information, tallies and a discounted reward have that of the episodes
    always. Of a share
    the sample's error is half of Wilson's interval, which is not 0 where all or none succeeded.
    discounted_tail: how far `discounted` can be from what it is without the cap, NaN where nothing bounds it.
    success_interval: Wilson's, 95%; NaN where nothing counts as success. unseen_loss: with errors from the sample, the
    largest loss possible where it was not met.
    """

    reward: float
    reward_se: float
    reward_sd: float
    discounted: float
    discounted_se: float
    discounted_tail: float
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
    information: float
    information_se: float
    tallies: dict[str, tuple[float, float]]
    tests_distribution: tuple[float, ...]
    episodes: int
    seeds: tuple[int, ...]
    se_from: str
    success_interval: tuple[float, float]
    unseen_loss: UnseenLoss | None


def simulate(
    problem: Problem,
    agent: BoundAgent,
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
    steps = problem.cap if cap is None else cap
    exact = cheap_score(problem, agent, world=world, cap=steps)
    found = summarise(rows, tuple(seeds), exact=exact, cap=steps)
    return replace(found, discounted_tail=cut_off_worth(world or problem, found.truncated, steps))


def cheap_score(problem: Problem, agent: BoundAgent, *, world: Problem | None, cap: int) -> ExactScore | None:
    """The exact score where a small graph holds it; None elsewhere."""
    if not problem.observes_then_commits or not agent.planner.is_fixed:
        return None
    apart = replace(problem)  # with a graph of its own: the shared one keeps its limit
    shared_graph(apart).node_limit = EXACT_NODES
    try:
        return evaluate(apart, agent, world=None if world is problem else world, cap=cap)
    except (LimitError, ImpossibleEvidence):
        return None


def simulate_episodes(
    problem: Problem,
    agent: BoundAgent,
    *,
    world: Problem | None = None,
    seeds: Sequence[int] = PUBLISHED_SEEDS,
    episodes: int = 1000,
    cap: int | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Episodes:
    """The episodes themselves. The result does not depend on `jobs`; `progress` is told how many are done since."""
    expect(problem, Problem, "make")
    expect(agent, BoundAgent, "agent")
    if episodes < 1 or not seeds:
        raise AgentError(
            f"there must be at least one episode and one seed; there are {episodes} and {len(seeds)}",
            field=("episodes",) if episodes < 1 else ("seeds",),
            code="setting-range",
        )
    if min(seeds) < 0 or max(seeds) > LARGEST_SEED:
        raise AgentError(
            f"seeds must lie between 0 and {LARGEST_SEED}; they are {', '.join(map(str, seeds))}",
            field=("seeds",),
            code="setting-range",
        )
    ordered = sorted(seeds)
    for seed, following in pairwise(ordered):
        if seed * 10000 + episodes > following * 10000:
            raise AgentError(
                f"seeds {seed} and {following} share episodes when there are {episodes}: seed s takes the streams from "
                "s * 10000 on; choose seeds further apart",
                field=("seeds",),
                code="setting-range",
            )
    if jobs < 1:
        raise AgentError(f"jobs must be at least 1; it is {jobs}", field=("jobs",), code="setting-range")
    if world is not None:
        check_world(problem, world)
    steps = problem.cap if cap is None else cap
    if steps < 1:
        raise AgentError(f"cap must be at least 1; it is {steps}", field=("cap",), code="setting-range")
    size = max(1, min(CHUNK, most_nodes(problem) // (SHARE_KEPT * HALF)))  # where beliefs are long, few are carried on
    chunks = [(seed, first, min(first + size, episodes)) for seed in seeds for first in range(0, episodes, size)]
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


def summarise(rows: Episodes, seeds: tuple[int, ...], *, exact: ExactScore | None = None, cap: int = 0) -> Estimate:
    """Means of `rows` with standard errors: from the spread of `exact`, whose cap was `cap`, or else from the rows."""
    count = len(rows.reward)

    def mean(values: NDArray[np.generic], sd: float | None = None) -> tuple[float, float]:
        numbers = values.astype(float)
        if sd is None:
            several = count > 1 and bool(np.all(np.isfinite(numbers)))
            sd = float(numbers.std(ddof=1)) if several else math.nan
        return float(numbers.mean()), sd / math.sqrt(count)

    def share(values: NDArray[np.generic], chance: float | None) -> tuple[float, float]:
        found = float(values.astype(float).mean())
        if chance is not None:
            return found, math.sqrt(max(chance * (1 - chance), 0.0) / count)
        if math.isnan(found):
            return found, math.nan
        interval = wilson(round(found * count), count, confidence=ONE_SE)
        return found, (interval.upper - interval.lower) / 2

    spread = exact.reward_sd if exact else None
    reward, reward_se = mean(rows.reward, spread)
    fades = not np.array_equal(rows.discounted, rows.reward)
    discounted, discounted_se = mean(rows.discounted, None if fades else spread)
    tests, tests_se = mean(rows.tests, _spread(exact) if exact else None)
    success, success_se = share(rows.success, exact.success if exact else None)
    truncated, truncated_se = share(rows.truncated, exact.truncated if exact else None)
    log_score, log_score_se = mean(rows.log_score)
    # Where one observes, then commits, an episode has a step more than tests, unless the cap ends it.
    steps, steps_se = mean(rows.steps, _spread(exact, more=1, most=cap) if exact else None)
    bounds = (math.nan, math.nan)
    if not math.isnan(success):
        interval = wilson(round(success * count), count)
        bounds = interval.lower, interval.upper
    return Estimate(
        reward, reward_se, reward_se * math.sqrt(count), discounted, discounted_se, math.nan,
        tests, tests_se, success, success_se,
        truncated, truncated_se, log_score, log_score_se, steps, steps_se, *mean(rows.information),
        tallies={name: mean(values) for name, values in rows.tallies.items()},
        tests_distribution=tuple(float(share) for share in np.bincount(rows.tests) / count),
        episodes=count,
        seeds=seeds,
        se_from="exact" if exact else "sample",
        success_interval=bounds,
        unseen_loss=None if exact else _unseen_loss(rows),
    )  # fmt: skip


def _unseen_loss(rows: Episodes) -> UnseenLoss | None:
    feared, seen = float(rows.worst_possible.min()), float(rows.worst_paid.min())
    if feared >= seen:
        return None
    return UnseenLoss(feared, seen, float(np.where(rows.worst_possible <= feared, rows.worst_chance, 0.0).mean()))


def _spread(score: ExactScore, more: int = 0, most: float = math.inf) -> float:
    """Spread of the number of tests, and `more`, but at most `most`."""
    weights = np.array(score.tests_distribution)
    values = np.minimum(np.arange(len(weights), dtype=float) + more, most)
    return math.sqrt(max(float((values - float(values @ weights)) ** 2 @ weights), 0.0))


Walker = tuple[Problem, BoundAgent, Problem, int]
Chunk = tuple[int, int, int]


def _run(walker: Walker, chunks: list[Chunk], jobs: int) -> Iterator[Episodes]:
    if jobs == 1 or len(chunks) == 1:
        walk = Walk(*walker)
        yield from (walk.chunk(*chunk) for chunk in chunks)
        return
    with process_pool(min(jobs, len(chunks)), _start_worker, walker) as pool:
        with quiet_start():
            found = pool.map(_work, chunks)
        yield from found


_worker: Walk | None = None


def _start_worker(walker: Walker) -> None:
    global _worker
    _worker = Walk(*walker)


def _work(chunk: Chunk) -> Episodes:
    assert _worker is not None
    return _worker.chunk(*chunk)

"""Scores estimated from seeded episodes, as a check on the exact score and for problems beyond its reach.

`streams` has the published random numbers, `rollout` the loop. Where the exact score is cheap, its variances give the
standard errors; elsewhere the episodes do, and a loss that was possible and did not occur is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from rhoplan.budget import Budget
from rhoplan.errors import AgentError, ImpossibleEvidence, LimitError, expect
from rhoplan.evaluation import exact
from rhoplan.evaluation.episodes import Episodes, EpisodeStep
from rhoplan.evaluation.rollout import Rollout, RolloutSettings
from rhoplan.evaluation.score import QUANTITIES, Score, UnseenLoss
from rhoplan.evaluation.streams import LARGEST_SEED, PUBLISHED_SEEDS, STRIDE
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import cut_off_worth
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.model.worlds import in_names_of
from rhoplan.parallel import run_jobs
from rhoplan.planning.policy import Policy

EXACT_NODES = 20_000
"""Nodes up to which the exact score is computed beside a simulation: well below a second."""

ONE_SE = math.erf(math.sqrt(0.5))
"""Share of a normal distribution within one standard error."""

Job = tuple[int, int, int]
"""Seed, first episode and the one after the last."""

Progress = Callable[[int], None]
"""Called with the number of episodes done since the last call."""


def simulate(
    problem: POMDP,
    policy: Policy,
    *,
    seeds: Sequence[int] = PUBLISHED_SEEDS,
    episodes: int = 1000,
    world: POMDP | None = None,
    max_steps: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    cluster: str | None = None,
) -> Score:
    """The Score of `policy`, which believes in `problem`, from `episodes` episodes for each of `seeds` in `world`.

    jobs: processes on this machine. cluster: address of the scheduler of a Dask cluster to use instead.
    """
    where: dict[str, Any] = {"jobs": jobs, "cluster": cluster, "progress": progress}
    rows = simulate_episodes(problem, policy, world=world, seeds=seeds, episodes=episodes, max_steps=max_steps, **where)
    steps = problem.cap if max_steps is None else max_steps
    found = cheap_score(problem, policy, world=world, max_steps=steps)
    return summarise(rows, tuple(seeds), world=world or problem, max_steps=steps, exact=found)


def simulate_episodes(
    problem: POMDP,
    policy: Policy,
    *,
    seeds: Sequence[int] = PUBLISHED_SEEDS,
    episodes: int = 1000,
    world: POMDP | None = None,
    max_steps: int | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    cluster: str | None = None,
    settings: RolloutSettings | None = None,
) -> Episodes:
    """The episodes themselves. The result does not depend on where they are simulated."""
    expect(problem, POMDP, "make")
    check_seeds(seeds, episodes)
    if jobs < 1:
        raise _refused(f"jobs must be at least 1; it is {jobs}", "jobs")
    rollout = _rollout(problem, policy, world, max_steps, settings or RolloutSettings())
    size = rollout.settings.batch_for(problem)
    batches = [(seed, first, min(first + size, episodes)) for seed in seeds for first in range(0, episodes, size)]
    parts: dict[Job, Episodes] = {}
    for batch, part in run_jobs(partial(_episodes, rollout), batches, workers=jobs, cluster=cluster):
        parts[batch] = part
        if progress:
            progress(len(part))
    return Episodes.joined([parts[batch] for batch in batches])


def episode(
    problem: POMDP, policy: Policy, *, seed: int = 0, world: POMDP | None = None, max_steps: int | None = None
) -> Iterator[EpisodeStep]:
    """The steps of one episode: of the first one that `simulate_episodes` has for `seed`."""
    return _rollout(problem, policy, world, max_steps, RolloutSettings()).episode(seed)


def check_seeds(seeds: Sequence[int], episodes: int) -> None:
    """Raise AgentError unless there are episodes and seeds whose streams differ."""
    if episodes < 1 or not seeds:
        raise _refused(
            f"there must be at least one episode and one seed; there are {episodes} and {len(seeds)}",
            "episodes" if episodes < 1 else "seeds",
        )
    if min(seeds) < 0 or max(seeds) > LARGEST_SEED:
        raise _refused(f"seeds must lie between 0 and {LARGEST_SEED}; they are {', '.join(map(str, seeds))}", "seeds")
    for seed, following in pairwise(sorted(seeds)):
        if seed * STRIDE + episodes > following * STRIDE:
            raise _refused(
                f"seeds {seed} and {following} share episodes when there are {episodes}: seed s takes the streams from "
                f"s * {STRIDE} on; choose seeds further apart",
                "seeds",
            )


def cheap_score(problem: POMDP, policy: Policy, *, world: POMDP | None, max_steps: int) -> Score | None:
    """The exact score if the problem observes, then commits, and a small belief graph holds it; else None."""
    if not problem.observes_then_commits or policy.samples:
        return None
    graph, truth = BeliefGraph(problem, budget=Budget(nodes=EXACT_NODES)), None
    try:
        if world is not None and world is not problem:
            truth = BeliefGraph(in_names_of(problem, world), budget=graph.budget)
        return exact.score(policy.on(graph), steps=max_steps, world=truth)
    except (LimitError, ImpossibleEvidence):
        return None


def summarise(
    rows: Episodes, seeds: tuple[int, ...], *, world: POMDP, max_steps: int, exact: Score | None = None
) -> Score:
    """Means of `rows` with standard errors: from the variances of `exact`, or else from the rows."""
    count = len(rows)
    columns = {name: getattr(rows, name).astype(float) for name in QUANTITIES}
    means: dict[str, Any] = {name: float(column.mean()) for name, column in columns.items()}
    errors = {name: _sample_sd(column) / math.sqrt(count) for name, column in (columns | rows.tallies).items()}
    success = (math.nan, math.nan)
    for name in ("success", "truncated"):
        if not math.isnan(means[name]):  # half of Wilson's interval, which is not 0 if all or none succeed
            lower, upper = wilson(round(means[name] * count), count, confidence=ONE_SE)
            errors[name] = (upper - lower) / 2
    if not math.isnan(means["success"]):
        success = wilson(round(means["success"] * count), count)
    if exact is not None:
        errors |= {name: sd / math.sqrt(count) for name, sd in _exact_sds(exact, rows, max_steps).items()}
    return Score(
        "estimated",
        **means,
        reward_sd=errors["reward"] * math.sqrt(count),
        discounted_tail=cut_off_worth(world, means["truncated"], max_steps),
        tests_distribution=tuple((np.bincount(rows.tests) / count).tolist()),
        tallies={name: float(values.mean()) for name, values in rows.tallies.items()},
        se=errors,
        episodes=count,
        seeds=seeds,
        se_from="sample" if exact is None else "exact",
        success_interval=success,
        unseen_loss=_unseen_loss(rows) if exact is None else None,
    )


def wilson(successes: float, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for the share behind `successes` out of `n`; it is never empty, even at 0 or n successes.

    In closed form: `scipy.stats`, which has it, takes most of a second to import.
    """
    if n < 1 or not 0 <= successes <= n or not 0 < confidence < 1:
        raise ValueError(f"successes must lie between 0 and n, and n be at least 1; they are {successes:g} and {n}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = successes / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends of the scale the formula gives exactly 0 and 1, up to rounding.
    return 0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half


def _rollout(
    problem: POMDP, policy: Policy, world: POMDP | None, max_steps: int | None, settings: RolloutSettings
) -> Rollout:
    steps = problem.cap if max_steps is None else max_steps
    if steps < 1:
        raise _refused(f"max_steps must be at least 1; it is {steps}", "max_steps")
    truth = problem if world is None or world is problem else in_names_of(problem, world)
    return Rollout(problem, policy, truth, steps, settings)


def _episodes(rollout: Rollout, job: Job) -> Episodes:
    return rollout.episodes(*job)


def _sample_sd(values: Array) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 and bool(np.all(np.isfinite(values))) else math.nan


def _exact_sds(exact: Score, rows: Episodes, max_steps: int) -> dict[str, float]:
    """Standard deviations of one episode that the exact score gives."""

    def sd(values: Array) -> float:
        return math.sqrt(max(float((values - float(values @ weights)) ** 2 @ weights), 0.0))

    weights = np.array(exact.tests_distribution)
    tests = np.arange(len(weights), dtype=float)
    # These problems observe, then commit: an episode has a step more than tests, unless it is cut off.
    found = {"reward": exact.reward_sd, "tests": sd(tests), "steps": sd(np.minimum(tests + 1, max_steps))}
    for name, share in (("success", exact.success), ("truncated", exact.truncated)):
        found[name] = math.sqrt(max(share * (1 - share), 0.0))
    if np.array_equal(rows.discounted, rows.reward):
        found["discounted"] = exact.reward_sd
    return found


def _unseen_loss(rows: Episodes) -> UnseenLoss | None:
    possible, seen = float(rows.worst_possible.min()), float(rows.worst_paid.min())
    if possible >= seen:
        return None
    return UnseenLoss(possible, seen, float(np.where(rows.worst_possible <= possible, rows.worst_chance, 0.0).mean()))


def _refused(message: str, field: str) -> AgentError:
    return AgentError(message, field=(field,), code="setting-range")

"""How a study gets its numbers: it asks for jobs, and is built again once they are done.

`Context.results` gives the results of jobs, or raises Pending with those that are missing. A study asks for all it
needs as early as it can, so that one round of jobs is mostly enough; nothing has to be declared twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan_paper.jobs import Job, job

Result = Mapping[str, Any]
Key = TypeVar("Key")

UNITS = ("bits", "nats")

QUICK_SHARE = 10
"""A quick run simulates one episode in so many of the published protocol, ..."""

QUICK_LEAST = 40
"""... but at least so many per seed, or what the protocol has."""


class Pending(Exception):
    """Jobs that must be done before a study can be built."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs = tuple(jobs)
        super().__init__(f"{len(self.jobs)} jobs to do")


@dataclass
class Context:
    """Where studies get results. full: the published protocol, else a share of it. reused: results from before."""

    full: bool = False
    known: dict[Job, dict[str, Any]] = field(default_factory=dict)
    reused: int = 0

    def results(self, jobs: Iterable[Job]) -> list[dict[str, Any]]:
        """The results of `jobs`, in order; Pending where some are not there yet."""
        wanted = list(jobs)
        missing = [one for one in dict.fromkeys(wanted) if one not in self.known]
        if missing:
            raise Pending(missing)
        return [self.known[one] for one in wanted]

    def result(self, wanted: Job) -> dict[str, Any]:
        return self.results([wanted])[0]

    def episodes(self, per_seed: int) -> int:
        """How many episodes per seed to simulate where the protocol has `per_seed`."""
        return per_seed if self.full else min(per_seed, max(QUICK_LEAST, per_seed // QUICK_SHARE))


def score_job(problem: str, agent: str, **settings: Any) -> Job:
    """Exact score: horizon, weight, unit, discount, world, planner, cap may be given; see `measures.scores`."""
    return job("score", problem=problem, agent=agent, **settings)


def simulate_job(problem: str, agent: str, *, episodes: int, seeds: int = 5, **settings: Any) -> Job:
    """Episodes with the first `seeds` published seeds; settings as for `score_job`, and simulations."""
    chosen = list(PUBLISHED_SEEDS[:seeds])
    return job("simulated", problem=problem, agent=agent, episodes=episodes, seeds=chosen, **settings)


def exact_job(
    problem: str,
    agent: str,
    *,
    horizon: int | None = None,
    weight: float | None = None,
    unit: str = "nats",
    **more: Any,
) -> Job:
    """The exact score of an agent, with the same settings as in the tables, so that one job serves both.

    horizon None: the problem's own. The weight of efe is 1, that of planning and myopic is none.
    """
    if agent == "efe":
        weight = 1.0
    return score_job(
        problem, agent, horizon=horizon, weight=None if weight is None else float(weight), unit=unit, **more
    )


def unit_jobs(problem: str, agent: str, **settings: Any) -> dict[str, Job]:
    """The exact score of an agent by unit of its weight: in bits and in nats. settings: those of `exact_job`."""
    return {unit: exact_job(problem, agent, unit=unit, **settings) for unit in UNITS}


def efe_jobs(problem: str, horizon: int | None = None, **more: Any) -> dict[str, Job]:
    """The exact score of EFE by unit."""
    return unit_jobs(problem, "efe", horizon=horizon, **more)


def rival_jobs(problem: str, horizon: int | None = None, **more: Any) -> dict[str, Job]:
    """The exact score of Planning, under `planning`, and those of EFE by unit."""
    return {"planning": exact_job(problem, "planning", horizon=horizon, **more), **efe_jobs(problem, horizon, **more)}


def search_job(problem: str, planner: str, simulations: int, horizon: int, unit: str, episodes: int) -> Job:
    """Episodes with a search that samples: POMCP plans for reward alone, MCTS for EFE."""
    agent, weight = ("planning", None) if planner == "pomcp" else ("efe", 1.0)
    return simulate_job(
        problem, agent, episodes=episodes, planner=planner, simulations=simulations, horizon=horizon, weight=weight,
        unit=unit,
    )  # fmt: skip


def ask(context: Context, jobs: Mapping[Key, Job]) -> dict[Key, dict[str, Any]]:
    """The results of `jobs` under the same keys, asked for together."""
    return dict(zip(jobs, context.results(jobs.values()), strict=True))


def at_once(*askers: Callable[[], Any]) -> tuple[Any, ...]:
    """What each of `askers` gives; Pending with the jobs that all of them miss together."""
    given: list[Any] = []
    missing: list[Job] = []
    for one in askers:
        try:
            given.append(one())
        except Pending as pending:
            missing += pending.jobs
    if missing:
        raise Pending(dict.fromkeys(missing))
    return tuple(given)

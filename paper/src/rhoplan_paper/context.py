"""How a study gets its numbers: it asks for jobs, and is built again once they are done.

`Context.results` gives the results of jobs, or raises Pending with those that are missing. A study asks for all it
needs as early as it can, so that one round of jobs is mostly enough; nothing has to be declared twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rhoplan.scoring.simulate import PUBLISHED_SEEDS
from rhoplan_paper.jobs import Job, job

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
    """Exact score: horizon, weight, unit, discount, world, planner, cap may be given; see `measures.score`."""
    return job("score", problem=problem, agent=agent, **settings)


def simulate_job(problem: str, agent: str, *, episodes: int, seeds: int = 5, **settings: Any) -> Job:
    """Episodes with the first `seeds` published seeds; settings as for `score_job`, and simulations."""
    chosen = list(PUBLISHED_SEEDS[:seeds])
    return job("simulated", problem=problem, agent=agent, episodes=episodes, seeds=chosen, **settings)

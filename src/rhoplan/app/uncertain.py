"""What uncertain numbers mean as a plain record, for `rhoplan uncertainty --json` and the API, as people count."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rhoplan.app.records import describe

if TYPE_CHECKING:
    from rhoplan.advice.uncertain.knowing import Worth
    from rhoplan.advice.uncertain.uncertainty import Uncertainty
    from rhoplan.advice.uncertain.views import End
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.model.pomdp import POMDP


def uncertainty_record(
    problem: POMDP, agent: BoundAgent, found: Uncertainty, cases_per_year: float | None = None
) -> dict[str, Any]:
    """`found` with totals as people count them in this model: losses, or rewards. per_year: where cases are counted."""
    from rhoplan.advice.variations import at_stake, stake

    def worth(one: Worth) -> dict[str, Any]:
        per_year = None if cases_per_year is None else cases_per_year * one.value
        return {**asdict(one), "seed": None if one.kind == "exact" else found.seed, "per_year": per_year}

    def end(one: End) -> dict[str, Any]:
        return {**asdict(one), "kept": at_stake(problem, one.kept), "best": at_stake(problem, one.best)}

    ends = sorted([at_stake(problem, found.low), at_stake(problem, found.high)])
    ranked = {
        name: [{"name": one.name, "ids": list(one.ids), **worth(one.worth)} for one in rows]
        for name, rows in (("studies", found.studies), ("numbers", found.numbers))
    }
    return {
        **describe(problem, agent),
        "samples": found.samples,
        "seed": found.seed,
        "assumed_spread": found.assumed,
        "stake": stake(problem),
        "cases_per_year": cases_per_year,
        "given": [list(pair) for pair in found.given],
        "unavailable": list(found.unavailable),
        "words": list(found.words),
        "first": found.first,
        "chance_right": {"share": found.chance_right.share, "se": found.chance_right.se},
        "first_actions": [asdict(one) for one in found.right],
        "total": {
            "mean": at_stake(problem, found.worth),
            "kind": found.worth_kind,
            "se": found.worth_se,
            "low": ends[0],
            "high": ends[1],
        },
        "everything": worth(found.everything),
        **ranked,
        "tornado": [{**asdict(one), "low": end(one.low), "high": end(one.high)} for one in found.tornado],
        "map": found.map and asdict(found.map),
        "curve": found.curve and asdict(found.curve),
    }

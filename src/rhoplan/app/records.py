"""Results as plain records: the keys and numbers that the command line's `--json` and the HTTP API have in common.

Everything here takes finished results and returns maps, lists, text and numbers; nothing is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rhoplan.advice.case import Advice
    from rhoplan.advice.compare import Frontier, Row
    from rhoplan.advice.first import First
    from rhoplan.advice.outlay import Ahead
    from rhoplan.advice.part import Part
    from rhoplan.advice.uncertain.uncertainty import Sure
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.evaluation.score import Score
    from rhoplan.model.belief import Belief
    from rhoplan.model.pomdp import POMDP, Action
    from rhoplan.planning.certified.solve import SolveResult
    from rhoplan.planning.recommendation import Recommendation

SAME = 1e-9
"""Rewards that differ by less, as a share of the largest, come to the same."""


def one_or_more(records: list[dict[str, Any]]) -> Any:
    """A record by itself, several as a list."""
    return records[0] if len(records) == 1 else records


def describe(problem: POMDP, agent: BoundAgent) -> dict[str, Any]:
    """The keys that say whose result a record is."""
    from rhoplan.version import __version__

    whose = {"problem": problem.spec, "agent": agent.name, **agent.settings}
    return {**whose, "reward_unit": problem.unit, "notes": list(agent.notes), "version": __version__}


def decision_record(
    problem: POMDP,
    agent: BoundAgent,
    decision: Recommendation,
    given: Iterable[tuple[str, str]],
    situation: Belief,
) -> dict[str, Any]:
    """One decision in `situation`, with whose it is and what had been seen; with certified bounds where there are."""
    from rhoplan.advice.margin import certified, lead_of

    bounded = decision.bounds is not None
    kind = "estimated" if agent.planner.samples else "bounded" if bounded else "exact"
    told = asdict(decision)
    own = {name: told.pop(name) for name in ("bounds", "proven")}
    found = certified(agent, situation) if decision.bounds is None else own
    record = {**describe(problem, agent), "kind": kind, "given": [list(pair) for pair in given], **told}
    record |= asdict(lead_of(problem, agent, decision, found.get("bounds")))
    chosen = next(action.value for action in decision.actions if action.name == decision.choice)
    for action in record["actions"]:
        action["behind"] = chosen - action["value"]
    return {**record, **found}


def score_record(problem: POMDP, agent: BoundAgent, score: Score, world: POMDP | None) -> dict[str, Any]:
    """A score; `world` where it is not the agent's own model."""
    found = {"world": world.spec if world else None}
    found |= exact_record(score) if score.kind == "exact" else estimated_record(score)
    return {**describe(problem, agent), **found, **ceiling_record(world or problem)}


EXACT = (
    "kind", "reward", "reward_sd", "tests", "success", "truncated", "log_score", "tests_distribution", "dropped",
    "nodes", "tallies", "discounted", "discounted_tail", "steps", "information",
)  # fmt: skip
"""Keys of an exact score."""


ESTIMATED = (
    "kind", "reward", "reward_sd", "discounted", "discounted_tail", "tests", "success", "truncated", "log_score",
    "steps", "information", "tests_distribution", "episodes", "seeds", "se_from", "success_interval", "unseen_loss",
)  # fmt: skip
"""Keys of an estimated score, besides standard errors."""


def estimated_record(score: Score) -> dict[str, Any]:
    """A score estimated from episodes as plain data; `reward_se` is the standard error of `reward`."""
    found = {name: getattr(score, name) for name in ESTIMATED}
    found["unseen_loss"] = score.unseen_loss and asdict(score.unseen_loss)
    found |= {f"{name}_se": error for name, error in score.se.items() if name not in score.tallies}
    found["tallies"] = {name: (mean, score.se[name]) for name, mean in score.tallies.items()}
    return {**found, "episodes_per_seed": score.episodes // len(score.seeds)}


def exact_record(score: Score) -> dict[str, Any]:
    """An exact score as plain data."""
    return {name: getattr(score, name) for name in EXACT}


def estimate_record(problem: POMDP, agent: BoundAgent, score: Score, world: POMDP | None) -> dict[str, Any]:
    """An estimated score, its standard errors beside its means; `world` where it is not the agent's own model."""
    per_seed = score.episodes // len(score.seeds)
    told = asdict(score)
    errors = told.pop("se")
    told |= {f"{name}_se": error for name, error in errors.items() if name not in score.tallies}
    told["tallies"] = {name: (mean, errors[name]) for name, mean in score.tallies.items()}
    told |= {"world": world.spec if world else None, "episodes_per_seed": per_seed}
    for name in ("nodes", "dropped", "value", "value_tail"):  # of exact scores and of solutions
        del told[name]
    return {**describe(problem, agent), **told, **ceiling_record(world or problem)}


def solution_record(
    problem: POMDP, solution: SolveResult, *, weight: float, unit: str, discount: float, horizon: int | None
) -> dict[str, Any]:
    """Certified bounds, with what they are bounds for."""
    from rhoplan.version import __version__

    asked = {"problem": problem.spec, "weight": weight, "unit": unit, "discount": discount, "horizon": horizon}
    found = {"kind": "bounded", **asdict(replace(solution, policy=None)), "converged": solution.converged}
    del found["policy"], found["shares"], found["own"]
    if solution.certificate is not None:
        found["certificate"]["holds"] = solution.certificate.holds
    return {**asked, **found, "reward_unit": problem.unit, "version": __version__, "score": None}


def plan_score_record(problem: POMDP, score: Score) -> dict[str, Any]:
    """The score of a solved policy, its standard errors (0 where it is exact) beside its means."""
    record: dict[str, Any] = {"kind": score.kind, "cap": problem.cap, "episodes": score.episodes}
    for name in ("reward", "discounted", "information", "value", "steps"):
        record |= {name: getattr(score, name), f"{name}_se": score.error(name)}
    rest = ("discounted_tail", "value_tail", "truncated")
    return record | {name: getattr(score, name) for name in rest} | {"rarest": rarest(score)}


def rarest(score: Score) -> float:
    """Probability of what occurs at all in 95 of 100 estimates; 0 where the score is exact."""
    return min(3 / score.episodes, 1.0) if score.episodes else 0.0


def advice_record(problem: POMDP, agent: BoundAgent, advice: Advice) -> dict[str, Any]:
    """The advice on a case; `ahead` also says how many tests and what cost nine cases in ten do not exceed.

    What a commit comes to is also told as people count it in this model (`stake`): a loss, or a reward.
    """
    record = first_record(problem, agent, advice) | {"kind": advice.kinds["first"]}
    record["ahead"] = advice.ahead and ahead_record(advice.ahead)
    return record


def first_record(problem: POMDP, agent: BoundAgent, advice: First) -> dict[str, Any]:
    """What to do next, as `advice_record` has it; where there are bounds, options have those of what they are worth."""
    from rhoplan.advice.variations import at_stake

    record = {**describe(problem, agent), **asdict(advice)}
    record["entropy_bits"] = advice.entropy / math.log(2)
    behind, chances = record.pop("behind"), record.pop("chances")
    for option in record["options"]:
        option["behind"] = behind[option["test"]]
        if advice.bounds is not None:
            option["bounds"] = [bound - advice.stop.value for bound in advice.bounds[option["test"]]]
        option["outcomes"] = [{"outcome": name, "probability": p} for name, p in chances[option["test"]].items()]
    for stop in (record["stop"], *record["commits"]):
        stop["stake"], stop["behind"] = at_stake(problem, stop["value"]), behind[stop["commit"]]
    return record


def ahead_record(ahead: Ahead) -> dict[str, Any]:
    """What is still to come; also how many tests and what cost nine cases in ten do not exceed."""
    tests, cost = ahead.bad_case()
    return {**asdict(ahead), "tests_90": tests, "cost_90": cost}


def part_record(problem: POMDP, agent: BoundAgent, part: Part) -> dict[str, Any]:
    """A part of advice, and what kind of answer it is."""
    told: Any = None
    if part.content is not None:
        match part.name:
            case "first":
                told = first_record(problem, agent, part.content)
            case "ahead":
                known = {"episodes": None, "seed": None, "se": None} | (asdict(part.sampled) if part.sampled else {})
                told = {**ahead_record(part.content), "value_bounds": part.bounds, **known}
            case "cost-only":
                told = {"do": part.content}
            case "pathway":
                told = part.content.as_dict()
            case "comparison":
                told = comparison_record(problem, agent, *part.content)
            case "thresholds":
                told = part.content.as_dict()
            case "sensitivity":
                told = {"flips": [flip.as_dict() for flip in part.content]}
            case "uncertainty":
                told = sure_record(problem, part.content)
    return {"part": part.name, "kind": part.kind, "words": part.words, "content": told}


def sure_record(problem: POMDP, found: Sure) -> dict[str, Any]:
    """How sure the next action is; total: loss or reward from here on, as people count it in this model."""
    from rhoplan.advice.variations import at_stake

    ends = sorted([at_stake(problem, found.low), at_stake(problem, found.high)])
    total = {"mean": at_stake(problem, found.worth), "kind": found.worth_kind, "low": ends[0], "high": ends[1]}
    return {"action": found.action, "share": found.share, "se": found.se, "samples": found.samples, "total": total}


def comparison_record(problem: POMDP, agent: BoundAgent, rows: Iterable[Row], edge: Frontier | None) -> dict[str, Any]:
    """Ways of deciding side by side; totals also as people count them in this model (`stake`).

    cost_only_better_by: what the cost-only plan gains beyond the one asked for, where both are known and end.
    best: the place of the point of the frontier with the highest reward.
    """
    from rhoplan.advice.variations import at_stake

    told = []
    for row in rows:
        bounds = [at_stake(problem, bound) for bound in (row.lower, row.upper) if bound is not None]
        stake = None if row.reward is None else at_stake(problem, row.reward)
        told.append({**asdict(row), "stake": stake, "stake_bounds": sorted(bounds) or None})
    whole = {row.key: row.reward for row in rows if row.reward is not None and not row.is_cut}
    gain = whole["cost-only"] - whole["asked"] if {"cost-only", "asked"} <= whole.keys() else None
    found = None
    if edge is not None:
        found = asdict(edge)
        for point in found["points"]:
            point["stake"] = at_stake(problem, point["reward"])
        rewards = [point.reward for point in edge.points]
        found["best"] = rewards.index(max(rewards)) if rewards else None
    gain = 0.0 if gain is not None and abs(gain) <= SAME * abs(whole["asked"]) else gain
    record = {**describe(problem, agent), "kind": "exact", "rows": told}
    return {**record, "cost_only_better_by": gain, "frontier": found}


def parameter_records(
    problem: POMDP, agent: BoundAgent, own: tuple[POMDP, BoundAgent], *, most: int
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The first `most` parameters of each kind with their values, and how many of each kind there are.

    own: model and agent before anything was changed; they say which parameters there are, and the value `own` of each.
    """
    from rhoplan.advice.variations import likelihood_of, parameters
    from rhoplan.advice.words import parameter_name

    now = {parameter.id: parameter.value for parameter in parameters(problem, agent)}
    counts: dict[str, int] = {}
    records = []
    for one in parameters(*own):
        counts[one.kind] = counts.get(one.kind, 0) + 1
        if counts[one.kind] <= most:
            record = {"id": one.id, "parameter": parameter_name(one.kind, one.names), "kind": one.kind}
            value = likelihood_of(problem, *one.names) if one.kind == "likelihood" else now.get(one.id, one.value)
            values = {"value": value, "own": one.value}
            records.append({**record, "names": list(one.names), "quantity": one.quantity, **values})
    return records, counts


def ceiling_record(problem: POMDP) -> dict[str, Any]:
    """What no agent can beat under `ceiling`; nothing where one observes, then commits: there `solve` tells the best.

    Where an extra is missing for it, `ceiling_missing` says which.
    """
    from rhoplan.errors import LimitError, MissingExtra

    if problem.observes_then_commits:
        return {}
    try:
        from rhoplan.planning.routing.full_information import full_information_bound

        bound = full_information_bound(problem)
        return {"ceiling": {"clairvoyant": bound.value, "tight": bound.is_exact, "optimum": bound.optimum}}
    except LimitError:
        return {"ceiling": None}
    except MissingExtra as error:
        return {"ceiling": None, "ceiling_missing": str(error)}


def catalogue_record() -> dict[str, Any]:
    """The problems, worked models, agents, planners, utilities and settings that ship with rhoplan."""
    from rhoplan.agents.agent import AGENTS
    from rhoplan.agents.registry import PLANNERS, UTILITIES
    from rhoplan.agents.settings import SETTINGS
    from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS, make, parameters

    defaults = {name: {p.name: p.default for p in parameters(name)} for name in PROBLEMS}
    return {
        "problems": [
            {"name": name, "about": (build.__doc__ or "").split("\n")[0], "parameters": defaults[name]}
            for name, build in PROBLEMS.items()
        ],
        "models": [{"name": name, **make(name).details.get("info", {})} for name in WORKED_MODELS],
        "agents": [
            {"name": name, "weight": kind.weight, "one_step": kind.one_step, "controls_for": kind.controls_for}
            for name, kind in AGENTS.items()
        ],
        "planners": {name: row.about for name, row in PLANNERS.items()},
        "utilities": {name: row.about for name, row in UTILITIES.items()},
        "settings": [
            {
                "name": one.name,
                "about": one.help,
                "of": one.of,
                "used_by": list(one.users),
                "default": one.default,
                "kept": one.is_kept,
            }
            for one in SETTINGS.values()
        ],
    }


def problem_record(problem: POMDP) -> dict[str, Any]:
    """A problem as plain data; where tests and commits are listed, in the shape of a model file."""
    if problem.listed is None:
        return {
            **{name: getattr(problem, name) for name in ("name", "unit", "horizon", "cap", "discount", "start")},
            **({"note": problem.note} if problem.note else {}),
            "factors": {name: shares for f in problem.factors for name, shares in f.shares(f.prior).items()},
            "actions_at_start": [action_record(problem, action) for action in problem.menu(problem.start)],
            **problem.details,
        }
    from rhoplan.io.writer import model_record

    return model_record(problem)


def action_record(problem: POMDP, action: Action) -> dict[str, Any]:
    """An action as plain data."""
    from rhoplan.model.pomdp import END

    factor = problem.factors[action.factor]
    return {
        "name": action.name,
        "kind": action.kind,
        "factor": factor.name,
        "preserves_hidden_state": action.preserves_hidden_state,
        "reward": dict(zip(factor.states, action.reward.tolist(), strict=True)),
        "likelihood": {s: row.tolist() for s, row in zip(factor.states, action.likelihood, strict=True)},
        "outcomes": list(action.outcomes),
        "leads_to": [None if observable is END else observable for observable in action.leads_to],
    }


def finite(data: Any) -> Any:
    """`data` with every number that JSON cannot hold (an infinite log score) as None."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data

"""Results as plain records: the keys and numbers that the command line's `--json` and the HTTP API have in common.

Everything here takes finished results and returns maps, lists, text and numbers; nothing is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rhoplan.advice.case import Advice
    from rhoplan.agents.agent import Agent
    from rhoplan.agents.policy import Decision
    from rhoplan.model.problem import Action, Problem
    from rhoplan.planning.certified.solve import Solution
    from rhoplan.scoring.evaluate import Score


def describe(problem: Problem, agent: Agent) -> dict[str, Any]:
    """The keys that say whose result a record is."""
    from rhoplan.version import __version__

    return {
        "problem": problem.spec,
        "agent": agent.name,
        **agent.settings,
        "reward_unit": problem.unit,
        "notes": list(agent.notes),
        "version": __version__,
    }


def decision_record(
    problem: Problem, agent: Agent, decision: Decision, given: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """One decision, with whose it is and what had been seen."""
    kind = "estimated" if agent.planner.samples else "exact"
    return {**describe(problem, agent), "kind": kind, "given": [list(pair) for pair in given], **asdict(decision)}


def score_record(problem: Problem, agent: Agent, score: Score, world: Problem | None) -> dict[str, Any]:
    """An exact score; `world` where it is not the agent's own model."""
    where = world.spec if world else None
    return {**describe(problem, agent), "world": where, "kind": "exact", **asdict(score), **ceiling_record(problem)}


def solution_record(
    problem: Problem, solution: Solution, *, weight: float, unit: str, discount: float
) -> dict[str, Any]:
    """Certified bounds, with what they are bounds for."""
    from rhoplan.version import __version__

    return {
        "problem": problem.spec,
        "weight": weight,
        "unit": unit,
        "discount": discount,
        "kind": "bounded",
        **asdict(solution),
        "converged": solution.converged,
        "reward_unit": problem.unit,
        "version": __version__,
    }


def advice_record(problem: Problem, agent: Agent, advice: Advice) -> dict[str, Any]:
    """The advice on a case; `ahead` also says how many tests and what cost nine cases in ten do not exceed."""
    tests, cost = advice.ahead.bad_case()
    record = {**describe(problem, agent), "kind": "exact", **asdict(advice)}
    record["ahead"] |= {"tests_90": tests, "cost_90": cost}
    return record


def ceiling_record(problem: Problem) -> dict[str, Any]:
    """What no agent can beat in a factored problem, under `ceiling`; nothing for flat ones."""
    from rhoplan.errors import LimitError

    if problem.is_flat:
        return {}
    from rhoplan.planning.errands.clairvoyant import ceiling

    try:
        return {"ceiling": asdict(ceiling(problem))}
    except LimitError:
        return {"ceiling": None}


def catalogue_record() -> dict[str, Any]:
    """The problems, worked models, agents, planners, utilities and settings that ship with rhoplan."""
    from rhoplan.agents.agent import AGENTS
    from rhoplan.agents.registry import PLANNERS, UTILITIES
    from rhoplan.agents.settings import SETTINGS
    from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS, make, parameters

    return {
        "problems": [
            {
                "name": name,
                "about": (build.__doc__ or "").split("\n")[0],
                "parameters": {p.name: p.default for p in parameters(name)},
            }
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
            {"name": one.name, "about": one.help, "of": one.of, "used_by": list(one.users), "kept": one.is_kept}
            for one in SETTINGS.values()
        ],
    }


def problem_record(problem: Problem) -> dict[str, Any]:
    """A problem as plain data; a flat one in the shape of a model file."""
    if not problem.is_flat:
        return {
            "name": problem.name,
            "unit": problem.unit,
            "horizon": problem.horizon,
            "cap": problem.cap,
            "start": problem.start,
            "factors": {f.name: dict(zip(f.states, f.prior.tolist(), strict=True)) for f in problem.factors},
            "actions_at_start": [action_record(problem, action) for action in problem.menu(problem.start)],
            **problem.details,
        }
    from rhoplan.io.writer import model_record

    return model_record(problem)


def action_record(problem: Problem, action: Action) -> dict[str, Any]:
    """An action as plain data."""
    from rhoplan.model.problem import END

    factor = problem.factors[action.factor]
    return {
        "name": action.name,
        "kind": action.kind,
        "factor": factor.name,
        "preserves_hidden_state": action.preserves_hidden_state,
        "reward": dict(zip(factor.states, action.reward.tolist(), strict=True)),
        "likelihood": {s: row.tolist() for s, row in zip(factor.states, action.likelihood, strict=True)},
        "outcomes": list(action.outcomes),
        "leads_to": [None if visible is END else visible for visible in action.leads_to],
    }


def finite(data: Any) -> Any:
    """`data` with every number that JSON cannot hold (an infinite log score) as None."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data

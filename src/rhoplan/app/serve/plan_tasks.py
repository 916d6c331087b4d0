"""What the planning addresses compute, for people who plan by problem and agent: decide, situation, evaluate, solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rhoplan.agents.agent import decide
from rhoplan.app import records
from rhoplan.belief_math.information import per_nat
from rhoplan.evaluation.exact import evaluate
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import END, POMDP
from rhoplan.planning import clock
from rhoplan.planning.certified.solution import POINTS, REVEAL
from rhoplan.planning.certified.solve import solve, usual_method

if TYPE_CHECKING:
    from rhoplan.app.serve.tasks import Asked

Record = dict[str, Any]

SHARE_BEFORE_CHECK = 0.5
"""Part of the time for bounds where other code is to look at them afterwards."""


def decision(asked: Asked) -> Record:
    """`rhoplan decide --json`."""
    problem, agent, given = asked.problem, asked.agent, asked.given
    here = problem.belief(given=given)
    found = decide(problem, agent, here, seed=asked.request.get("seed", 0))
    return records.decision_record(problem, agent, found, given, here)


def situation(asked: Asked) -> Record:
    """Where a case stands: what is visible, what is believed, what was paid, and what each action could show."""
    problem = asked.problem
    here, paid = problem.belief(), 0.0
    for test, outcome in asked.given:
        before, here = here, here.update(test, outcome)
        action = next(action for action in before.menu if action.name == test)
        after = here.beliefs[action.factor] if action.transition is None else before.beliefs[action.factor]
        paid += float(after @ action.reward)
    return {
        "problem": problem.spec,
        "visible": None if here.observable is END else _visible(problem, here.observable),
        "ended": here.observable is END,
        "paid": paid,
        "beliefs": here.diagnoses(),
        "actions": [
            {
                "name": action.name,
                "kind": action.kind,
                "factor": problem.factors[action.factor].name,
                "reward": (reward := float(here.beliefs[action.factor] @ action.reward)),
                "cost": -reward + 0.0,
                "in_all": paid + reward,
                "outcomes": [
                    {"outcome": one.observation, "probability": one.probability} for one in here.branches(action)
                ],
            }
            for action in here.menu
        ],
    }


def evaluation(asked: Asked) -> Any:
    """`rhoplan evaluate --json`: one record, or a list of them for several agents."""
    problem = asked.problem
    world = asked.named("world", asked.request["world"]) if asked.get("world") else None
    agents = asked.agents(problem)
    scores = [evaluate(problem, agent.policy(problem), world=world, max_steps=asked.get("cap")) for agent in agents]
    return records.one_or_more(
        [records.score_record(problem, a, s, world) for a, s in zip(agents, scores, strict=True)]
    )


def solution(asked: Asked) -> Record:
    """`rhoplan solve --json`; stops within the time and memory of the server with the bounds it has."""
    problem, request = asked.problem, asked.request
    weight, unit, discount = request.get("weight") or 0.0, request["unit"], request.get("discount")
    discount = problem.discount if discount is None else discount
    priced, horizon = per_nat(weight, unit), request.get("horizon")
    check, method = bool(request.get("check")), request.get("method")
    if check and method is None and horizon is None and usual_method(problem) == REVEAL:
        method = POINTS  # which can be checked
    seconds = min(request["time_limit"], asked.seconds_left * (SHARE_BEFORE_CHECK if check else 1.0))
    with clock.never_standing():  # the limit of the server holds while machine code is loaded, too
        found = solve(
            problem, weight=priced, discount=discount, horizon=horizon, gap=request["gap"], seconds=seconds,
            memory=request["memory"], method=method, check=check,
        )  # fmt: skip
    return records.solution_record(problem, found, weight=weight, unit=unit, discount=discount, horizon=horizon)


def _visible(problem: POMDP, observable: Any) -> Any:
    """A visible state as JSON can hold it; what was spent is told in the model's unit."""
    if not isinstance(observable, Done):
        return _plain(observable)
    return {
        **{name: _plain(part) for name, part in observable._asdict().items()},
        "spent": problem.flat.spent(observable),
    }


def _plain(observable: Any) -> Any:
    """A place as JSON can hold it: tuples become lists, sets sorted lists."""
    if isinstance(observable, frozenset | set):
        return sorted((_plain(item) for item in observable), key=repr)
    if isinstance(observable, tuple | list):
        return [_plain(item) for item in observable]
    return observable if isinstance(observable, str | int | float | bool) or observable is None else str(observable)

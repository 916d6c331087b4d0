"""Advice on one case: what to do next, why, what it costs, how sure we are, and how much longer it will take.

The terms of every explanation add up: net = -cost + decides + weight * information, where `decides` is what the
continuation is worth beyond stopping now, and net is what the test is worth beyond stopping now.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from rhoplan.advice.margin import first_lead
from rhoplan.advice.outlay import Ahead, look_ahead
from rhoplan.advice.words import money
from rhoplan.agents.agent import Agent, make_agent
from rhoplan.agents.policy import Policy, action_values, in_order, preferred
from rhoplan.belief.situation import Situation, branch, named_beliefs, observe_all
from rhoplan.errors import AgentError, EvidenceError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Problem
from rhoplan.scoring.followed import Plans

Evidence = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Result:
    """One possible result of the recommended test: how likely it is, what it makes of the belief, what comes then."""

    outcome: str
    probability: float
    belief: dict[str, float]
    then: str
    changes_decision: bool


@dataclass(frozen=True)
class Option:
    """A test that could be run now: net = -cost + decides + weighted, all beyond stopping now."""

    test: str
    cost: float
    decides: float
    information: float
    weighted: float
    net: float


@dataclass(frozen=True)
class Stop:
    """What stopping now means: the commit, what it is worth, and the chance that it is not a best one."""

    commit: str
    value: float
    wrong: float


@dataclass(frozen=True)
class Advice:
    """Everything a person must see within five seconds, and the table behind it.

    runner_up, margin, about_as_good, beside: the next best, how far behind it is, whether the two are about as good,
    and that in words (see `margin`). commits: what stopping now with each commit means, the best first. behind: how
    much less than the advice each action is worth. chances: of each test on offer, how likely its outcomes are.
    """

    given: tuple[tuple[str, str], ...]
    unavailable: tuple[str, ...]
    spent: float
    belief: dict[str, float]
    entropy: float
    do: str
    is_test: bool
    reason: str
    runner_up: str | None
    margin: float
    about_as_good: bool
    beside: str
    stop: Stop
    options: tuple[Option, ...]
    results: tuple[Result, ...]
    ahead: Ahead
    cost_only: str
    commits: tuple[Stop, ...]
    behind: dict[str, float]
    chances: dict[str, dict[str, float]]


def check_fixed(agent: Agent) -> None:
    """Raise AgentError unless what `agent` does depends on the situation alone, so that it can be followed."""
    faults = {
        "planner": (f"planner {agent.planner.name} samples", agent.planner.samples),
        "time": ("time limits the planning", agent.planner.is_timed),
        "precision": ("precision lets the agent act at random", not math.isinf(agent.precision)),
    }
    for setting, (fault, there) in faults.items():
        if there:
            raise AgentError(
                f"{fault}; advice needs an agent that always does the same in the same case", field=(setting,)
            )


def without(problem: Problem, unavailable: Iterable[str]) -> Problem:
    """`problem` with tests left out that cannot be had in this case."""
    left_out = set(unavailable)
    menu = problem.flat
    unknown = left_out - {test.name for test in menu.tests}
    if unknown:
        raise EvidenceError(
            f"'{problem.name}' has no test '{min(unknown)}' that could be unavailable", field=("unavailable",)
        )
    if not left_out:
        return problem
    return replace(problem, menu=menu.without(left_out))


def advise(
    problem: Problem,
    agent: Agent,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    graph: Graph | None = None,
    plans: Plans | None = None,
) -> Advice:
    """Advice by `agent` on a case of `problem` in which `given` was seen, pairs of test and outcome in order.

    unavailable: tests that cannot be had from now on. graph: one to use again between cases with the same tests; plans:
    followed on it already.
    """
    check_fixed(agent)
    situation, spent = follow(problem, given)
    left = tuple(dict.fromkeys(unavailable))
    model = without(problem, left)
    plans = plans or Plans(model, graph=graph)
    graph = plans.graph
    policy, node = plans.policy(agent), graph.node(situation)
    values = action_values(policy, node)
    order = in_order(policy, node, values)
    best = next(value for value in order if value.kind == "commit")
    stop = _stop(model, situation, best.name, best.reward)
    chosen = preferred(policy, node, values)
    others = [value for value in order if value is not chosen]
    options = [
        Option(
            v.name, -v.reward + 0.0, v.continuation - best.value, v.information, v.weighted_information,
            v.reward + v.weighted_information + v.continuation - best.value,
        )
        for v in (chosen, *others)
        if v.kind != "commit"
    ]  # fmt: skip
    results = () if chosen.kind == "commit" else _results(model, policy, situation, chosen.name, stop.commit)
    ahead = look_ahead(plans.follow(agent, node))
    plain = make_agent("planning", model, horizon=agent.horizon, discount=agent.discount)
    cheaper = plans.policy(plain)
    return Advice(
        given=tuple((test, outcome) for test, outcome in given),
        unavailable=left,
        spent=spent,
        belief=_named(model, situation),
        entropy=float(graph.tables[0].entropy[graph.belief[node, 0]]),
        do=chosen.name,
        is_test=chosen.kind != "commit",
        reason=_reason(model, agent, chosen.name, options, stop, results),
        **asdict(first_lead(agent, policy, node)),
        stop=stop,
        options=tuple(options),
        results=results,
        ahead=ahead,
        cost_only=preferred(cheaper, node, action_values(cheaper, node)).name,
        commits=tuple(_stop(model, situation, v.name, v.reward) for v in order if v.kind == "commit"),
        behind={v.name: max(chosen.value - v.value, 0.0) for v in values},
        chances={
            action.name: {one.outcome: one.probability for one in branch(model, situation, action)}
            for action in model.menu(situation.visible)
            if not action.ends_episode
        },
    )


def follow(problem: Problem, given: Evidence) -> tuple[Situation, float]:
    """The situation after `given`, and what the tests cost."""
    situation, spent = observe_all(problem, []), 0.0
    for number in range(len(given)):
        before, situation = situation, observe_all(problem, given[: number + 1])
        action = next(a for a in problem.menu(before.visible) if a.name == given[number][0])
        spent -= float(before.belief @ action.reward)
    return situation, spent


def _stop(problem: Problem, situation: Situation, commit: str, value: float) -> Stop:
    place = [c.name for c in problem.flat.commits].index(commit)
    return Stop(commit, value, float(situation.belief @ (1 - problem.flat.right[place])))


def _results(problem: Problem, policy: Policy, situation: Situation, test: str, now: str) -> tuple[Result, ...]:
    action = next(a for a in problem.menu(situation.visible) if a.name == test)
    found = []
    for one in branch(problem, situation, action):
        node = policy.graph.node(one.situation)
        menu = policy.graph.menus[policy.graph.visible[node]]
        best = menu.ending[int(policy.plan.best_ending(np.array([node]))[1][0])].name
        belief = _named(problem, one.situation)
        found.append(Result(one.outcome, one.probability, belief, policy.action(node).name, best != now))
    return tuple(found)


def _named(problem: Problem, situation: Situation) -> dict[str, float]:
    return next(iter(named_beliefs(problem, situation).values()))


def _reason(
    problem: Problem, agent: Agent, choice: str, options: list[Option], stop: Stop, results: tuple[Result, ...]
) -> str:
    """Why, in a sentence or two, from the numbers."""
    unit = problem.unit
    mine = next((option for option in options if option.test == choice), None)
    if mine is None:
        if not options:
            return f"no test is left; {stop.commit} is the best that can be done"
        top = options[0]
        return (
            f"no test is worth its cost: the best, {top.test}, costs {money(top.cost, unit)} and brings "
            f"{money(top.decides + top.weighted)} to the decision"
        )
    changing = [result.outcome for result in results if result.changes_decision]
    what = f"it is worth {money(mine.decides, unit)} to the decision for a cost of {money(mine.cost)}"
    if agent.weight_per_nat:
        what += f" and tells {mine.information:.3g} nats, counted as {money(mine.weighted)}"
    if changing:
        return f"{what}; {' or '.join(changing)} would change what you would do now ({stop.commit})"
    return f"{what}; no single result changes {stop.commit}, but with later tests it can"

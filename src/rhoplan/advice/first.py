"""What to do next in a case and why: the first part of advice, told from a policy at one node.

The terms of every explanation add up: net = -cost + decides + weight * information, where `decides` is what the
continuation is worth beyond stopping now, and net is what the test is worth beyond stopping now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from rhoplan._old.policy import GraphPolicy, action_values, in_order, preferred
from rhoplan.advice.margin import first_lead
from rhoplan.advice.part import Bounds
from rhoplan.advice.second import Opinion, second_opinion
from rhoplan.advice.words import money, words_for
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP

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
class First:
    """What a person must see first, and the table behind it.

    runner_up, margin, about_as_good, beside: the next best, how far behind it is, whether the two are about as good,
    and that in words (see `margin`). commits: what stopping now with each commit means, the best first. behind: how
    much less than the advice each action is worth. chances: of each test on offer, how likely its outcomes are.
    waiting: tests that may run only after others, and which of these were not run. planned: what of the planning is
    not as asked for, in words. bounds: on what every action is worth, and value_bounds on the best plan, where bounds
    are what is known; proven: whether they prove that nothing is better. second: a second opinion where the case is to
    end, of a learned model that carries one.
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
    commits: tuple[Stop, ...]
    behind: dict[str, float]
    chances: dict[str, dict[str, float]]
    waiting: dict[str, tuple[str, ...]]
    planned: str = ""
    bounds: dict[str, Bounds] | None = None
    value_bounds: Bounds | None = None
    proven: bool | None = None
    second: Opinion | None = None


def tell_first(
    policy: GraphPolicy, node: int, given: Evidence, *, unavailable: tuple[str, ...], spent: float, planned: str = ""
) -> First:
    """What the agent of `policy` does at `node`, after `given` was seen for `spent`."""
    agent, graph, model = policy.agent, policy.graph, policy.graph.problem
    situation = graph.situation(node)
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
    results = () if chosen.kind == "commit" else _results(policy, node, chosen.name, stop.commit)
    found = policy.chooser.bounded(node)
    return First(
        given=tuple((test, outcome) for test, outcome in given),
        unavailable=unavailable,
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
        commits=tuple(_stop(model, situation, v.name, v.reward) for v in order if v.kind == "commit"),
        behind={v.name: max(chosen.value - v.value, 0.0) for v in values},
        chances={
            action.name: {one.observation: one.probability for one in situation.branches(action)}
            for action in model.menu(situation.observable)
            if not action.ends_episode
        },
        waiting=_waiting(model, situation),
        planned=planned,
        bounds=None if found is None else found.actions,
        value_bounds=None if found is None else (found.lower, found.upper),
        proven=None if found is None else found.proven == chosen.name,
        second=second_opinion(model, given, chosen.name) if chosen.kind == "commit" else None,
    )


def _waiting(problem: POMDP, situation: Belief) -> dict[str, tuple[str, ...]]:
    done = situation.observable
    assert isinstance(done, Done)
    tests = [test for test in problem.flat.tests if test.repeatable or test.name not in done.run]
    left = {test.name: tuple(name for name in test.after if name not in done.run) for test in tests}
    return {name: others for name, others in left.items() if others}


def _stop(problem: POMDP, situation: Belief, commit: str, value: float) -> Stop:
    place = [c.name for c in problem.flat.commits].index(commit)
    return Stop(commit, value, float(situation.beliefs[0] @ (1 - problem.flat.right[place])))


def _results(policy: GraphPolicy, node: int, test: str, now: str) -> tuple[Result, ...]:
    graph, follows, found = policy.graph, policy.committed(node), list[Result]()
    problem, situation = graph.problem, graph.situation(node)
    action = next(a for a in problem.menu(situation.observable) if a.name == test)
    for one in situation.branches(action):
        after = graph.node(one.belief)
        menu = graph.menus[graph.observable[after]]
        best = menu.ending[int(policy.plan.best_ending(np.array([after]))[1][0])].name
        belief = _named(problem, one.belief)
        found.append(Result(one.observation, one.probability, belief, follows.action(after).name, best != now))
    return tuple(found)


def _named(problem: POMDP, situation: Belief) -> dict[str, float]:
    return next(iter(situation.diagnoses().values()))


def _reason(
    problem: POMDP, agent: BoundAgent, choice: str, options: list[Option], stop: Stop, results: tuple[Result, ...]
) -> str:
    """Why, in a sentence or two, from the numbers."""
    unit, test = problem.unit, words_for(problem)["test"]
    mine = next((option for option in options if option.test == choice), None)
    if mine is None:
        if not options:
            return f"no {test} is left; {stop.commit} is the best that can be done"
        top = options[0]
        told = f" and {top.information:.3g} nats, counted as {money(top.weighted)}" if agent.weight_per_nat else ""
        return (
            f"no {test} is worth its cost: the best, {top.test}, costs {money(top.cost, unit)} and brings "
            f"{money(top.decides)} to the decision{told}"
        )
    changing = [result.outcome for result in results if result.changes_decision]
    what = f"it is worth {money(mine.decides, unit)} to the decision for a cost of {money(mine.cost)}"
    if agent.weight_per_nat:
        what += f" and tells {mine.information:.3g} nats, counted as {money(mine.weighted)}"
    if changing:
        return f"{what}; {' or '.join(changing)} would change what you would do now ({stop.commit})"
    return f"{what}; no single result changes {stop.commit}, but with later {test}s it can"

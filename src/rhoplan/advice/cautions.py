"""What a reader of a recommendation should be warned about, found by computation rather than by rule of thumb."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.advice.compare import MOST_NODES, SAME, Row, cost_only
from rhoplan.advice.outlay import look_ahead
from rhoplan.advice.pathway import check_fixed
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import money, percent
from rhoplan.agent import Agent, make_agent
from rhoplan.errors import LimitError
from rhoplan.planning.graph import Graph
from rhoplan.policy import Policy
from rhoplan.problem import Problem
from rhoplan.situation import branch, initial

DOMINANT = 0.5
"""Share of what testing is worth above which the information term is called dominant."""

NEGLIGIBLE = 1e-9
"""Share of cases below which what a plan does is of no interest here."""


@dataclass(frozen=True)
class Caution:
    """A warning in a sentence or two; about: the test it concerns, where it is one.

    kind: `inert weight`, `dominant weight`, `short horizon`, `cost-only better`, `idle test` or `state-changing test`.
    """

    kind: str
    text: str
    about: str = ""


def cautions(problem: Problem, agent: Agent, *, seconds: float = 5.0, plain: Row | None = None) -> tuple[Caution, ...]:
    """What to be careful about when `agent` advises on `problem`.

    seconds: for plans deeper than the agent's. plain: the cost-only row of `compare`, where that was made before.
    Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    plain = plain if plain is not None else cost_only(problem, agent, seconds=seconds)[0]
    graph = Graph(problem, node_limit=MOST_NODES)
    mine = _followed(Policy(graph, agent))
    found = [*_weight(graph, agent, mine), *_cost_only(graph, agent, plain), *_depth(graph, agent, mine, seconds)]
    found += _idle(graph, plain, mine)
    for action in problem.menu(problem.start):
        if action.kind != "commit" and not action.preserves_hidden_state:
            text = f"{action.name} can change what it measures; repeating it does not measure the same thing again"
            found.append(Caution("state-changing test", text, action.name))
    return tuple(found)


@dataclass(frozen=True)
class _Course:
    """A policy followed from the start: what it does at each node it comes to (the slot of a test, or -1 - i for
    commit i), and the expected information of its tests, in nats."""

    done: dict[int, int]
    information: float


def _followed(policy: Policy) -> _Course:
    graph, done, information = policy.graph, dict[int, int](), 0.0
    mass = {graph.root: 1.0}
    for _ in range(graph.problem.cap + 1):
        policy.settle(np.array(sorted(mass), dtype=np.int64))
        following: dict[int, float] = {}
        for node, share in mass.items():
            slot = int(policy.choice[node])
            done[node] = slot if slot >= 0 else -1 - int(policy.ending[node])
            if slot >= 0:
                information += share * float(graph.information[node, slot])
                arcs = zip(graph.next[node, slot].tolist(), graph.probability[node, slot].tolist(), strict=True)
                for target, chance in arcs:
                    if share * chance > NEGLIGIBLE:
                        following[target] = following.get(target, 0.0) + share * chance
        mass = following
        if not mass:
            break
    return _Course(done, information)


def _weight(graph: Graph, agent: Agent, mine: _Course) -> list[Caution]:
    if agent.utility or agent.rule or not agent.commits_count or agent.weight_per_nat == 0:
        return []
    problem, found = graph.problem, []
    weight = f"{agent.weight:g} {problem.unit} per {agent.unit.removesuffix('s')}"
    if mine.done == _followed(Policy(graph, replace(agent, weight=0.0))).done:
        text = f"The weight of {weight} changes nothing: the plan at weight 0 is the same in every case."
        found.append(Caution("inert weight", text))
    ahead = look_ahead(Policy(graph, agent), graph.root, cap=problem.cap)
    gain = max(ahead.reward - float(graph.stop_reward[graph.root]), 0.0)
    informed = agent.weight_per_nat * mine.information
    if informed > DOMINANT * (gain + informed):
        share = percent(informed / (gain + informed))
        text = (
            f"Information makes up {share} of what testing counts for at the weight of {weight} (above "
            f"{percent(DOMINANT)} we call it dominant): the plan pays for knowledge rather than for a better decision."
        )
        found.append(Caution("dominant weight", text))
    return found


def _cost_only(graph: Graph, agent: Agent, plain: Row) -> list[Caution]:
    problem = graph.problem
    ahead = look_ahead(Policy(graph, agent), graph.root, cap=problem.cap)
    if plain.reward is None or plain.reward - ahead.reward <= SAME * problem.reward_scale:
        return []
    better = money(plain.reward - ahead.reward, problem.unit)
    word, sign = ("loss", -1) if counts_losses(problem) else ("reward", 1)
    text = (
        f"The cost-only plan (weight 0, horizon {plain.horizon}) is better by {better} per case: "
        f"{word} {money(sign * plain.reward, problem.unit)} against {money(sign * ahead.reward, problem.unit)}."
    )
    if plain.first and plain.first != _first(graph, agent):
        text += f" It begins with {plain.first}."
    return [Caution("cost-only better", text)]


def _first(graph: Graph, agent: Agent) -> str:
    policy = Policy(graph, agent)
    policy.settle(np.array([graph.root]))
    menu, slot = graph.menus[graph.visible[graph.root]], int(policy.choice[graph.root])
    name: str = (menu.going[slot] if slot >= 0 else menu.ending[int(policy.ending[graph.root])]).name
    return name


def _depth(graph: Graph, agent: Agent, mine: _Course, seconds: float) -> list[Caution]:
    """Whether a plan one, two or more actions deeper, at the same weight, does something else."""
    problem, end = graph.problem, time.monotonic() + seconds
    menu = problem.flat
    most = agent.horizon + 2 if any(test.repeatable for test in menu.tests) else len(menu.tests)
    most = most if menu.most_tests is None else min(most, menu.most_tests)
    took = 0.0
    for horizon in range(agent.horizon + 1, 0 if agent.rule else most + 1):
        begin = time.monotonic()
        if begin + 3 * took > end:
            break
        deeper = replace(agent, horizon=horizon)
        try:
            other = _followed(Policy(graph, deeper))
        except LimitError:
            break
        took = time.monotonic() - begin
        if other.done != mine.done:
            now, then = (look_ahead(Policy(graph, one), graph.root, cap=problem.cap).reward for one in (agent, deeper))
            begins = _first(graph, deeper)
            text = f"Horizon {agent.horizon} is short: a plan that looks {horizon} actions ahead does something else"
            text += f", beginning with {begins}" if begins != _first(graph, agent) else ", after the first action"
            change = "better" if then > now else "worse"
            size = abs(then - now)
            text += f", and is {change} by {money(size, problem.unit)} per case." if size > 0 else "."
            return [Caution("short horizon", text)]
    return []


def _idle(graph: Graph, plain: Row, mine: _Course) -> list[Caution]:
    """Tests that the cost-only plan never runs and none of whose results changes the best commit."""
    problem = graph.problem
    if plain.horizon is None:
        return []
    planned = make_agent("planning", problem, horizon=plain.horizon, discount=1.0, planner="exact")
    try:
        followed = _followed(Policy(graph, planned))
    except LimitError:
        return []
    used, also = (
        {graph.menus[graph.visible[node]].going[slot].name for node, slot in plan.items() if slot >= 0}
        for plan in (followed.done, mine.done)
    )
    found = []
    for test in problem.flat.tests:
        if test.name not in used and not _changes_commit(problem, test.name):
            text = (
                f"{test.name} cannot change the decision: no result of it changes the best commit, and the best plan "
            )
            text += "for cost alone never runs it" + (", though this plan does." if test.name in also else ".")
            found.append(Caution("idle test", text, test.name))
    return found


def _changes_commit(problem: Problem, name: str) -> bool:
    """Whether a result of the test, at the start and whether or not it may run there, changes the best commit."""
    test = next(test for test in problem.flat.tests if test.name == name)
    situation = initial(problem)
    action = problem.flat._test(test, frozenset())
    payoff = np.stack([commit.reward for commit in problem.flat.commits], axis=1)
    now = situation.belief @ payoff
    stays = int(now.argmax())
    close = 1e-12 * problem.reward_scale
    after = [one.situation.belief @ payoff for one in branch(problem, situation, action)]
    return any(float(worth.max() - worth[stays]) > close for worth in after)

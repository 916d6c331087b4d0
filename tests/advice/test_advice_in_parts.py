"""Advice part by part: each says what kind of answer it is, and what does not fit is answered in another way."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.case import Adviser, advise
from rhoplan.advice.journal import Case
from rhoplan.advice.outlay import EPISODES, FIRST_BATCH, sample_ahead
from rhoplan.advice.parts import BASIC, NAMES, parts
from rhoplan.agents.agent import make_agent
from rhoplan.agents.planners import FollowRule
from rhoplan.app.records import advice_record, part_record
from rhoplan.model.diagnostic import FlatMenu
from rhoplan.problems.registry import WORKED_MODELS
from weak import weak_tests


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_worked_models_are_answered_exactly(name: str) -> None:
    problem = rhoplan.make(name)
    told = list(parts(Adviser(problem, make_agent("efe", problem)), BASIC))
    assert [(part.name, part.kind, part.words) for part in told] == [(name, "exact", "") for name in BASIC]


def test_parts_come_in_order_and_are_records() -> None:
    problem = rhoplan.make("screening-cascade")
    adviser = Adviser(problem, make_agent("efe", problem))
    told = [part_record(problem, adviser.agent, part) for part in parts(adviser, NAMES)]
    assert [part["part"] for part in told] == list(NAMES)
    whole = advice_record(problem, adviser.agent, adviser.advice())
    assert whole["kinds"] == {part["part"]: part["kind"] for part in told[:3]}
    assert told[0]["content"].items() <= whole.items()
    assert told[1]["content"]["tests"] == whole["ahead"]["tests"]
    assert told[2]["content"] == {"do": whole["cost_only"]}


def test_dozens_of_tests_are_answered_with_bounds_and_the_plan_is_followed_exactly() -> None:
    problem = weak_tests(40, states=3)
    adviser = Adviser(problem, make_agent("efe", problem))
    first, ahead, plain = parts(adviser, BASIC)
    assert (first.kind, ahead.kind) == ("bounded", "bounded")
    assert plain.content is not None
    low, high = first.bounds
    assert low <= high
    for name, (least, most) in first.content.bounds.items():
        assert least <= most <= high + 1e-9, name
    found = adviser.plans.policy(adviser.agent).chooser.bounded(adviser.node)
    score = rhoplan.evaluate(problem, adviser.agent.changed(planner=FollowRule(rule=found.policy)))
    told = ahead.content.reward, ahead.content.tests, ahead.content.right
    assert told == pytest.approx((score.reward, score.tests, score.success), abs=1e-8)
    assert math.fsum(share for _, share in ahead.content.by_tests) == pytest.approx(1.0)
    assert math.fsum(share for _, share in ahead.content.by_cost) == pytest.approx(1.0)
    assert math.fsum(count * share for count, share in ahead.content.by_tests) == pytest.approx(score.tests)
    assert math.fsum(ahead.content.commits.values()) == pytest.approx(1.0)


def test_what_is_worked_out_by_a_plan_that_was_found_says_so() -> None:
    """A pathway and a comparison are as sure as the plan they are about: proven, or with its bounds."""
    problem = weak_tests(30, states=3)
    adviser = Adviser(problem, make_agent("efe", problem))
    first, compared = parts(adviser, ["first", "comparison"])
    assert first.kind == "bounded"
    assert (compared.kind, compared.bounds) == ("bounded", first.bounds)
    assert "need not be the best" in compared.words
    small = weak_tests(3)
    proven = Adviser(small, make_agent("efe", small, planner="many"))
    first, compared = parts(proven, ["first", "comparison"])
    assert first.bounds is not None
    assert (first.kind, compared.kind, compared.words) == ("exact", "exact", "")


def test_what_does_not_fit_the_memory_is_planned_in_another_way_and_told() -> None:
    problem = weak_tests(30)
    agent = make_agent("efe", problem, planner="exact")
    adviser = Adviser(problem, agent, memory=5e7)
    first = adviser.part("first")
    assert adviser.agent.planner.name == "many"
    assert "planned by branch and bound instead" in first.content.planned
    assert first.content.planned in first.words
    shallow = Adviser(problem, make_agent("epistemic-only", problem, planner="exact"), memory=5e7)
    assert "ahead instead" in shallow.first.planned


def test_following_what_is_too_wide_is_estimated_with_its_error() -> None:
    problem = weak_tests(12, seed=3, states=4)
    agent = make_agent("info-gain", problem, weight=200.0)
    exact = Adviser(problem, agent).part("ahead")
    adviser = Adviser(problem, agent)
    adviser.part("first")
    adviser.nodes = adviser.plans.graph.size + 50  # what fits the memory, in small
    rough = adviser.part("ahead")
    assert exact.kind == "exact"
    assert rough.kind == "missing", "sampled cases meet as many situations here"
    adviser = Adviser(problem, agent)
    adviser.part("first")
    rough = adviser._sampled("a test", math.inf)
    assert (rough.kind, rough.sampled.episodes, rough.sampled.seed) == ("estimated", 400, 0)
    for name, error in rough.sampled.se.items():
        assert abs(getattr(rough.content, name) - getattr(exact.content, name)) < 6 * error, name
    assert adviser._sampled("a test", math.inf) == rough, "the same seed, the same answer"


def test_time_that_is_over_is_told_and_the_first_part_stands() -> None:
    problem = weak_tests(14)
    adviser = Adviser(problem, make_agent("efe", problem, planner="exact"))
    first = adviser.part("first")
    late = adviser.part("ahead", seconds=1e-9)
    assert (late.kind, late.content) == ("missing", None)
    assert "longer than 1e-09 seconds" in late.words
    assert adviser.advice().do == first.content.do


def test_a_case_of_dozens_of_tests_goes_on_and_is_kept_and_replayed() -> None:
    problem = weak_tests(40)
    case = Case(problem, make_agent("efe", problem))
    for _ in range(2):
        first = case.adviser().first
        case.enter(first.do, first.results[0].outcome)
    kept = case.as_dict()
    assert kept["agent"]["planner"] == "many"
    again = Case(problem, make_agent("efe", problem))
    for entry in kept["entries"]:
        assert entry["advised"]["do"] == again.adviser().first.do
        again.take(entry)


def in_other_words(problem: rhoplan.POMDP, dice: random.Random, money: float):
    """The same model with tests and states in another order and under other names, in another currency."""
    menu = problem.flat
    states = list(range(len(problem.states)))
    dice.shuffle(states)
    tests = list(menu.tests)
    dice.shuffle(tests)
    named = {test.name: f"other-{place}" for place, test in enumerate(tests)}
    names = {commit.name: f"end-{place}" for place, commit in enumerate(menu.commits)}
    other = rhoplan.DiagnosticProblem(
        name="other",
        states=tuple(f"state-{place}" for place in range(len(states))),
        tests=tuple(
            replace(test, name=named[test.name], cost=test.cost * money, likelihood=test.likelihood[states])
            for test in tests
        ),
        decisions=tuple(rhoplan.Decision(names[c.name], c.reward[states] * money) for c in menu.commits),
        prior=problem.prior[states],
    )
    assert isinstance(other.menu, FlatMenu)
    return other, named | names


@pytest.mark.parametrize("seed", range(8))
def test_money_names_and_orders_change_no_advice(seed: int) -> None:
    dice = random.Random(seed)
    problem = weak_tests(dice.choice([6, 9, 28]), seed=seed, states=dice.choice([2, 2, 3]))
    other, named = in_other_words(problem, dice, 64.0)
    mine = advise(problem, make_agent("planning-ig", problem, weight=2.0))
    theirs = advise(other, make_agent("planning-ig", other, weight=128.0))
    assert named[mine.do] == theirs.do
    assert theirs.stop.value == pytest.approx(64 * mine.stop.value)
    if mine.kinds["first"] == "exact":
        assert 64 * mine.ahead.reward == pytest.approx(theirs.ahead.reward)
        assert mine.ahead.tests == pytest.approx(theirs.ahead.tests)
    else:
        assert np.array(theirs.value_bounds) == pytest.approx(64 * np.array(mine.value_bounds), rel=0.02)


def test_cases_are_sampled_as_far_as_the_limits_go() -> None:
    problem = weak_tests(12, seed=3, states=4)
    agent = make_agent("info-gain", problem, weight=200.0)
    graph = Graph(problem)
    _, few = sample_ahead(GraphPolicy(graph, agent), graph.root, episodes=FIRST_BATCH)
    fresh = Graph(problem, node_limit=graph.size + 1)  # the first batch fits, and the next one does not
    ahead, sampled = sample_ahead(GraphPolicy(fresh, agent), fresh.root)
    assert (few.episodes, sampled) == (FIRST_BATCH, few)
    assert math.fsum(share for _, share in ahead.by_tests) == pytest.approx(1.0)
    everything = Graph(problem)
    _, whole = sample_ahead(GraphPolicy(everything, agent), everything.root)
    assert whole.episodes == EPISODES
    assert whole.se["tests"] < few.se["tests"]


@pytest.mark.parametrize("name", ["myopic", "info-gain"])
def test_one_step_ahead_on_dozens_of_tests_tells_what_is_still_to_come(name: str) -> None:
    problem = weak_tests(40, states=3)
    ahead = Adviser(problem, make_agent(name, problem), memory=1e8).part("ahead")
    assert ahead.kind == "estimated", ahead.words
    assert FIRST_BATCH <= ahead.sampled.episodes <= EPISODES
    assert ahead.content.tests > 1 > ahead.sampled.se["tests"] > 0


def test_the_memory_of_a_case_is_that_of_its_search() -> None:
    problem = weak_tests(40)
    agent = make_agent("efe", problem)
    assert agent.planner.name == "many"
    bounds = {}
    for memory in (4e6, 1e9):
        adviser = Adviser(problem, agent, memory=memory)
        adviser.part("first")
        found = adviser.plans.policy(adviser.agent).chooser.bounded(adviser.node)
        assert found.stopped_by == ("memory" if memory < 1e9 else "work")
        bounds[memory] = found.upper - found.lower
    assert bounds[1e9] <= bounds[4e6]

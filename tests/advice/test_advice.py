"""Advice on a case: terms add up, what is still to come is exact, unavailable tests are left out; comparisons."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from rhoplan._old.followed import Followed
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.bands import bands, stops
from rhoplan.advice.case import advise, without
from rhoplan.advice.compare import compare, frontier
from rhoplan.advice.everything import all_tests
from rhoplan.advice.outlay import look_ahead
from rhoplan.advice.pathway import pathway
from rhoplan.advice.words import amounts, chance, in_thousand, money, percent, stated
from rhoplan.agents.agent import decide, make_agent
from rhoplan.api import evaluate
from rhoplan.errors import EvidenceError
from rhoplan.io.model_file import parse_model
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.planning.certified.solve import solve
from rhoplan.problems.registry import WORKED_MODELS, make
from serving import PATIENCE
from strategies import random_case


def screening(**settings):
    sharp = Test("sharp", 5, ("neg", "pos"), np.array([[0.95, 0.05], [0.1, 0.9]]), repeatable=False)
    blunt = Test("blunt", 1, ("neg", "pos"), np.array([[0.5, 0.5], [0.48, 0.52]]), repeatable=False)
    commits = (Decision("leave", np.array([0.0, -100.0])), Decision("treat", np.array([-20.0, 0.0])))
    prior = np.array([0.8, 0.2])
    return DiagnosticProblem(
        name="small", states=("well", "ill"), tests=(sharp, blunt), decisions=commits, prior=prior, **settings
    )


@pytest.mark.parametrize("name", [*WORKED_MODELS, "tiger", "diagnosis"])
@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_terms_of_every_option_add_up(name, weight):
    problem = make(name)
    agent = make_agent("planning-ig", problem, weight=weight)
    advice = advise(problem, agent)
    values = {action.name: action.value for action in decide(problem, agent).actions}
    for option in advice.options:
        assert option.net == pytest.approx(-option.cost + option.decides + option.weighted, abs=1e-9)
        assert option.weighted == pytest.approx(weight * option.information, abs=1e-9)
        assert option.net == pytest.approx(values[option.test] - advice.stop.value, abs=1e-9)
    assert sum(result.probability for result in advice.results) == pytest.approx(1 if advice.is_test else 0, abs=1e-9)


@pytest.mark.parametrize("problem", [make("tiger"), make("diagnosis"), make("bandit")], ids=lambda p: p.name)
def test_looking_ahead_agrees_with_the_exact_score(problem):
    agent = make_agent("efe", problem)
    graph = Graph(problem)
    ahead, score = look_ahead(Followed(GraphPolicy(graph, agent))), evaluate(problem, agent)
    assert ahead.tests == pytest.approx(score.tests, abs=1e-6)
    assert ahead.reward == pytest.approx(score.reward, abs=1e-6)
    assert ahead.right == pytest.approx(score.success, abs=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_looking_ahead_agrees_with_the_exact_score_of_random_problems(seed):
    problem = random_case(seed).problem
    agent = make_agent("planning-ig", problem, horizon=2, weight=0.5)
    graph = Graph(problem)
    policy = GraphPolicy(graph, agent)
    ahead, score = look_ahead(Followed(policy, cap=20)), evaluate(problem, agent, max_steps=20)
    # A free test that hardly informs any more ties with stopping at one step or the next.
    assert ahead.tests == pytest.approx(score.tests, abs=0.05)
    if ahead.cut < 1e-3:
        assert ahead.reward == pytest.approx(score.reward, abs=1e-6)
    ended = Followed(policy, cap=20).ends
    assert ended.sum() == pytest.approx(1 - ahead.cut, abs=1e-9)
    if ahead.cut < 1e-12:
        assert ended.sum(axis=0) == pytest.approx(problem.prior, abs=1e-9)


def test_what_cannot_be_had_is_not_advised_and_what_waits_for_it_goes_too():
    problem = make("screening-cascade")
    advice = advise(problem, make_agent("efe", problem), unavailable=["strip"])
    assert not advice.options
    assert not advice.is_test
    assert [test.name for test in without(problem, ["lab-assay"]).flat.tests] == ["strip"]
    with pytest.raises(EvidenceError, match="no test 'x-ray'"):
        without(problem, ["x-ray"])


def test_all_tests_are_those_a_brute_force_over_results_finds():
    problem = screening()
    first, second = problem.flat.tests
    best = 0.0
    for one, other in itertools.product(range(2), repeat=2):
        joint = problem.prior * first.likelihood[:, one] * second.likelihood[:, other]
        best += max(float(joint @ commit.reward) for commit in problem.flat.commits)
    found = all_tests(problem)
    assert found.reward == pytest.approx(best - 6, abs=1e-12)
    assert found.cost == 6
    assert found.run == ("sharp", "blunt")


def test_all_tests_respect_orders_groups_and_caps():
    problem = make("chest-pain")
    menu = problem.flat
    found = all_tests(problem)
    first = menu.tests[: menu.most_tests]
    assert found.run == tuple(test.name for test in first)
    groups = {test.group for test in first if test.group}
    prices = sum(test.cost for test in first) + sum(menu.first_prices[group] for group in groups)
    assert found.cost == pytest.approx(prices)
    assert all_tests(make("four-diseases")).cost == pytest.approx(1 + 6 + 12 + 3 + 8 + 45)
    assert all_tests(screening(max_tests=0)).run == ()


@pytest.mark.parametrize("name", ["screening-cascade", "tiger", "printer"])
def test_no_way_of_deciding_beats_the_certified_optimum(name):
    problem = make(name)
    rows = {row.key: row for row in compare(problem, make_agent("efe", problem), seconds=PATIENCE)}
    assert list(rows) == ["commit-now", "all-tests", "cost-only", "asked", "optimum"]
    optimum = rows["optimum"]
    assert optimum.reached
    for row in rows.values():
        assert row.reward <= optimum.upper + 1e-9
        assert row.errors == pytest.approx(1 - row.right)
        assert row.loss == -row.reward
    assert rows["cost-only"].reward >= rows["asked"].reward - 1e-9
    assert (rows["cost-only"].weight, rows["asked"].weight) == (0, 1)


def test_nothing_lost_is_written_without_a_sign():
    commits = (Decision("leave", np.array([0.0, -9.0])), Decision("treat", np.array([-9.0, 0.0])))
    problem = DiagnosticProblem(
        name="sure", states=("well", "ill"), tests=(), decisions=commits, prior=np.array([1.0, 0.0])
    )
    rows = compare(problem, make_agent("planning", problem, horizon=1), seconds=PATIENCE)
    assert {str(row.loss) for row in rows if row.key in ("commit-now", "cost-only", "asked")} == {"0.0"}


def test_efe_stands_beside_every_other_plan():
    problem = make("testbed")
    rows = {row.key: row for row in compare(problem, make_agent("planning", problem, horizon=2), seconds=1)}
    assert list(rows) == ["commit-now", "all-tests", "cost-only", "efe", "asked", "optimum"]
    assert rows["efe"].weight == 1
    assert rows["efe"].horizon == 2
    assert rows["efe"].reward == pytest.approx(
        evaluate(problem, make_agent("efe", problem, horizon=2)).reward, abs=1e-9
    )


@pytest.mark.parametrize("name", ["chest-pain", "tiger", "printer"])
def test_what_is_called_the_optimum_is_one(name):
    """Where every test runs once the deepest plan is exact; elsewhere the bounds of `solve` decide."""
    problem = make(name)
    best = compare(problem, make_agent("efe", problem, horizon=2), seconds=PATIENCE)[-1]
    found = solve(problem, gap=1e-6 * problem.reward_scale, seconds=PATIENCE)
    assert best.reached
    assert found.lower - 1e-9 * problem.reward_scale <= best.upper
    assert best.reward <= found.upper + 1e-9 * problem.reward_scale
    assert best.reward == pytest.approx(found.upper, rel=1e-4)


def test_a_frontier_has_the_scores_of_its_weights():
    problem = make("printer")
    found = frontier(problem, 2, high=5.0, seconds=PATIENCE)
    assert found.complete
    assert found.points[0].lower == 0
    assert found.points[-1].upper == pytest.approx(5, abs=1e-6)
    for point in found.points:
        agent = make_agent("planning-ig", problem, horizon=2, weight=(point.lower + point.upper) / 2)
        assert evaluate(problem, agent).reward == pytest.approx(point.reward, abs=1e-9)


def test_bands_change_where_the_advice_does():
    problem = make("tiger")
    agent = make_agent("efe", problem)
    found = bands(problem, agent)
    assert [band.action for band in found] == ["open-right", "listen", "open-left"]
    for band in found:
        for belief in (band.lower + 1e-7, band.upper - 1e-7):
            factor = dataclasses.replace(problem.factors[0], prior=np.array([1 - belief, belief]))
            assert decide(dataclasses.replace(problem, factors=(factor,)), agent).choice == band.action
    assert bands(make("printer"), make_agent("efe", make("printer"))) == ()


def test_there_is_one_band_where_one_tests_however_sure_one_is():
    commits = (Decision("leave", np.array([0.0, -1e6])), Decision("treat", np.array([-1e6, 0.0])))
    truth = Test("truth", 1e-3, ("no", "yes"), np.eye(2), repeatable=False)
    problem = DiagnosticProblem(name="grave", states=("well", "ill"), tests=(truth,), decisions=commits)
    (band,) = bands(problem, make_agent("planning", problem))
    assert (band.lower, band.upper, band.action, band.stops) == (0, 1, "truth", False)


def test_bands_are_about_the_state_that_the_file_calls_positive():
    problem = screening()
    agent = make_agent("planning", problem)
    usual = bands(problem, agent)
    turned = bands(dataclasses.replace(problem, details={"positive": "well"}), agent)
    assert [band.action for band in turned] == [band.action for band in usual][::-1]
    assert [band.lower for band in turned] == pytest.approx([1 - band.upper for band in usual][::-1], abs=1e-6)


@pytest.mark.parametrize("name", ["four-diseases", "tiger"])
def test_how_sure_a_plan_is_when_it_stops_is_what_its_leaves_say(name):
    problem = make(name)
    agent = make_agent("efe", problem)
    graph = Graph(problem)
    found = {one.commit: one for one in stops(Followed(GraphPolicy(graph, agent)))}
    ends = [leaf for leaf in pathway(problem, agent, smallest=0, most_nodes=400).leaves if leaf.kind == "commit"]
    assert sum(one.share for one in found.values()) == pytest.approx(1, abs=1e-9)
    assert sum(one.share * one.mean for one in found.values()) == pytest.approx(evaluate(problem, agent).success)
    for commit, one in found.items():
        rights = [leaf.right for leaf in ends if leaf.action == commit]
        assert one.lowest == pytest.approx(min(rights), abs=1e-9)
        assert one.highest == pytest.approx(max(rights), abs=1e-9)


def test_percentages_do_not_round_to_certainty():
    assert [percent(x) for x in (0, 1, 0.5, 0.0002, 0.99998)] == ["0%", "100%", "50.0%", "0.020%", "99.9980%"]
    assert [money(x) for x in (0, 3.0000000001, 12345.6, 0.25)] == ["0", "3", "12,346", "0.25"]
    assert [money(x, "EUR") for x in (0.125, -4.5, 0.00001078)] == ["0.125 EUR", "-4.50 EUR", "0.000011 EUR"]
    assert [in_thousand(x) for x in (1, 0, 0.5, 0.0012, 0.00001, 1e-9)] == [
        "1,000", "0", "500", "1.2", "0.010", "under 0.001"
    ]  # fmt: skip


def test_rare_chances_are_told_as_one_in_so_many():
    assert [chance(x) for x in (0, 0.3, 0.0004, 0.99996, 1)] == [
        "0%",
        "30.0%",
        "1 in 2,500",
        "99.9960%",
        "100%",
    ]
    assert [stated(x) for x in (0.99, 0.0002, 0.9999, 1 / 3, 0)] == ["99%", "0.02%", "99.99%", "33.3%", "0%"]


def test_a_column_of_money_has_the_same_decimals_throughout():
    assert amounts([117, 14.1, None, 0]) == ["117.00", "14.10", "–", "0.00"]
    assert amounts([117, 14, -0.0]) == ["117", "14", "0"]


def test_a_band_between_two_others_is_found():
    """Losses 18.5 p + 1.5 (1 - p), 13.5 p + 3.5 (1 - p) and 6 p + 8 (1 - p) cross at 2/7 and 3/8."""
    text = """
    states: [well, ill]
    losses: {leave: [1.5, 18.5], watch: [3.5, 13.5], treat: [8, 6]}
    """
    problem = parse_model(text)
    found = bands(problem, make_agent("efe", problem))
    assert [band.action for band in found] == ["leave", "watch", "treat"]
    assert [band.upper for band in found] == pytest.approx([2 / 7, 3 / 8, 1])

"""Advice on a case: terms add up, what is still to come is exact, unavailable tests are left out; comparisons."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from click.testing import CliRunner

from rhoplan.advice.bands import bands
from rhoplan.advice.case import advise, without
from rhoplan.advice.cautions import cautions
from rhoplan.advice.compare import compare, frontier
from rhoplan.advice.everything import all_tests
from rhoplan.advice.outlay import endings, look_ahead
from rhoplan.advice.words import in_thousand, money, percent
from rhoplan.agent import make_agent
from rhoplan.cli import group
from rhoplan.errors import EvidenceError
from rhoplan.menu import Commit, Test
from rhoplan.planning.graph import Graph
from rhoplan.policy import Policy, decide
from rhoplan.problem import observe_then_commit
from rhoplan.problems.registry import WORKED_MODELS, make
from rhoplan.scoring import evaluate
from strategies import random_case


def screening(**settings):
    sharp = Test("sharp", 5, ("neg", "pos"), np.array([[0.95, 0.05], [0.1, 0.9]]), repeatable=False)
    blunt = Test("blunt", 1, ("neg", "pos"), np.array([[0.5, 0.5], [0.48, 0.52]]), repeatable=False)
    commits = (Commit("leave", np.array([0.0, -100.0])), Commit("treat", np.array([-20.0, 0.0])))
    prior = np.array([0.8, 0.2])
    return observe_then_commit("small", ("well", "ill"), tests=(sharp, blunt), commits=commits, prior=prior, **settings)


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
    ahead, score = look_ahead(Policy(graph, agent), graph.root, cap=problem.cap), evaluate(problem, agent)
    assert ahead.tests == pytest.approx(score.tests, abs=1e-6)
    assert ahead.reward == pytest.approx(score.reward, abs=1e-6)
    assert ahead.right == pytest.approx(score.success, abs=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_looking_ahead_agrees_with_the_exact_score_of_random_problems(seed):
    problem = random_case(seed).problem
    agent = make_agent("planning-ig", problem, horizon=2, weight=0.5)
    graph = Graph(problem)
    policy = Policy(graph, agent)
    ahead, score = look_ahead(policy, graph.root, cap=20), evaluate(problem, agent, cap=20)
    assert ahead.tests == pytest.approx(score.tests, abs=1e-6)
    assert ahead.reward == pytest.approx(score.reward, abs=1e-6)
    ended = endings(policy, graph.root, cap=20)
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
    found = all_tests(make("chest-pain"))
    assert len(found.run) == 5
    assert found.cost == pytest.approx(1 + 1 + 1 + 5.20 + 2.10 + 9)
    assert all_tests(make("four-diseases")).cost == pytest.approx(1 + 6 + 12 + 3 + 8 + 45)
    assert all_tests(screening(most_tests=0)).run == ()


@pytest.mark.parametrize("name", ["screening-cascade", "tiger", "printer"])
def test_no_way_of_deciding_beats_the_certified_optimum(name):
    problem = make(name)
    rows = {row.key: row for row in compare(problem, make_agent("efe", problem), seconds=3)}
    assert list(rows) == ["commit-now", "all-tests", "cost-only", "asked", "optimum"]
    optimum = rows["optimum"]
    assert optimum.reached
    for row in rows.values():
        assert row.reward <= optimum.upper + 1e-9
        assert row.errors == pytest.approx(1 - row.right)
        assert row.loss == -row.reward
    assert rows["cost-only"].reward >= rows["asked"].reward - 1e-9


def test_a_frontier_has_the_scores_of_its_weights():
    problem = make("printer")
    found = frontier(problem, 2, high=5.0)
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


def kinds(problem, name="efe", **settings):
    return {(caution.kind, caution.about) for caution in cautions(problem, make_agent(name, problem, **settings))}


def test_cautions_say_what_is_the_matter():
    assert ("inert weight", "") in kinds(screening(), "efe")
    assert ("idle test", "blunt") in kinds(screening(), "planning")
    assert ("idle test", "sharp") not in kinds(screening(), "planning")
    heavy = kinds(screening(), "planning-ig", weight=1e5)
    assert {("dominant weight", ""), ("cost-only better", "")} <= heavy
    assert ("short horizon", "") in kinds(make("chest-pain"), "efe", horizon=3)
    assert ("short horizon", "") not in kinds(make("chest-pain"), "planning", horizon=5)


def test_percentages_do_not_round_to_certainty():
    assert [percent(x) for x in (0, 1, 0.5, 0.0002, 0.99998)] == ["0%", "100%", "50.0%", "0.020%", "99.9980%"]
    assert [money(x) for x in (0, 3.0000000001, 12345.6, 0.25)] == ["0", "3", "12,346", "0.250"]
    assert [in_thousand(x) for x in (1, 0, 0.5, 0.0012, 0.00001)] == ["1,000", "0", "500", "1.2", "under 0.1"]


def test_a_report_is_one_page_with_its_figures_beside_it(tmp_path):
    out = tmp_path / "report.html"
    result = CliRunner().invoke(group, ["report", "screening-cascade", "-o", str(out), "--budget", "1"])
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    for heading in ("Tests", "Recommended pathway", "What happens to 1,000 cases", "Stopping bands", "Sources"):
        assert heading in page
    assert "<script" not in page
    assert "src=" not in page
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".svg", ".mmd", ".txt"}
    assert (tmp_path / "report.svg").read_text(encoding="utf-8").startswith("<svg")

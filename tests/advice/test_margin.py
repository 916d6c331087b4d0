"""What stands beside a first action: the runner-up and its margin, and near-ties that are called ties."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rhoplan
from bridge import (
    BESIDE,
    WORKED_MODELS,
    Case,
    Drawing,
    Followed,
    Graph,
    GraphPolicy,
    _guarded,
    as_text,
    first_lead,
    lead_of,
    make_agent,
    make_report,
    page,
    proven_lead,
    replay,
    turnover,
)
from bridge import case_advice as advise
from bridge import decide_at as decide
from bridge import make_pathway as pathway
from rhoplan import AgentError, make
from strategies import Limits, Model, built, cases

SMALL = Limits(states=3, tests=3)
laws = settings(max_examples=40, deadline=None)


def two_tests(second_cost: float = 5.0, *, scale: float = 1.0, names: tuple[str, str] = ("first", "second")):
    """Two tests that tell the same and differ in what they cost, if at all; losses only."""
    rows = np.array([[0.95, 0.05], [0.1, 0.9]])
    tests = tuple(
        rhoplan.Test(name, scale * cost, ("neg", "pos"), rows, repeatable=False)
        for name, cost in zip(names, (5.0, second_cost), strict=True)
    )
    commits = (
        rhoplan.Decision("leave", scale * np.array([0.0, -100.0])),
        rhoplan.Decision("treat", scale * np.array([-60.0, 0.0])),
    )
    prior = np.array([0.6, 0.4])
    # One test at most: else both are run whatever comes first, and their order hardly matters.
    return rhoplan.DiagnosticProblem(
        name="two", states=("well", "ill"), tests=tests, decisions=commits, prior=prior, max_tests=1, unit="EUR"
    )


def planned(problem, **settings):
    return make_agent("planning", problem, **settings)


def beside(problem, **settings):
    return advise(problem, planned(problem, **settings))


def test_two_equal_tests_are_about_as_good():
    found = beside(two_tests())
    assert (found.do, found.runner_up, found.margin, found.about_as_good) == ("first", "second", 0.0, True)
    assert found.beside == "about as good: first and second, nothing between them"


def test_a_clear_case_is_not_called_a_tie():
    found = beside(two_tests(9.0))
    assert not found.about_as_good
    assert found.margin == pytest.approx(4.0)
    assert found.beside.startswith("next best: second, 4 EUR behind (")
    assert "% of the expected loss)" in found.beside


def test_the_share_is_that_of_the_expected_loss_with_tests():
    problem = two_tests(5.1)
    found = beside(problem)
    loss = 5 + 0.4 * 0.1 * 100 + 0.6 * 0.05 * 60  # the test, misses, false alarms
    assert -found.ahead.reward == pytest.approx(loss)
    assert decide(problem, planned(problem)).turnover == pytest.approx(loss)
    share = 0.1 / loss
    assert beside(problem, near=share * 1.001).about_as_good
    assert not beside(problem, near=share * 0.999).about_as_good


def test_nought_leaves_only_exact_ties():
    assert beside(two_tests(), near=0.0).about_as_good
    assert beside(two_tests(5.001)).about_as_good
    assert not beside(two_tests(5.001), near=0.0).about_as_good


def test_gains_and_losses_that_cancel_do_not_make_every_difference_large():
    """The value of stopping is 0, what is won and lost is not: 0.02 is little beside it."""
    commits = (rhoplan.Decision("left", np.array([10.0, -10.0])), rhoplan.Decision("right", np.array([-10.02, 9.98])))
    problem = rhoplan.DiagnosticProblem(
        name="even", states=("a", "b"), tests=(), decisions=commits, prior=np.array([0.5, 0.5])
    )
    found = beside(problem)
    assert found.stop.value == 0.0
    assert found.about_as_good
    assert found.beside == "about as good: left and right, 0.02 points apart (0.20% of what is won and lost)"


def test_more_than_two_that_are_as_close_are_counted():
    problem = make("diagnosis:n=16")
    found = advise(problem, make_agent("efe", problem))
    close = sum(value <= 0.01 * decide(problem, make_agent("efe", problem)).turnover
                for value in found.behind.values())  # fmt: skip
    assert close > 3
    assert found.beside.endswith(f"; {close - 2} more actions as close")


def test_with_nothing_else_to_do_the_words_say_so():
    commits = (rhoplan.Decision("go", np.array([1.0, 2.0])),)
    problem = rhoplan.DiagnosticProblem(
        name="one", states=("a", "b"), tests=(), decisions=commits, prior=np.array([0.5, 0.5])
    )
    found = beside(problem)
    assert (found.runner_up, found.margin, found.about_as_good) == (None, math.inf, False)
    assert found.beside == "there is nothing else to do"


@given(cases(SMALL), st.integers(1, 3), st.floats(0, 20), st.sampled_from([0.125, 4.0, 1024.0]), st.floats(0, 0.2))
@laws
def test_scaling_money_changes_nothing(case, horizon, weight, factor, near):
    model = case.model
    tests = [(factor * cost, rows, repeatable) for cost, rows, repeatable in model.tests]
    scaled = built(Model(model.prior, tests, [[factor * r for r in rewards] for rewards in model.commits]))
    own = make_agent("planning-ig", case.problem, horizon=horizon, weight=weight, near=near)
    other = make_agent("planning-ig", scaled.problem, horizon=horizon, weight=factor * weight, near=near)
    here, there = decide(case.problem, own), decide(scaled.problem, other)
    one, two = lead_of(case.problem, own, here), lead_of(scaled.problem, other, there)
    assert there.turnover == factor * here.turnover
    assert (two.runner_up, two.about_as_good) == (one.runner_up, one.about_as_good)
    assert two.margin == factor * one.margin or one.margin == two.margin


@pytest.mark.parametrize("cost", [5.0, 5.1, 9.0])
def test_renaming_changes_nothing_but_the_names(cost):
    one, two = beside(two_tests(cost)), beside(two_tests(cost, names=("zeta", "alpha")))
    assert two.beside == one.beside.replace("first", "zeta").replace("second", "alpha")
    assert (two.margin, two.about_as_good) == (one.margin, one.about_as_good)


@given(cases(SMALL), st.floats(0, 20))
@laws
def test_turnover_is_what_following_the_plan_wins_and_loses(case, weight):
    """Losses and gains along the plan, counted case by case, where it looks as far ahead as a case can go."""
    model = Model(case.model.prior, [(c, rows, False) for c, rows, _ in case.model.tests], case.model.commits)
    problem = built(model).problem
    agent = make_agent("planning-ig", problem, horizon=len(model.tests) + 1, weight=weight)
    policy = GraphPolicy(Graph(problem), agent)
    followed = Followed(policy)
    spent = -sum(
        float(layer.acts.mass @ np.where(layer.acts.slot >= 0, layer.acts.reward, 0.0)) for layer in followed.layers
    )
    payoff = np.array([commit.reward for commit in problem.flat.commits])
    chosen = next(one for one in decide(problem, agent).actions if one.name == followed.first)
    wanted = spent + float((followed.ends * np.abs(payoff)).sum())
    assert turnover(policy, policy.graph.root, chosen) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", [*WORKED_MODELS, "tiger"])
def test_every_way_to_ask_says_the_same(name):
    problem = make(name)
    agent = make_agent("efe", problem, near=0.02)
    advice, drawn = advise(problem, agent), pathway(problem, agent)
    decided = lead_of(problem, agent, decide(problem, agent))
    wanted = {one: getattr(advice, one) for one in BESIDE}
    assert dataclasses.asdict(decided) == wanted | {"margin": pytest.approx(wanted["margin"], rel=1e-9)}
    assert dataclasses.asdict(drawn.lead) == wanted
    assert drawn.as_dict()["beside"] == advice.beside
    assert advice.beside in as_text(drawn)


def test_the_setting_is_the_agents_own_where_another_decides_alike():
    problem = two_tests(5.1)
    policy = GraphPolicy(Graph(problem), planned(problem, near=0.0))
    assert first_lead(planned(problem, near=0.05), policy, policy.graph.root).about_as_good


def test_report_and_drawing_name_both():
    problem = two_tests(5.02)
    report = make_report(problem, planned(problem), seconds=1.0, budget=0.05)
    assert "About as good: first and second, 0.02 EUR apart" in page(report)
    assert "about as good: second" in " ".join(re.findall("<text[^>]*>(.*?)</text>", Drawing(report.pathway).svg()))
    clear = make_report(problem, planned(problem, near=0.0), seconds=1.0, budget=0.05)
    assert "Next best: second, 0.02 EUR behind" in page(clear)
    assert "about as good" not in Drawing(clear.pathway).svg()


# -- bounds -----------------------------------------------------------------------------------------------------------

BOUNDED = [
    ({"a": (-10.0, -9.0), "b": (-20.0, -12.0)}, 2.0, False, "next best: b, at least 2 EUR behind (20.0% of the value)"),
    ({"a": (-10.0, -9.0), "b": (-11.0, -10.05)}, 0.05, True, "at least 0.05 EUR between them is proven"),
    ({"a": (-10.0, -9.0), "b": (-11.0, -8.0)}, 0.0, True, "leave open which is better, by at most 2 EUR"),
    ({"a": (-10.0, -9.0), "b": (-8.0, -7.0)}, 0.0, False, "by these bounds b is worth at least 1 EUR more"),
    ({"a": (-10.0, -9.0), "b": (-9.5, -8.0), "c": (-30.0, -9.0)}, 0.0, True, "; 1 more action as close"),
    ({"a": (-10.0, -9.0)}, math.inf, False, "there is nothing else to do"),
    ({"a": (-10.0, math.inf), "b": (-20.0, -12.0)}, 2.0, False, "b, at least 2 EUR behind (20.0% of the value)"),
    ({"a": (-10.0, math.inf), "b": (-20.0, -8.0)}, 0.0, False, "no upper bound is known for a: b may be better"),
    ({"a": (-9.0, math.inf), "c": (-30.0, math.inf), "b": (-11.0, math.inf)}, 0.0, False, "known for a and b: b may"),
    ({"a": (-9.0, -8.5), "b": (-8.0, math.inf)}, 0.0, False, "by these bounds b is worth at least 0.50 EUR more"),
]


@pytest.mark.parametrize(("bounds", "margin", "near", "words"), BOUNDED)
def test_below_what_bounds_prove_it_is_a_tie(bounds, margin, near, words):
    problem = two_tests()
    found = proven_lead(problem, planned(problem), "a", bounds)
    assert (found.margin, found.about_as_good) == (pytest.approx(margin), near)
    assert words in found.beside
    assert not near or found.beside.startswith("about as good: a and b, ")


def test_a_solved_policy_tells_its_bounds_in_every_command(tmp_path, capsys):
    policy = str(tmp_path / "policy")
    assert _guarded(["solve", "tiger", "--gap", "0.5", "--save", policy]) == 0
    capsys.readouterr()
    assert _guarded(["decide", "tiger", "--agent", f"solved:{policy}", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    second = record["runner_up"]
    assert record["margin"] == record["bounds"][record["choice"]][0] - record["bounds"][second][1]
    problem = make("tiger")
    advice = advise(problem, make_agent(f"solved:{policy}", problem))
    assert (advice.do, advice.beside) == (record["choice"], record["beside"])


# -- the setting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["2%", "0.02", " 2 % "])
def test_a_share_is_written_either_way(written, capsys):
    assert _guarded(["decide", "chest-pain", "--near", written, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["near"], record["about_as_good"]) == (0.02, True)
    assert record["beside"].startswith(f"about as good: {record['choice']} and {record['runner_up']}, ")


@pytest.mark.parametrize(
    ("written", "message"),
    [("x", "a probability such as 0.4, 40% or 2 in 5 is expected; this is 'x'"), ("101%", "it is 1.01")],
)
def test_a_share_that_is_none_is_refused_in_a_line(written, message, capsys):
    assert _guarded(["decide", "tiger", "--near", written]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_the_setting_stays_when_others_change():
    agent = make_agent("efe", make("tiger"), near=0.07)
    assert agent.changed(weight=3.0).near == 0.07
    assert agent.changed(near=0.0).near == 0.0
    with pytest.raises(AgentError, match="near must be a share from 0 to 1; it is -1"):
        agent.changed(near=-1.0)


def test_a_log_keeps_words_and_setting_and_one_without_them_is_replayed(tmp_path):
    problem = two_tests(5.1)
    case = Case(problem, planned(problem, near=0.05))
    case.enter("first", "pos")
    case.stop()
    record = case.as_dict()
    assert record["agent"]["near"] == 0.05
    advised = record["entries"][0]["advised"]
    assert advised["about_as_good"]
    assert advised["beside"].startswith("about as good: first and second")
    path = tmp_path / "log"
    path.write_text(case.line())
    assert replay(path) == (1, None)

    old = json.loads(case.line())
    del old["agent"]["near"]
    for entry in old["entries"]:
        entry["advised"] = {name: value for name, value in entry["advised"].items() if name not in BESIDE}
    path.write_text(json.dumps(old))
    assert replay(path) == (1, None)

    other = json.loads(case.line())
    other["entries"][0]["advised"]["about_as_good"] = False
    path.write_text(json.dumps(other))
    _, difference = replay(path)
    assert difference is not None
    assert difference["step"] == 1

"""Estimates are as sure as they say: errors from the exact spread, losses that never came up, cases cut off."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan import POMDP, Decision, Score, Test
from rhoplan.advice.case import advise
from rhoplan.advice.cautions import cautions
from rhoplan.advice.compare import compare, frontier
from rhoplan.advice.pathway import pathway
from rhoplan.advice.words import cut_off
from rhoplan.agents.agent import make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.api import simulate
from rhoplan.app.cli import _guarded
from rhoplan.app.records import advice_record
from rhoplan.evaluation import simulate as simulation
from rhoplan.evaluation.episodes import Episodes
from rhoplan.io.model_file import write_model
from rhoplan.present.content import make_report
from rhoplan.present.page.page import page
from rhoplan.present.telling import as_text
from rhoplan.problems.registry import WORKED_MODELS
from serving import PATIENCE

MOST_SE = 4.5
"""How far an estimate may stray: in these seeded runs the farthest of all columns is checked against it."""


def from_rows(problem: POMDP, rows: Episodes) -> Score:
    """The score that episodes alone give."""
    return simulation.summarise(rows, (42,), world=problem, max_steps=problem.cap)


def rare(chance: float = 1e-5, loss: float = 1e6) -> POMDP:
    """A test that misses one ill case in 1,000, so that `leave` loses `loss` hardly ever."""
    rows = np.array([[0.99, 0.01], [0.001, 0.999]])
    commits = (Decision("leave", np.array([0.0, -loss])), Decision("treat", np.array([-100.0, 0.0])))
    test = Test("check", 1.0, ("clear", "alarm"), rows, repeatable=False)
    prior = np.array([1 - chance, chance])
    return rhoplan.DiagnosticProblem(name="rare", states=("well", "ill"), tests=(test,), decisions=commits, prior=prior)


def free(**rewards: tuple[float, float]) -> POMDP:
    """A test that costs nothing, can be repeated and tells little: some cases go on beyond any cap."""
    rows = np.array([[0.6, 0.4], [0.4, 0.6]])
    paid = rewards or {"leave": (0.0, -1000.0), "treat": (-600.0, 0.0)}
    commits = tuple(Decision(name, np.array(row)) for name, row in paid.items())
    test = Test("ask", 0.0, ("no", "yes"), rows)
    return rhoplan.DiagnosticProblem(name="free", states=("well", "ill"), tests=(test,), decisions=commits, horizon=2)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[str, str]:
        code = _guarded(list(arguments))
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out, captured.err

    return call


@pytest.mark.parametrize("name", [*WORKED_MODELS, "tiger", "testbed", "diagnosis", "bandit"])
@pytest.mark.parametrize("agent", ["planning", "efe"])
def test_the_exact_mean_of_every_shipped_model_is_within_reach(name: str, agent: str) -> None:
    problem = rhoplan.make(name)
    chosen = make_agent(agent, problem)
    exact, found = rhoplan.evaluate(problem, chosen), simulate(problem, chosen, episodes=1000)
    assert found.se_from == "exact"
    assert found.unseen_loss is None
    assert found.reward_sd == pytest.approx(exact.reward_sd)
    for column in ("reward", "tests", "success", "truncated"):
        error = found.se[column]
        assert abs(getattr(found, column) - getattr(exact, column)) <= MOST_SE * error + 1e-9, column


def test_the_episodes_alone_would_make_security_lane_look_too_sure() -> None:
    problem = rhoplan.make("security-lane")
    agent = make_agent("efe", problem)
    rows = simulate_episodes(problem, agent, episodes=4000)
    alone, exact = from_rows(problem, rows), rhoplan.evaluate(problem, agent)
    assert abs(alone.reward - exact.reward) > 5 * alone.se["reward"]
    assert alone.unseen_loss is not None
    assert alone.unseen_loss.reward == min(float(c.reward.min()) for c in problem.flat.commits)
    found = simulate(problem, agent, episodes=4000)
    assert found.reward == alone.reward
    assert abs(found.reward - exact.reward) < found.se["reward"]


@pytest.mark.parametrize(("precision", "cap"), [(math.inf, 12), (0.05, 4)])
@pytest.mark.parametrize("world", [None, "diagnosis:accuracy=0.9,cost=0.5"])
def test_errors_are_those_of_many_samples(precision: float, cap: int, world: str | None) -> None:
    """The exact spread of every column against that of 20,000 episodes, in its own world and in another."""
    problem = rhoplan.make("diagnosis:accuracy=0.7")
    agent = make_agent("efe", problem, precision=precision)
    truth = rhoplan.make(world) if world else None
    rows = simulate_episodes(problem, agent, world=truth, episodes=4000, max_steps=cap)
    found = simulate(problem, agent, world=truth, episodes=4000, max_steps=cap)
    assert found.se_from == "exact"
    assert 0.05 < found.truncated < 0.95
    for column in ("reward", "discounted", "tests", "steps", "success", "truncated"):
        sample = getattr(rows, column).astype(float).std() / math.sqrt(found.episodes)
        # A share between 5% and 95% has a spread that 20,000 episodes know to 1.6% (one standard error): six of them.
        assert found.se[column] == pytest.approx(sample, rel=0.1), column


def test_large_graphs_searches_and_factored_problems_take_the_episodes_spread() -> None:
    tiger, large = rhoplan.make("tiger"), rhoplan.make("tileworld")
    agent = make_agent("efe", large)
    assert simulate(large, agent, seeds=[42], episodes=20).se_from == "sample"
    search = make_agent("efe", tiger, planner="mcts", simulations=20)
    assert simulate(tiger, search, seeds=[42], episodes=5).se_from == "sample"
    rocks = rhoplan.make("rocksample:n=5,k=3")
    assert simulate(rocks, make_agent("greedy", rocks), seeds=[42], episodes=5).se_from == "sample"


def test_a_world_that_the_agent_rules_out_is_simulated_all_the_same() -> None:
    """The exact score refuses what no episode met: the errors are those of the episodes then."""
    problem, world = rhoplan.make("tiger:accuracy=1"), rhoplan.make("tiger:accuracy=0.9999999")
    agent = make_agent("planning-ig", problem, precision=0.001)
    with pytest.raises(rhoplan.ImpossibleEvidence):
        rhoplan.evaluate(problem, agent, world=world)
    assert simulate(problem, agent, world=world, seeds=[42], episodes=50).se_from == "sample"


def test_a_loss_that_never_came_up_is_told_with_its_chance() -> None:
    problem = rare()
    agent = make_agent("efe", problem)
    rows = simulate_episodes(problem, agent, episodes=200)
    unseen = from_rows(problem, rows).unseen_loss
    assert unseen is not None
    assert unseen.reward == -1e6
    assert unseen.worst_seen == -100.0
    # Left after a clear result: P(clear) P(ill | clear) of all cases, so P(ill) P(clear | ill).
    assert unseen.chance == pytest.approx(1e-5 * 0.001, rel=0.05)


def test_no_warning_where_the_loss_came_up_cannot_or_hardly_can() -> None:
    seen, impossible = rare(chance=0.2, loss=1e5), rare(chance=1e-13)
    for problem in (seen, impossible):
        rows = simulate_episodes(problem, make_agent("efe", problem), episodes=2000)
        assert from_rows(problem, rows).unseen_loss is None
    sure = rhoplan.make("bandit:k=2,accuracy=1")
    rows = simulate_episodes(sure, make_agent("planning", sure), seeds=[42], episodes=50)
    assert rows.success.all()
    assert from_rows(sure, rows).unseen_loss is None


def test_losses_on_the_way_count_in_factored_problems() -> None:
    problem = rhoplan.make("rocksample-standard")
    agent = make_agent("planning", problem)
    few = simulate(problem, agent, seeds=[42], episodes=10)
    assert few.tallies["bad"] == 0
    assert few.unseen_loss is not None
    assert few.unseen_loss.reward == -10
    blind = rhoplan.make("rocksample:n=5,k=3")
    found = simulate(blind, make_agent("greedy", blind), episodes=50)
    assert found.tallies["bad"] > 0
    assert found.unseen_loss is None


def test_the_warning_stands_on_the_error_stream_and_in_json(run: Any) -> None:
    arguments = ["simulate", "security-lane", "--planner", "mcts", "--simulations", "20", "--episodes", "100"]
    out, told = run(*arguments)
    assert "standard errors come from the episodes" in out
    assert told.count("\n") == 1
    assert told.startswith(
        "warning: efe: the worst that an action taken can pay, -1,000,000 USD, came up in none of 500"
    )
    text, told_again = run(*arguments, "--json")
    assert told_again == told
    record = json.loads(text)
    assert record["se_from"] == "sample"
    assert record["unseen_loss"]["reward"] == -1e6
    out, told = run("simulate", "security-lane", "--episodes", "100")
    assert told == ""
    assert "standard errors come from the exact spread" in out
    record = json.loads(run("simulate", "security-lane", "--episodes", "100", "--json")[0])
    assert (record["se_from"], record["unseen_loss"]) == ("exact", None)


@pytest.mark.parametrize(("accuracy", "success"), [("1", 1.0), ("0.5", None)])
def test_a_share_of_all_or_none_has_an_error(accuracy: str, success: float | None) -> None:
    problem = rhoplan.make(f"testbed:accuracy={accuracy}")
    rows = simulate_episodes(problem, make_agent("planning", problem), seeds=[42], episodes=30)
    found = from_rows(problem, rows)
    low, high = found.success_interval
    assert 0 <= low < found.success <= high <= 1
    assert found.se["success"] > 0
    assert found.se["truncated"] == pytest.approx(0.5 / 31)  # half of Wilson's interval at 0 of 30
    if success is not None:
        assert (found.success, high) == (success, 1.0)
        assert low == pytest.approx(30 / (30 + 1.959964**2), rel=1e-6)


def test_advice_pathway_and_comparison_tell_of_cases_cut_off() -> None:
    problem = free()
    agent = make_agent("efe", problem)
    score = rhoplan.evaluate(problem, agent)
    words = cut_off(problem, score.truncated)
    assert words
    assert score.reward > -1  # it looks good
    advice = advise(problem, agent)
    assert advice.ahead.cut_off == words
    assert advice_record(problem, agent, advice)["ahead"]["cut_off"] == words
    assert words in as_text(pathway(problem, agent))
    rows = {row.key: row for row in compare(problem, agent, seconds=0.5)}
    assert rows["asked"].note.endswith(words)
    assert rows["asked"].truncated == pytest.approx(score.truncated, abs=1e-9)
    assert rows["commit-now"].truncated == 0
    steps = frontier(problem, 2, high=1.0, seconds=PATIENCE).points
    assert steps[-1].cut_off == words
    kinds = {one.kind: one.text for one in cautions(problem, agent, seconds=0.5)}
    assert kinds["cut off"] == f"{words}."
    assert "cost-only better" not in kinds


def test_the_report_does_not_call_a_plan_that_is_cut_off_as_good_as_the_best() -> None:
    problem = free()
    report = make_report(problem, make_agent("efe", problem), seconds=0.5, budget=0.5)
    text = page(report)
    assert report.pathway.ahead.cut_off in text
    assert "it reaches the certified optimum" not in text


def test_plans_that_end_need_no_word() -> None:
    problem = rhoplan.make("screening-cascade")
    agent = make_agent("efe", problem)
    assert advise(problem, agent).ahead.cut_off == ""
    assert all("cut off" not in row.note for row in compare(problem, agent, seconds=0.5))
    assert "cut off" not in {one.kind for one in cautions(problem, agent, seconds=0.5)}


@pytest.mark.parametrize("command", ["evaluate", "simulate", "solve", "advise"])
def test_commands_say_what_cases_cut_off_do_to_the_mean(
    command: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "free.yaml"
    file.write_text(write_model(free()))
    given = {"simulate": ["--episodes", "20"], "solve": ["--time-limit", "2"], "advise": ["--agent", "efe"]}
    settings = given.get(command, [])
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    out, _ = run(command, str(file), *settings)
    assert "of cases are cut off at 200 steps and pay no final loss: the mean looks better than it is" in out
    if command in ("evaluate", "simulate"):
        out, _ = run(command, "tiger", *settings)
        assert "are cut off" not in out
        text, _ = run(command, str(file), *settings, "--json")
        assert json.loads(text)["truncated"] > 0.1

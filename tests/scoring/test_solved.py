"""What following a solved policy earns: exact where it fits, else estimated, and it says which."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rhoplan
from rhoplan._old.followed import Followed
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.agents.agent import make_agent
from rhoplan.app.cli.solve import solve_command
from rhoplan.app.records import rarest
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.evaluation.plan_score import FEWEST, score_solved
from rhoplan.io.pomdp_writer import write_pomdp


def door() -> POMDP:
    """A door that opens at one push in two, each of which costs 1: two pushes on average."""
    push = Action("push", np.full(1, -1.0), np.full((1, 2), 0.5), ("shut", "open"), ("here", END))
    return POMDP("door", (Factor("none", ("only",), np.ones(1)),), "here", FixedMenu((push,)))


def test_the_exact_score_of_a_plan_is_known_by_hand():
    problem = door()
    policy = solve(problem).policy
    found = score_solved(policy)
    assert found.kind == "exact"
    assert found.reward == pytest.approx(-2, abs=1e-9)
    assert found.steps == pytest.approx(2, abs=1e-9)
    assert found.truncated < 1e-12
    assert (found.error("reward"), found.error("discounted"), found.error("steps")) == (0.0, 0.0, 0.0)
    assert found.episodes == 0


def test_a_discount_that_was_asked_for_counts():
    found = score_solved(solve(door(), discount=0.5).policy)
    assert found.discounted == pytest.approx(-1 / (1 - 0.25))
    assert found.reward == pytest.approx(-2, abs=1e-9)


def test_where_there_is_no_time_a_few_episodes_must_do():
    found = score_solved(solve(door()).policy, most_nodes=0, episodes=400, seconds=0.0)
    assert found.episodes == FEWEST
    assert found.error("reward") > 0


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_an_episode_that_never_ends_is_cut_off_after_so_many_steps(cap: int) -> None:
    """Each step pays 3, the first in full."""
    pays = np.full((1, 2), 3.0)
    endless = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), pays, discount=0.5)
    policy: Any = solve(replace(endless, cap=cap), method="points").policy
    found = score_solved(policy, most_nodes=0, episodes=3)
    assert (found.reward, found.steps, found.truncated) == (3.0 * cap, cap, 1.0)
    assert found.value == found.discounted == pytest.approx(3.0 * (2 - 2 * 0.5**cap))
    assert found.error("value") == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("spec", "method", "discount", "weight"),
    [
        ("tiger", "points", 0.9, 0.0),
        ("drilling", "points", 1.0, 1.0),
        ("diagnosis", "points", 1.0, 0.3),
        ("rocksample:n=3,k=1", "grids", 0.95, 0.0),
        ("rocksample:n=3,k=2", "errands", 1.0, 0.0),
    ],
)
def test_an_estimate_is_near_what_the_policy_earns(spec: str, method: str, discount: float, weight: float) -> None:
    policy: Any = solve(rhoplan.make(spec), method=method, discount=discount, weight=weight, gap=0.5).policy
    exact, found = score_solved(policy, most_nodes=100_000), score_solved(policy, most_nodes=0, episodes=200)
    assert (exact.kind, exact.episodes, exact.error("reward")) == ("exact", 0, 0.0)
    assert (found.kind, found.episodes) == ("estimated", 200)
    assert (rarest(found), rarest(exact)) == (3 / 200, 0.0)
    for name in ("reward", "discounted", "value", "steps", "information"):
        assert abs(getattr(found, name) - getattr(exact, name)) <= 6 * found.error(name) + 1e-6, name
    assert found.value == pytest.approx(found.discounted + weight * found.information)


@pytest.mark.parametrize("weight", [0.3, 5.0])
@pytest.mark.parametrize("horizon", [None, 1, 3])
@pytest.mark.parametrize("number", range(3))
def test_what_a_plan_earns_with_information_paid_lies_within_its_bounds(
    number: int, horizon: int | None, weight: float
) -> None:
    """Also what the last action of all tells counts."""
    rng = np.random.default_rng(number)
    changes, shows = rng.dirichlet(np.full(3, 0.5), (2, 3)), rng.dirichlet(np.full(3, 0.5), (2, 3))
    pays = np.repeat(rng.uniform(-2, 2, (2, 3, 1)), 3, axis=2)
    problem = rhoplan.from_arrays(changes, shows, pays, discount=0.4)
    solution = solve(problem, weight=weight, horizon=horizon, gap=1e-3)
    found = score_solved(solution.policy, most_nodes=300, episodes=12)
    assert (found.kind == "exact") == (found.error("value") == 0) == (horizon is not None)
    assert found.information > 0
    slack = 6 * found.error("value") + found.value_tail + 1e-9 * abs(solution.lower)
    assert solution.lower - slack <= found.value <= solution.upper + slack
    assert slack < 1e-6 or horizon is None


@pytest.mark.parametrize("spec", ["rocksample:n=3,k=2", "inspection:n=2", "drilling"])
def test_plans_of_several_factors_earn_what_their_bounds_say_with_information_paid(spec: str) -> None:
    solution = solve(rhoplan.make(spec), weight=1.0, gap=0.01)
    found = score_solved(solution.policy, most_nodes=100_000)
    assert solution.lower - 1e-6 <= found.value <= solution.upper + 1e-6
    assert found.information > 0.1


def test_one_look_that_ends_it_all_tells_what_it_tells():
    """Two states alike, a look that is right nine times in ten, and one action."""
    shows = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    problem = rhoplan.from_arrays(np.eye(2)[None], shows, np.zeros((1, 2, 2)), discount=0.5)
    found = score_solved(solve(problem, weight=2.0, horizon=1).policy)
    told = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert found.information == pytest.approx(told, abs=1e-12)
    assert found.value == pytest.approx(2 * told, abs=1e-12)
    assert (found.reward, found.steps) == (0.0, 1.0)


def test_what_cut_off_cases_may_still_learn_is_in_the_tail():
    """A look that tells everything of a state that changes each time: a full nat and more at every step, for ever."""
    shows, changes = np.eye(3)[None], np.full((1, 3, 3), 1 / 3)
    problem = rhoplan.from_arrays(changes, shows, np.ones((1, 3, 3)), discount=0.99)
    found = score_solved(solve(problem, weight=2.0, gap=1e-3).policy)
    assert found.truncated == pytest.approx(1.0)
    whole = (1 + 2 * np.log(3)) / (1 - 0.99)
    assert found.value + found.value_tail == pytest.approx(whole)
    assert found.discounted + found.discounted_tail == pytest.approx(100)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "door.pomdp"
    path.write_text(write_pomdp(door()))
    return str(path)


def test_solve_tells_the_score_when_asked_and_else_how_to_ask(file):
    asked = CliRunner().invoke(solve_command, [file, "--score"])
    assert "following it earns -2.0000 in 2.0 steps; exact" in asked.output
    plain = CliRunner().invoke(solve_command, [file])
    assert "add --score to see what following it earns" in plain.output
    assert "following it earns -" not in plain.output


def test_with_a_weight_solve_tells_what_the_plan_is_worth_with_information_paid(tmp_path):
    shows = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    problem = rhoplan.from_arrays(np.eye(2)[None], shows, np.zeros((1, 2, 2)), discount=0.5)
    path = tmp_path / "look.pomdp"
    path.write_text(write_pomdp(problem))
    told = CliRunner().invoke(solve_command, [str(path), "--weight", "2", "--horizon", "1", "--score"]).output
    assert "following it earns +0.0000 (+0.0000 discounted) and 0.3681 nats discounted in 1.0 steps; exact" in told
    assert "which is worth +0.7361 with information paid" in told
    assert "less than the lower bound" not in told


def test_json_says_whether_the_score_is_exact(file):
    told = json.loads(CliRunner().invoke(solve_command, [file, "--score", "--json"]).stdout)
    assert told["score"]["kind"] == "exact"
    assert told["score"]["reward"] == pytest.approx(-2, abs=1e-6)
    assert told["lower"] <= told["score"]["reward"] + 1e-6
    assert json.loads(CliRunner().invoke(solve_command, [file, "--json"]).stdout)["score"] is None


@pytest.mark.parametrize("name", ["chest-pain", "four-diseases", "screening-cascade"])
def test_all_cases_stop_and_what_they_learned_is_what_is_no_longer_unsure(name: str) -> None:
    problem = rhoplan.make(name)
    graph = Graph(problem)
    followed = Followed(GraphPolicy(graph, make_agent("efe", problem)))
    unsure = graph.tables[0].entropy[graph.belief[:, 0]]
    left = sum(share * unsure[node] for node, share in followed.stops.items())
    assert sum(followed.stops.values()) == pytest.approx(1.0, abs=1e-9)
    assert followed.ends.sum(axis=0) == pytest.approx(problem.prior, abs=1e-9)
    assert followed.information == pytest.approx(unsure[graph.root] - left, abs=1e-9)

"""What following a solved policy earns: exact where it fits, else estimated, and it says which."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import rhoplan
from rhoplan.agents.policy import Policy
from rhoplan.app.cli.solve import solve_command
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import END, Action, Factor, FixedMenu, Problem
from rhoplan.scoring.followed import Followed

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.scoring.solved import score_solved


def door() -> Problem:
    """A door that opens at one push in two, each of which costs 1: two pushes on average."""
    push = Action("push", np.full(1, -1.0), np.full((1, 2), 0.5), ("shut", "open"), ("here", END))
    return Problem("door", (Factor("none", ("only",), np.ones(1)),), "here", FixedMenu((push,)))


def test_the_exact_score_of_a_plan_is_known_by_hand():
    problem = door()
    policy = rhoplan.solve(problem).policy
    found = score_solved(policy)
    assert found.kind == "exact"
    assert found.reward == pytest.approx(-2, abs=1e-9)
    assert found.steps == pytest.approx(2, abs=1e-9)
    assert found.truncated < 1e-12
    assert (found.reward_se, found.discounted_se, found.steps_se) == (0.0, 0.0, 0.0)
    assert (found.cap, found.episodes) == (problem.cap, 0)


def test_a_discount_that_was_asked_for_counts():
    found = score_solved(rhoplan.solve(door(), discount=0.5).policy)
    assert found.discounted == pytest.approx(-1 / (1 - 0.25))
    assert found.reward == pytest.approx(-2, abs=1e-9)


def test_where_the_graph_is_too_small_episodes_estimate_it():
    policy = rhoplan.solve(door()).policy
    found = score_solved(policy, most_nodes=0, episodes=400)
    assert found.kind == "estimated"
    assert found.episodes == 400
    assert found.reward_se > 0
    assert abs(found.reward + 2) < 6 * found.reward_se
    assert abs(found.steps - 2) < 6 * found.steps_se


@pytest.mark.parametrize(
    ("spec", "discount"), [("tiger", 0.9), ("rocksample:n=3,k=2", 0.95), ("drilling", 1.0), ("diagnosis", 1.0)]
)
def test_episodes_on_the_arrays_of_the_solver_earn_what_the_plan_does(spec: str, discount: float) -> None:
    policy = rhoplan.solve(rhoplan.make(spec), method="points", discount=discount, gap=0.1).policy
    exact, found = score_solved(policy, most_nodes=100_000), score_solved(policy, most_nodes=0, episodes=600)
    assert (exact.kind, found.kind) == ("exact", "estimated")
    for column in ("reward", "discounted", "steps"):
        error = getattr(found, f"{column}_se")
        assert abs(getattr(found, column) - getattr(exact, column)) <= 6 * error + 1e-6, column
    assert found.steps > 1


def test_a_solved_file_that_never_ends_earns_what_its_bounds_say():
    rng = np.random.default_rng(4)
    changes, shows = rng.dirichlet(np.full(4, 0.5), (3, 4)), rng.dirichlet(np.full(2, 0.5), (3, 4))
    pays = np.repeat(rng.uniform(-5, 5, (3, 4, 1)), 4, axis=2)
    solution = rhoplan.solve(rhoplan.from_arrays(changes, shows, pays, discount=0.5), gap=0.01)
    found = score_solved(solution.policy, most_nodes=0, episodes=80)
    slack = 6 * found.discounted_se + found.discounted_tail
    assert solution.lower - slack <= found.discounted <= solution.upper + slack
    assert slack < 0.2 * (pays.max() - pays.min()) / (1 - 0.5)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "door.pomdp"
    path.write_text(rhoplan.write_pomdp(door()))
    return str(path)


def test_solve_tells_the_score_when_asked_and_else_how_to_ask(file):
    asked = CliRunner().invoke(solve_command, [file, "--score"])
    assert "following it earns -2.0000 in 2.0 steps; exact" in asked.output
    plain = CliRunner().invoke(solve_command, [file])
    assert "add --score to see what following it earns" in plain.output
    assert "following it earns -" not in plain.output


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
    followed = Followed(Policy(graph, rhoplan.make_agent("efe", problem)))
    unsure = graph.tables[0].entropy[graph.belief[:, 0]]
    left = sum(share * unsure[node] for node, share in followed.stops.items())
    assert sum(followed.stops.values()) == pytest.approx(1.0, abs=1e-9)
    assert followed.ends.sum(axis=0) == pytest.approx(problem.prior, abs=1e-9)
    assert followed.information == pytest.approx(unsure[graph.root] - left, abs=1e-9)

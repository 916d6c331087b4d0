"""Solving problems of any kind: what comes back, what it is worth when followed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.app.cli import _guarded
from rhoplan.belief.situation import initial, observe
from rhoplan.model.problem import END, Action, Factor, FixedMenu, Problem

pytest.importorskip("numba", reason="solving general problems needs numba")


def restarting_tiger(discount: float = 0.95) -> Problem:
    """Tiger that starts again after each opening: worth 19.371368 (discount .95)."""
    listen = np.array([[0.85, 0.15], [0.15, 0.85]])
    even = np.full((2, 2), 0.5)
    here = "room"
    actions = (
        Action("listen", np.full(2, -1.0), listen, ("left", "right"), (here, here)),
        Action("open-left", np.array([-100.0, 10.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
        Action("open-right", np.array([10.0, -100.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
    )
    factor = Factor("tiger", ("left", "right"), np.full(2, 0.5))
    return Problem("tiger-again", (factor,), here, FixedMenu(actions), discount=discount)


def test_the_value_of_tiger_lies_between_the_bounds() -> None:
    for weight, value in ((0.0, 19.371368), (1.0, 22.484883)):
        found = rhoplan.solve(restarting_tiger(), weight=weight, gap=1e-3, check=True)

        assert found.method == "points"
        assert found.stopped_by == "gap"
        assert found.lower - 1e-6 <= value <= found.upper + 1e-6
        assert found.first == "listen"
        assert found.certificate is not None
        assert found.certificate.holds


def test_following_the_policy_is_worth_the_lower_bound(tmp_path: Path) -> None:
    problem = restarting_tiger()
    found = rhoplan.solve(problem, gap=1e-3)
    assert found.policy is not None
    found.policy.save(tmp_path / "tiger.policy")

    agent = rhoplan.make_agent(f"solved:{tmp_path / 'tiger.policy'}", problem)
    score = rhoplan.evaluate(problem, agent)

    assert score.discounted + score.discounted_tail >= found.lower - 1e-6
    assert score.discounted - score.discounted_tail <= found.upper + 1e-6
    assert rhoplan.decide(problem, agent).choice == "listen"


def test_a_policy_bounds_every_action_and_says_what_is_proven() -> None:
    problem = restarting_tiger()
    policy = rhoplan.solve(problem, gap=1e-4).policy
    assert policy is not None
    situation = initial(problem)
    low, high = policy.value(situation)
    bounds = policy.actions(situation)

    assert low <= 19.371368 + 1e-6
    assert high >= 19.371368 - 1e-6
    assert set(bounds) == {"listen", "open-left", "open-right"}
    assert all(below <= above for below, above in bounds.values())
    assert max(above for _, above in bounds.values()) == pytest.approx(high, abs=1e-3)
    assert policy.proven(situation) == "listen"
    for _ in range(3):
        situation = observe(problem, situation, "listen", "left")
    assert policy.action(situation) == "open-right"


def test_both_ways_of_solving_agree() -> None:
    problem = rhoplan.make("tiger")
    for weight in (0.0, 1.0):
        reveal, points = (rhoplan.solve(problem, weight=weight, gap=1e-3, method=m) for m in ("reveal", "points"))
        assert reveal.lower <= points.upper + 1e-9
        assert points.lower <= reveal.upper + 1e-9
        assert points.stopped_by == reveal.stopped_by == "gap"


def test_a_sparse_change_is_solved_like_a_dense_one() -> None:
    problem = restarting_tiger()
    actions = tuple(
        Action(
            a.name, a.reward, a.likelihood, a.outcomes, a.leads_to,
            transition=None if a.transition is None else rhoplan.Sparse.of(
                (2, 2), np.repeat([0, 1], 2), np.tile([0, 1], 2), np.asarray(a.transition).ravel()
            ),
        )
        for a in problem.menu(problem.start)
    )  # fmt: skip
    sparse = Problem("sparse", problem.factors, problem.start, FixedMenu(actions), discount=0.95)

    one, other = rhoplan.solve(problem, gap=1e-3), rhoplan.solve(sparse, gap=1e-3)

    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=1e-12)


def test_several_factors_and_places_are_solved() -> None:
    """RockSample with one rock: following the policy is worth what the bounds say, and no agent is worth more."""
    problem = rhoplan.make("rocksample:n=3,k=1")
    found = rhoplan.solve(problem, gap=1e-3, seconds=120)
    assert found.policy is not None
    solved = rhoplan.Agent("solved", planner=FollowRule(rule=found.policy))
    reward = rhoplan.evaluate(problem, solved).reward

    assert found.stopped_by == "gap"
    assert found.lower - 1e-9 <= reward <= found.upper + 1e-9
    for name in rhoplan.AGENTS:
        other = rhoplan.evaluate(problem, rhoplan.make_agent(name, problem)).reward
        assert other <= found.upper + 1e-9, name


def test_a_policy_is_refused_for_another_problem(tmp_path: Path) -> None:
    policy = rhoplan.solve(restarting_tiger(), gap=0.1).policy
    assert policy is not None
    policy.save(tmp_path / "p")

    with pytest.raises(rhoplan.ProblemError, match="has other numbers: solve it again"):
        rhoplan.make_agent(f"solved:{tmp_path / 'p'}", rhoplan.make("tiger"))
    (tmp_path / "no").write_text("nothing")
    with pytest.raises(rhoplan.ProblemError, match="must be a policy saved by rhoplan solve"):
        rhoplan.make_agent(f"solved:{tmp_path / 'no'}", rhoplan.make("tiger"))


def endless(reward: float) -> Problem:
    stay = Action("stay", np.full(2, reward), np.eye(2), ("a", "b"), ("here", "here"), transition=np.full((2, 2), 0.5))
    stop = Action("stop", np.zeros(2), np.ones((2, 1)), ("done",), (END,))
    return Problem("endless", (Factor("x", ("a", "b"), np.full(2, 0.5)),), "here", FixedMenu((stay, stop)))


def test_what_has_no_certificate_is_refused() -> None:
    with pytest.raises(rhoplan.AgentError, match="weight must be"):
        rhoplan.solve(endless(-1.0), weight=-1.0)
    with pytest.raises(rhoplan.RhoplanError):
        rhoplan.solve(endless(1.0))
    with pytest.raises(rhoplan.RhoplanError):
        rhoplan.solve(endless(0.0), weight=1.0)
    with pytest.raises(rhoplan.ProblemError, match="observe-then-commit"):
        rhoplan.solve(endless(-1.0), method="reveal")
    assert rhoplan.solve(endless(-1.0)).upper == pytest.approx(0.0, abs=1e-6)


def test_the_command_solves_saves_checks_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, policy = tmp_path / "tiger.pomdp", tmp_path / "out.policy"
    path.write_text(rhoplan.write_pomdp(restarting_tiger()))

    def told(*arguments: str) -> str:
        assert _guarded(list(arguments)) == 0
        return capsys.readouterr().out

    solved = told("solve", str(path), "--save", str(policy), "--check", "--gap", "0.01")
    record = json.loads(told("solve", str(path), "--gap", "0.01", "--json"))
    decided = json.loads(told("decide", str(path), "--agent", f"solved:{policy}", "--json"))
    shown = " ".join(told("decide", str(path), "--agent", f"solved:{policy}").split())

    assert "checked by other code: the bounds hold" in solved
    assert "by bounds carried from belief to belief" in " ".join(solved.split())
    assert record["lower"] <= 19.371368 <= record["upper"]
    assert record["method"] == "points"
    assert record["stopped_by"] == "gap"
    assert decided["choice"] == decided["proven"] == "listen"
    assert decided["bounds"]["listen"][0] > decided["bounds"]["open-left"][1]
    assert "Do next: listen (proven best)" in shown


def test_careless_use_is_told_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for arguments, line in (
        (("--method", "reveal", "--save", str(tmp_path / "p")), "--save and --check are for method points"),
        (("--method", "reveal", "--check"), "--save and --check are for method points"),
        (("--method", "many", "--check"), "--save and --check are for method points"),
        (("--save", str(tmp_path / "file" / "p")), "is not a folder"),
    ):
        assert _guarded(["solve", "tiger", *arguments]) == 2
        assert line in " ".join(capsys.readouterr().err.split())
    with pytest.raises(rhoplan.AgentError, match="check is for method points"):
        rhoplan.solve(rhoplan.make("tiger"), check=True)
    assert _guarded(["solve", "tiger", "--gap", "0.1", "--save", str(tmp_path / "new" / "p")]) == 0
    assert (tmp_path / "new" / "p").exists()

"""What solving has proven of a problem of errands is shown again by its policy, in memory and from a file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import END
from rhoplan.planning.asked import BoundedPolicy
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.certified.solution import SolveResult
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="the best tour needs numba")

ROVER = "rocksample:n=4,k=2"


def both(found: SolveResult, problem: rhoplan.POMDP, path: Path) -> list[BoundedPolicy]:
    """The policy of `found`, and what is read of it from a file."""
    assert isinstance(found.policy, BoundedPolicy)
    found.policy.save(path)
    return [found.policy, load_policy(path, problem)]


def teller(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command prints, as one line."""

    def told(*arguments: str) -> str:
        assert _guarded(list(arguments)) == 0
        return " ".join(capsys.readouterr().out.split())

    return told


def on_the_way(problem: rhoplan.POMDP, policy: BoundedPolicy) -> list[Belief]:
    """Situations that following `policy` comes to, the likeliest outcome each time."""
    found = [problem.belief()]
    while found[-1].observable is not END:
        action = next(a for a in problem.menu(found[-1].observable) if a.name == policy.action(found[-1]))
        found.append(max(found[-1].branches(action), key=lambda each: each.probability).belief)
    return found[:-1]


def test_a_policy_has_the_upper_bounds_of_grids(tmp_path: Path) -> None:
    problem = rhoplan.make(ROVER)
    found = solve(problem)
    assert found.method == "errands and grids"

    for policy in both(found, problem, tmp_path / "rover"):
        assert isinstance(policy, ErrandPolicy)
        low, high = policy.value(problem.belief())
        assert found.lower <= low <= high <= found.upper
        assert policy.proven(problem.belief()) == found.first
        seen = problem.belief(given=[("check-0", "good")])
        assert policy.value(seen)[1] == policy.above[0].value(seen)[1] < math.inf


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_where_only_the_walk_connects_the_policy_knows_the_optimum_everywhere(weight: float, tmp_path: Path) -> None:
    problem = rhoplan.make("inspection:n=2")
    found = solve(problem, weight=weight)
    assert found.method == "errands"
    other = solve(problem, weight=weight, method="points", seconds=20.0, gap=0.01).policy
    assert isinstance(other, BoundedPolicy)

    for policy in both(found, problem, tmp_path / "tour"):
        low, high = policy.value(problem.belief())
        assert found.lower <= low <= high <= found.upper
        for situation in on_the_way(problem, policy):
            low, high = policy.value(situation)
            least, most = other.value(situation)
            assert high - low < 1e-3
            assert least - 1e-6 <= high
            assert low <= most + 1e-6
            bounds = other.actions(situation)
            assert all(bounds[one][0] - 1e-6 <= high for one, (_, high) in policy.actions(situation).items())


def test_what_the_start_is_worth_at_most_is_kept_where_nothing_else_is_known(tmp_path: Path) -> None:
    problem = rhoplan.make(ROVER)
    found = solve(problem, method="errands", discount=0.95)

    for policy in both(found, problem, tmp_path / "rover"):
        assert policy.value(problem.belief())[1] <= found.upper < math.inf
        assert policy.value(problem.belief(given=[("check-0", "good")]))[1] == math.inf


def test_where_no_upper_bound_is_known_words_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rover"

    told = teller(capsys)
    told("solve", ROVER, "--method", "errands", "--save", str(path))
    decide = "decide", ROVER, "--agent", f"solved:{path}", "--given", "check-0=good"
    shown, record = told(*decide), json.loads(told(*decide, "--json"))

    assert "inf" not in shown.replace("information", "")
    assert "(not proven best: not every action has an upper bound)" in shown
    assert "no upper bound is known for" in shown
    assert "not known" in shown
    assert "certified lower bounds, and upper ones where they are known, on what each is worth" in shown
    assert record["bounds"]["check-0"][1] is None
    assert not record["about_as_good"]


def test_a_check_looks_at_the_bounds_of_errands(capsys: pytest.CaptureFixture[str]) -> None:
    told = teller(capsys)
    both, lower = told("solve", "inspection:n=2", "--check"), told("solve", ROVER, "--method", "errands", "--check")

    assert re.search(r"checked by other code: the bounds hold \(\d+ situations of the plan and \d+ points backed", both)
    assert re.search(r"the bounds of errands hold \(\d+ situations of the plan backed up once more", lower)
    assert "checked by other code: the bounds hold (" in told("solve", ROVER, "--check")
    assert "checked" not in told("solve", "inspection:n=2")


def test_the_work_is_counted_method_by_method(capsys: pytest.CaptureFixture[str]) -> None:
    told = teller(capsys)
    together, found = told("solve", ROVER), solve(rhoplan.make(ROVER))

    assert len(found.shares) >= 2
    assert sum(found.shares) == found.rounds
    by = "by one hidden factor after the other, (and )?on a"
    assert re.search(rf" nodes, 1 plan, \d+ levels, [\d.]+ s, {by}", together)
    assert " nodes, 1 plan, " in told("solve", "inspection:n=2")
    assert "1 symmetry, 3 rounds, " in told("solve", "screening-cascade")
    assert "shares" not in told("solve", ROVER, "--json")


def test_errands_alone_do_not_blame_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    shown = teller(capsys)("solve", ROVER, "--method", "errands")

    assert "value at least 15.000000; no upper bound is known" in shown
    assert "the bounds did not meet within 0.001: this method goes no further" in shown
    assert "time" not in shown

"""A plan of many tests is saved, read back and followed as it was; and other code checks both of its bounds."""

import json
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.errors import ProblemError
from rhoplan.model.belief import Belief
from rhoplan.planning.certified.pointbased.check import Certificate
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.many.check import check_search, largest_assignment
from rhoplan.planning.many.graph import NODES, UPPER
from rhoplan.planning.many.search import Search
from rhoplan.planning.many.solution import SAME_BELIEF, ManySolution
from serving import PATIENCE
from test_many import random_model, two_states
from test_many_panels import random_panels


def searched(
    problem: rhoplan.POMDP, *, weight: float = 0.0, discount: float = 1.0, work: float = np.inf
) -> tuple[Search, ManySolution]:
    search = Search(problem, problem.belief(), weight=weight, discount=discount, memory=1e9)
    ended = search.run(1e-9, seconds=PATIENCE, work=work, until_proven=False, progress=None)
    return search, search.solution(1e-9, ended)


def checked(search: Search, found: ManySolution, most: int = 40) -> Certificate:
    return check_search(search, found.policy, np.random.default_rng(0), most=most)


@pytest.mark.parametrize("seed", range(30))
def test_bounds_of_any_model_pass_the_check(seed: int) -> None:
    model = random_model(3000 + seed, most_nodes=1000)
    search, found = searched(model.problem, weight=model.weight, discount=model.discount)
    seen = checked(search, found)
    assert seen.holds
    assert seen.vectors == sum(len(steps) for steps in found.policy.steps.values())


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_panels_pass_the_check(seed: int) -> None:
    assert checked(*searched(random_panels(seed), weight=float(seed % 2))).holds


def test_bounds_far_apart_pass_the_check_after_tables_have_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rhoplan.planning.many.tables.FIRST_WORK", 0)
    monkeypatch.setattr(sys.modules[Search.__module__], "SLICE", 100)
    rows = np.random.default_rng(5).dirichlet(np.ones(2), size=(7, 3))
    tests = tuple(rhoplan.Test(f"t{k}", 0.5, ("a", "b"), row, False) for k, row in enumerate(rows))
    commits = tuple(rhoplan.Decision(f"c{s}", 10.0 - 40.0 * (np.arange(3) != s)) for s in range(3))
    problem = rhoplan.DiagnosticProblem(name="three", states=tuple("xyz"), tests=tests, decisions=commits)
    search, _ = searched(problem, work=200)
    while not search.maker.ceilings.radix.any():
        assert search.maker.improve()
    found = search.solution(1e-9, search.run(1e-9, seconds=PATIENCE, work=400, until_proven=False, progress=None))
    assert found.upper - found.lower > 1e-3
    assert checked(search, found).holds


@pytest.fixture
def halfway() -> tuple[Search, ManySolution]:
    search, found = searched(two_states(14, seed=1), work=2_000)
    assert checked(search, found).holds
    return search, found


def test_a_node_that_claims_too_little_is_found(halfway: tuple[Search, ManySolution]) -> None:
    search, found = halfway
    search.graph.bound[: search.graph.used[NODES] : 2, UPPER] -= 1e-4
    assert checked(search, found).upper_excess > 1e-5


def test_ceilings_that_claim_too_little_are_found(halfway: tuple[Search, ManySolution]) -> None:
    search, found = halfway
    search.maker.ceilings.value[:, :, ::2] -= 1e-3
    assert checked(search, found, most=100).upper_excess > 1e-5


def test_a_plan_that_claims_too_much_is_found(halfway: tuple[Search, ManySolution]) -> None:
    search, found = halfway
    (steps,) = [steps for steps in found.policy.steps.values() if steps[0].lower == found.lower]
    object.__setattr__(steps[0], "lower", found.lower + 1e-4)
    assert checked(search, found).lower_excess == pytest.approx(1e-4, rel=1e-3)


def test_every_set_of_results_is_one_node() -> None:
    search, _ = searched(two_states(5, seed=1))
    keys = search.graph.key[: search.graph.used[NODES]]
    assert len(keys) > 20
    assert len(np.unique(keys, axis=0)) == len(keys)


def test_largest_assignment_is_the_best_of_all_orders() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 5):
        worth = rng.integers(0, 10, size=(size, size)).astype(float)
        best = max(sum(worth[i, j] for i, j in enumerate(order)) for order in permutations(range(size)))
        assert largest_assignment(worth) == best


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_read_back_does_the_same(seed: int, tmp_path: Path) -> None:
    model = random_model(4000 + seed, most_nodes=300)
    problem = model.problem
    found = searched(problem, weight=model.weight, discount=model.discount)[1].policy
    found.save(tmp_path / "plan")
    again = load_policy(tmp_path / "plan", model.problem)
    assert again.settings == found.settings
    queue = [problem.belief()]
    for situation in queue:
        assert again.action(situation) == found.action(situation)
        assert again.value(situation) == found.value(situation)
        action = next(one for one in problem.menu(situation.observable) if one.name == found.action(situation))
        if not action.ends_episode:
            queue += [one.belief for one in situation.branches(action)]
    off = next((one for one in problem.menu(problem.start) if one.kind == "test"), None)
    if off is not None:
        there = problem.belief().branches(off)[0].belief
        assert again.actions(there) == found.actions(there)


def test_a_plan_is_refused_for_another_problem(tmp_path: Path) -> None:
    searched(two_states(6, seed=0))[1].policy.save(tmp_path / "plan")
    for other in (two_states(6, seed=1), rhoplan.make("drilling")):
        with pytest.raises(ProblemError, match="must be used with the problem it was solved for"):
            load_policy(tmp_path / "plan", other)


def test_where_repeated_tests_lead_back_to_a_belief_the_best_plan_from_there_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A plan cut short is worth less where it comes back later; whoever is there has all of its claims to go by."""
    monkeypatch.setattr(sys.modules[Search.__module__], "SLICE", 10)
    monkeypatch.setattr(sys.modules[Search.__module__], "WORTH_SCOUTING", np.inf)
    _, found = searched(rhoplan.make("tiger"), work=40)
    every = [step for steps in found.policy.steps.values() for step in steps]
    for step in every:
        same = [other.lower for other in every if np.abs(other.belief - step.belief).max() <= SAME_BELIEF]
        followed = found.policy.step(Belief(found.policy.origin, step.done, (step.belief,)))
        assert followed is not None
        assert followed.lower == max(same)
    assert any(step.lower < found.lower - 1e-6 for step in every if step.belief == pytest.approx(0.5))


def test_the_commands_save_check_and_follow_a_plan_of_dozens_of_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests = "".join(f"  t{i}: {{cost: 0.05, sensitivity: 80%, specificity: {60 + i}%}}\n" for i in range(30))
    model, plan = tmp_path / "many.yaml", tmp_path / "plan"
    model.write_text(
        f"states: [well, ill]\nprevalence: {{ill: 30%}}\ntests:\n{tests}losses:\n  treat: [1, 0]\n  wait: [0, 9]\n"
    )

    def told(*arguments: str) -> str:
        assert _guarded(list(arguments)) == 0
        return capsys.readouterr().out

    wish = "solve", str(model), "--time-limit", "5", "--gap", "0.01"
    solved = " ".join(told(*wish, "--check").split())
    record = json.loads(told(*wish, "--save", str(plan), "--json"))
    score = json.loads(told("evaluate", str(model), "--agent", f"solved:{plan}", "--json"))
    played = json.loads(told("simulate", str(model), "--agent", f"solved:{plan}", "--episodes", "5", "--json"))
    assert "checked by other code: the bounds hold" in solved
    assert "situations of the plan" in solved
    assert record["method"] == "many"
    assert score["reward"] == pytest.approx(record["reward"], abs=1e-9)
    assert played["tests"] >= 1
    assert _guarded(["solve", str(model), "--plot", str(tmp_path / "p.png")]) == 2
    assert "--plot is for method points; with so many tests method is many" in " ".join(capsys.readouterr().err.split())

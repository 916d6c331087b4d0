"""Branch and bound over evidence where results come in panels, against exact look-ahead over all that can be run."""

import random
from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.planning.certified.solve import solve, usual_method
from rhoplan.planning.many import search
from rhoplan.planning.many.tables import CeilingMaker
from rhoplan.planning.utility import Information
from serving import PATIENCE

LONGEST = 6
"""Actions after which nothing is left to run in these models."""


def random_panels(seed: int) -> rhoplan.POMDP:
    """Up to five tests, some in one or two panels that may share one, some to be had in panels only; and rules."""
    dice = random.Random(seed)
    states = dice.choice([2, 2, 3])
    cap = dice.choice([None, None, 2, 3])
    tests: list[rhoplan.Test] = []
    for k in range(dice.randint(3, 5)):
        outcomes = dice.choice([2, 2, 3])
        rows = np.array([[dice.randint(1, 9) for _ in range(outcomes)] for _ in range(states)], dtype=float)
        after = (f"t{dice.randrange(k)}",) if k and dice.random() < 0.3 else ()
        repeatable = cap is not None and dice.random() < 0.2
        tests.append(
            rhoplan.Test(
                f"t{k}", dice.randint(1, 24) / 8, tuple("abc"[:outcomes]), rows / rows.sum(axis=1, keepdims=True),
                repeatable, dice.choice(["", "", "lab"]), after,
            )
        )  # fmt: skip
    names = [test.name for test in tests]
    panels = [
        rhoplan.Panel(f"p{k}", dice.randint(1, 32) / 8, dice.sample(names, 2), dice.choice(["", "lab"]))
        for k in range(dice.choice([1, 2]))
    ]
    inside = {name for one in panels for name in one.tests}
    hidden = {test.name for test in tests if test.name in inside and dice.random() < 0.3}
    commits = tuple(
        rhoplan.Decision(f"c{i}", np.array([0.0 if i == s else -float(dice.randint(5, 60)) for s in range(states)]))
        for i in range(states)
    )
    tests = [replace(test, only_in_panels=test.name in hidden) for test in tests]
    grouped = [one.group for one in (*tests, *panels) if one.name not in hidden]
    return rhoplan.DiagnosticProblem(
        name=f"panels-{seed}",
        states=tuple("xyz"[:states]),
        tests=tests,
        panels=panels,
        decisions=commits,
        groups={"lab": 1.5} if any(grouped) else {},
        max_tests=cap,
        budget=dice.choice([None, None, 4.0]),
    )


@pytest.mark.parametrize("counted", [None, 0, 2], ids=["all", "none", "two"])
@pytest.mark.parametrize("seed", range(28))
def test_every_bound_holds_the_value_of_exact_look_ahead(
    seed: int, counted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if counted is not None:
        monkeypatch.setattr(CeilingMaker, "_numbers_counted", lambda _, ranked: iter([min(counted, len(ranked))]))
    problem, weight = random_panels(seed), [0.0, 2.0][seed % 2]
    graph = Graph(problem)
    plan = Plan(graph, Information(weight))
    here = problem.belief()
    first = next((a for a in problem.menu(here.observable) if a.name.startswith("p")), problem.menu(here.observable)[0])
    situations = [here] if first.ends_episode else [here, *(one.belief for one in here.branches(first))]
    for situation in situations:  # what was run before the search began counts as well
        exact = float(plan.values(np.array([graph.node(situation)]), LONGEST)[0])
        found = search(problem, situation, weight=weight, gap=1e-9, seconds=PATIENCE)
        assert found.stopped_by == "gap"
        assert found.lower == pytest.approx(exact, abs=1e-8)
        assert set(found.actions) == {action.name for action in problem.menu(situation.observable)}


@pytest.mark.parametrize("seed", range(20))
def test_the_plan_scores_what_following_it_gives(seed: int) -> None:
    problem = random_panels(100 + seed)
    found = search(problem, gap=1e-9, seconds=PATIENCE)
    score = rhoplan.evaluate(problem, BoundAgent("rule", planner=FollowRule(rule=found.policy)))
    assert (found.reward, found.tests, found.success) == pytest.approx(
        (score.reward, score.tests, score.success), abs=1e-8
    )
    assert found.reward == pytest.approx(found.lower, abs=1e-8)


def test_solve_takes_it_for_dozens_of_tests_with_a_panel() -> None:
    rows = [np.array([[0.6 + k / 40, 0.4 - k / 40], [0.3, 0.7]]) for k in range(12)]
    tests = [rhoplan.Test(f"t{k}", 1.0 + k, ("a", "b"), rows[k], repeatable=False) for k in range(12)]
    commits = (rhoplan.Decision("go", np.array([-50.0, 0.0])), rhoplan.Decision("stay", np.array([0.0, -90.0])))
    problem = rhoplan.DiagnosticProblem(
        name="twelve",
        states=("s", "t"),
        tests=tests,
        decisions=commits,
        panels=[rhoplan.Panel("both", 2.0, ["t0", "t1"])],
    )
    assert usual_method(problem) == "many"
    found = solve(problem)
    assert (found.converged, found.first) == (True, "both")
    apart = rhoplan.DiagnosticProblem(name="apart", states=("s", "t"), tests=tuple(tests), decisions=commits)
    assert found.lower > solve(apart).upper, "two results for the price of the second"

"""Information about the diagnosis: gains, plans and bounds against a recursion that enumerates every result."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import decide, make_agent
from rhoplan.api import evaluate
from rhoplan.belief_math.information import information
from rhoplan.errors import AgentError, ProblemError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.model.diagnostic import partitioned
from rhoplan.model.pomdp import POMDP, Factor
from rhoplan.model.validate import check_problem
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.certified.symmetry import state_symmetries

WEIGHTS = [0.0, 2.0, 30.0]


def drawn(seed: int, tests: int = 3, *, about: bool = True) -> POMDP:
    """Two or three diagnoses with up to three subtypes each, tests of two or three outcomes that run once."""
    rng = np.random.default_rng(seed)
    diagnoses = tuple(f"d{i}" for i in range(rng.integers(2, 4)))
    grouped = partitioned(
        diagnoses, {name: ("x", "y", "z")[: rng.integers(2, 4)] for name in diagnoses[rng.integers(0, 2) :]}
    )
    size = len(grouped.states)
    made = []
    for k in range(tests):
        outcomes = int(rng.integers(2, 4))
        rows = rng.dirichlet(np.full(outcomes, 0.7), size)
        made.append(rhoplan.Test(f"t{k}", float(rng.integers(1, 5)), tuple("abc"[:outcomes]), rows, False))
    payoff = rng.integers(-40, 20, (3, len(diagnoses))).astype(float)
    commits = tuple(rhoplan.Decision(f"c{i}", grouped.unfold(row)) for i, row in enumerate(payoff))
    return rhoplan.DiagnosticProblem(
        name="drawn", states=diagnoses, partition=grouped.subtypes, about_diagnosis=about, tests=tuple(made),
        decisions=commits,
        prior=rng.dirichlet(np.ones(size)),
    )  # fmt: skip


def told(problem: POMDP, belief: list[float], rows: list[list[float]]) -> float:
    """Mutual information of diagnosis and outcome, by its definition, sum p(d, o) ln (p(d, o) / p(d) p(o))."""
    names = problem.factors[0].diagnosis_of
    total = 0.0
    for outcome in range(len(rows[0])):
        chance = sum(b * row[outcome] for b, row in zip(belief, rows, strict=True))
        for name in set(names):
            held = sum(b for b, own in zip(belief, names, strict=True) if own == name)
            joint = sum(b * row[outcome] for b, row, own in zip(belief, rows, names, strict=True) if own == name)
            total += joint * math.log(joint / (held * chance)) if joint > 0 else 0.0
    return total


def best(problem: POMDP, belief: list[float], left: frozenset[int], depth: int, weight: float) -> float:
    """The best value of reward + weight * information over `depth` tests, by trying everything."""
    ways = [sum(b * r for b, r in zip(belief, c.reward.tolist(), strict=True)) for c in problem.flat.commits]
    return max(ways + [of_test(problem, belief, left, k, depth, weight) for k in left if depth])


def of_test(problem: POMDP, belief: list[float], left: frozenset[int], k: int, depth: int, weight: float) -> float:
    test = problem.flat.tests[k]
    rows = test.likelihood.tolist()
    worth = -test.cost + weight * told(problem, belief, rows)
    for outcome in range(len(test.outcomes)):
        joint = [b * row[outcome] for b, row in zip(belief, rows, strict=True)]
        chance = sum(joint)
        if chance > 0:
            worth += chance * best(problem, [j / chance for j in joint], left - {k}, depth - 1, weight)
    return worth


@pytest.mark.parametrize("seed", range(20))
def test_the_gain_is_the_mutual_information_of_diagnosis_and_result(seed: int) -> None:
    problem = drawn(seed)
    for test, action in zip(problem.flat.tests, problem.flat.everything, strict=False):
        by_hand = told(problem, problem.prior.tolist(), test.likelihood.tolist())
        assert float(information(problem.prior[None, :], action, problem.factors[0])[0]) == pytest.approx(
            by_hand, abs=1e-12
        )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weight", WEIGHTS)
def test_plans_are_those_of_a_brute_force(seed: int, weight: float) -> None:
    problem = drawn(seed)
    for horizon in (1, 3):
        found = decide(problem, make_agent("planning-ig", problem, weight=weight, horizon=horizon))
        values = {one.name: one.value for one in found.actions}
        for k, test in enumerate(problem.flat.tests):
            by_hand = of_test(problem, problem.prior.tolist(), frozenset(range(3)), k, horizon, weight)
            assert values[test.name] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weight", WEIGHTS[1:])
@pytest.mark.parametrize("method", ["reveal", "many"])
def test_bounds_meet_at_the_best_of_a_brute_force(seed: int, weight: float, method: str) -> None:
    problem = drawn(seed)
    optimum = best(problem, problem.prior.tolist(), frozenset(range(3)), 3, weight)
    found = solve(problem, weight=weight, gap=1e-6, seconds=600, method=method)
    assert found.lower - 1e-9 <= optimum <= found.upper + 1e-9
    assert found.upper - found.lower <= 1e-6


def test_a_discount_leaves_the_bounds_sound() -> None:
    for seed in range(6):
        problem = drawn(seed)
        one, other = (solve(problem, weight=5.0, discount=0.9, gap=1e-6, method=m) for m in ("reveal", "many"))
        assert max(one.lower, other.lower) <= min(one.upper, other.upper) + 1e-9


def test_what_only_tells_subtypes_apart_is_worth_nothing_about_the_diagnosis() -> None:
    rows = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    tests = (rhoplan.Test("form", 1.0, ("a", "b"), rows, False),)
    commits = (rhoplan.Decision("go", np.array([-1.0, 0, 0])), rhoplan.Decision("stay", np.array([0.0, -1, -1])))
    gains = {}
    for about in (False, True):
        problem = rhoplan.DiagnosticProblem(
            name="form", states=("well", "ill"), partition={"ill": ("one", "two")}, about_diagnosis=about, tests=tests,
            decisions=commits, prior=np.array([0.5, 0.25, 0.25]),
        )  # fmt: skip
        found = decide(problem, make_agent("planning-ig", problem, weight=100.0))
        gains[about] = next(one.information for one in found.actions if one.name == "form")
        assert found.choice == ("form" if not about else "go")
        assert found.entropy == pytest.approx(math.log(2) if about else 1.5 * math.log(2))
    assert gains[True] == pytest.approx(0.0, abs=1e-12)
    assert gains[False] == pytest.approx(0.5 * math.log(2))


def test_symmetries_keep_diagnoses_together() -> None:
    """Exchanging a diagnosis with a subtype of the other leaves every number, but not what is asked."""
    rows = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    tests, commits = (rhoplan.Test("t", 1.0, ("a", "b"), rows),), (rhoplan.Decision("go", np.zeros(3)),)
    given = {"partition": {"q": ("x", "y")}, "tests": tests, "decisions": commits, "prior": np.full(3, 1 / 3)}
    problems = [
        rhoplan.DiagnosticProblem(name="s", states=("p", "q"), about_diagnosis=a, **given) for a in (False, True)
    ]  # type: ignore[arg-type]
    assert [len(state_symmetries(problem)) for problem in problems] == [2, 1]


def test_the_file_says_what_information_is_about() -> None:
    problem = drawn(1)
    text = write_model(problem)
    assert "information: {about: diagnosis}" in " ".join(text.split()) or "about: diagnosis" in text
    assert parse_model(text).factors[0].about_diagnosis
    assert "information" not in write_model(drawn(1, about=False))
    assert not parse_model(text.replace("about: diagnosis", "about: state")).factors[0].about_diagnosis
    with pytest.raises(rhoplan.RhoplanError, match=r"'model', which is not one of state, diagnosis"):
        parse_model(text.replace("about: diagnosis", "about: model"))


def test_subtypes_that_are_all_alike_are_the_plain_model_in_every_number() -> None:
    tiger = rhoplan.make("tiger")
    grouped = partitioned(tiger.states, {tiger.states[0]: ("one", "two")})
    alike = rhoplan.DiagnosticProblem(
        name="tiger",
        states=tiger.states,
        partition=grouped.subtypes,
        about_diagnosis=True,
        tests=tuple(rhoplan.Test(t.name, t.cost, t.outcomes, grouped.unfold(t.likelihood)) for t in tiger.flat.tests),
        decisions=tuple(rhoplan.Decision(c.name, grouped.unfold(c.reward)) for c in tiger.flat.commits),
        prior=np.array([0.2, 0.3, 0.5]),
        horizon=tiger.horizon,
    )
    for name in ("efe", "planning-ig", "info-gain"):
        one, other = (decide(p, make_agent(name, p)) for p in (tiger, alike))
        assert one.entropy == pytest.approx(other.entropy)
        assert [a.value for a in one.actions] == pytest.approx([a.value for a in other.actions])
        left, right = (evaluate(p, make_agent(name, p)) for p in (tiger, alike))
        assert (left.reward, left.log_score) == pytest.approx((right.reward, right.log_score))


@pytest.mark.parametrize("method", ["points", "grids"])
def test_methods_that_cannot_do_it_say_so(method: str) -> None:
    with pytest.raises(AgentError, match=f"method {method} counts information about the state"):
        solve(drawn(0), weight=1.0, method=method)


def test_search_planners_say_so() -> None:
    problem = drawn(0)
    for planner in ("mcts", "pomcp"):
        with pytest.raises(AgentError, match=f"planner {planner} counts information about the state"):
            decide(problem, make_agent("efe", problem, planner=planner))


def test_one_hidden_factor_only() -> None:
    tiger = rhoplan.make("tiger")
    factor = Factor("state", tiger.states, tiger.prior, about_diagnosis=True)
    with pytest.raises(ProblemError, match="only where there is one hidden factor"):
        check_problem(POMDP("two", (factor, tiger.factors[0]), tiger.start, tiger.menu))

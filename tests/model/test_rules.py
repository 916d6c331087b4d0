"""Groups with a shared first price, tests that wait for others, caps: kept by the planner, not only by a page."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bridge import Done, FlatMenu, flips, make_agent
from bridge import decide_at as decide
from bridge import estimate as simulate
from bridge import exact_score as evaluate
from bridge import solve_bounds as solve
from rhoplan import POMDP, Decision, DiagnosticProblem, EvidenceError, Test

LIKELIHOODS = {"a": (0.9, 0.8), "b": (0.7, 0.85), "c": (0.95, 0.6)}


def screening(**rules: object) -> POMDP:
    """Two states, three tests: a and b share a blood sample, c waits for a."""
    tests = []
    for name, (sensitivity, specificity) in LIKELIHOODS.items():
        rows = np.array([[specificity, 1 - specificity], [1 - sensitivity, sensitivity]])
        group = "blood" if name in "ab" else ""
        after = ("a",) if name == "c" else ()
        tests.append(Test(name, 1.0 if name != "c" else 3.0, ("no", "yes"), rows, False, group, after))
    commits = (Decision("treat", np.array([-10.0, 0.0])), Decision("leave", np.array([0.0, -40.0])))
    return DiagnosticProblem(
        name="screening",
        states=("well", "ill"),
        tests=tuple(tests),
        decisions=commits,
        prior=np.array([0.7, 0.3]),
        horizon=3,
        **rules,
    )  # type: ignore[arg-type]


def plain(
    problem_rules: dict[str, float | int | None], done: frozenset[str], belief: np.ndarray, spent: float
) -> float:
    """The best value by a recursion written from the rules' words."""
    best = max(float(belief @ np.array(r)) for r in ((-10.0, 0.0), (0.0, -40.0)))
    for name, (sensitivity, specificity) in LIKELIHOODS.items():
        if name in done or (name == "c" and "a" not in done):
            continue
        price = 3.0 if name == "c" else 1.0
        if name in "ab" and not done & {"a", "b"}:
            price += problem_rules.get("first") or 0.0
        most, budget = problem_rules.get("tests"), problem_rules.get("budget")
        if (most is not None and len(done) >= most) or (budget is not None and spent + price > budget + 1e-9):
            continue
        value = -price
        for row in (np.array([specificity, 1 - sensitivity]), np.array([1 - specificity, sensitivity])):
            chance = float(belief @ row)
            value += chance * plain(problem_rules, done | {name}, belief * row / chance, spent + price)
        best = max(best, value)
    return best


@pytest.mark.parametrize(
    ("first", "most", "budget"), list(itertools.product([0.0, 2.1], [None, 0, 1, 2], [None, 1.0, 3.1, 4.2, 7.1]))
)
def test_planner_and_optimum_follow_the_rules(first: float, most: int | None, budget: float | None) -> None:
    problem = screening(groups={"blood": first}, max_tests=most, budget=budget)
    expected = plain({"first": first, "tests": most, "budget": budget}, frozenset(), problem.prior, 0.0)
    agent = make_agent("planning", problem, horizon=4)
    assert evaluate(problem, agent).reward == pytest.approx(expected, abs=1e-9)
    found = solve(problem, gap=1e-6)
    assert found.lower == pytest.approx(expected, abs=1e-5)
    assert found.upper == pytest.approx(expected, abs=1e-5)


def test_simulation_pays_what_the_score_says() -> None:
    problem = screening(groups={"blood": 2.1}, max_tests=2)
    agent = make_agent("planning", problem, horizon=3)
    exact, sampled = evaluate(problem, agent), simulate(problem, agent, episodes=2000)
    assert abs(exact.reward - sampled.reward) < 4 * sampled.se["reward"]
    assert evaluate(problem, agent, world=screening(groups={"blood": 2.1}, max_tests=2)).reward == pytest.approx(
        exact.reward
    )


def test_repeated_tests_count_for_caps() -> None:
    rows = np.array([[0.8, 0.2], [0.2, 0.8]])
    test = Test("ask", 1.0, ("no", "yes"), rows, True, "panel")
    commits = (Decision("x", np.array([5.0, -5.0])), Decision("y", np.array([-5.0, 5.0])))
    costs = []
    for most, budget in ((1, None), (3, None), (None, 2.5), (None, 100.0)):
        problem = DiagnosticProblem(
            name="p", states=("s", "t"), tests=(test,), decisions=commits, horizon=5, groups={"panel": 0.5},
            max_tests=most, budget=budget,
        )  # fmt: skip
        score = evaluate(problem, make_agent("planning-ig", problem, weight=50.0))
        costs.append(len(score.tests_distribution) - 1)
    assert costs[:3] == [1, 3, 2]
    assert costs[3] > 3


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ([("c", "yes")], "only after a"),
        ([("a", "yes"), ("a", "no")], "only once"),
        ([("a", "yes"), ("b", "no"), ("c", "no")], "at most 2 tests"),
    ],
)
def test_evidence_against_the_rules_is_refused(evidence: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        screening(max_tests=2).belief(given=evidence)


def later_with_more_outcomes() -> POMDP:
    """A test that waits for another one and has more outcomes than it."""
    first = Test("first", 1.0, ("no", "yes"), np.array([[0.6, 0.4], [0.23, 0.77]]), repeatable=False)
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    second = Test("second", 0.5, ("a", "b", "c"), rows, repeatable=False, after=("first",))
    commits = (Decision("leave", np.array([0.0, -80.0])), Decision("treat", np.array([-30.0, 0.0])))
    return DiagnosticProblem(
        name="later", states=("well", "ill"), tests=(first, second), decisions=commits, prior=np.array([0.82, 0.18])
    )


def test_the_optimum_with_a_later_test_that_has_more_outcomes() -> None:
    problem = later_with_more_outcomes()
    found = solve(problem, gap=1e-9)
    score = evaluate(problem, make_agent("planning", problem, horizon=3))
    assert found.lower == pytest.approx(score.reward, abs=1e-6)
    assert found.upper == pytest.approx(score.reward, abs=1e-6)


def test_a_test_that_was_run_still_opens_those_that_wait_for_it() -> None:
    from bridge import case_advice as advise

    problem = later_with_more_outcomes()
    agent = make_agent("efe", problem)
    given = [("first", "yes")]
    assert [option.test for option in advise(problem, agent, given, unavailable=["first"]).options] == ["second"]
    assert advise(problem, agent, unavailable=["first"]).options == ()


def test_the_cap_that_was_met_is_named() -> None:
    tests = [Test(f"t{n}", 1.0, ("no", "yes"), np.array([[0.6, 0.4], [0.3, 0.7]]), repeatable=False) for n in range(3)]
    commits = (Decision("leave", np.array([0.0, -80.0])), Decision("treat", np.array([-30.0, 0.0])))
    problem = DiagnosticProblem(
        name="capped",
        states=("well", "ill"),
        tests=tests,
        decisions=commits,
        prior=np.array([0.8, 0.2]),
        max_tests=2,
        budget=100.0,
    )
    with pytest.raises(EvidenceError, match="at most 2 tests"):
        problem.belief(given=[("t0", "yes"), ("t1", "yes"), ("t2", "yes")])


def repeated(cost: float, budget: float) -> POMDP:
    rows = np.array([[0.6, 0.4], [0.4, 0.6]])
    commits = (Decision("treat", np.array([-10.0, 0.0])), Decision("leave", np.array([0.0, -40.0])))
    return DiagnosticProblem(
        name="capped",
        states=("well", "ill"),
        tests=(Test("t", cost, ("no", "yes"), rows),),
        decisions=commits,
        budget=budget,
    )


@pytest.mark.parametrize(
    ("cost", "budget", "most"),
    [
        (1e-10, 2e-10, 2),
        (841382.81, 5889679.67, 7),
        (0.1, 0.3, 3),
        (0.1, 0.7, 7),
        (1.1, 3.3, 3),
        (1e-300, 3e-300, 3),
        (1e80, 3e80, 3),
        (0.07, 0.6999999999999999, 9),
        (3.0, 8.999999999, 2),
    ],
)
def test_prices_add_up_to_the_cap_as_the_decimals_people_wrote(cost: float, budget: float, most: int) -> None:
    problem = repeated(cost, budget)

    problem.belief(given=[("t", "yes")] * most)
    with pytest.raises(EvidenceError, match="beyond the cap"):
        problem.belief(given=[("t", "yes")] * (most + 1))


def test_groups_add_up_to_the_cap_too() -> None:
    """0.1 + 0.2 for the first of the group, 0.1 for the second: 0.4 on paper, 0.4000000000000001 in floats."""
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    tests = tuple(Test(name, 0.1, ("no", "yes"), rows, False, "blood") for name in "ab")
    commits = (Decision("treat", np.array([-10.0, 0.0])), Decision("leave", np.array([0.0, -40.0])))
    problem = DiagnosticProblem(
        name="lab", states=("well", "ill"), tests=tests, decisions=commits, groups={"blood": 0.2}, budget=0.4, horizon=2
    )

    problem.belief(given=[("a", "yes"), ("b", "no")])
    assert flips(problem, make_agent("planning", problem))


def gated(*, repeatable: bool, certain: bool) -> POMDP:
    """A referral that tells nothing, or a blood count that tells all, and a scan that waits for it."""
    first = np.eye(3)[:, :2] + [[0, 0], [0, 0], [0, 1]] if certain else np.ones((3, 1))
    rows = np.array([[0.95, 0.05], [0.5, 0.5], [0.05, 0.95]])
    tests = (
        Test("first", 1.0, tuple("xy"[: first.shape[1]]), first, False),
        Test("scan", 5.0, ("no", "yes"), rows, repeatable, "", ("first",)),
    )
    commits = (Decision("A", np.array([0.0, -100.0, -100.0])), Decision("B", np.array([-100.0, -100.0, 0.0])))
    prior = np.array([0.5, 0.0, 0.5])
    return DiagnosticProblem(
        name="gated", states=("a", "b", "c"), tests=tests, decisions=commits, prior=prior, horizon=2
    )


@pytest.mark.parametrize("weight", [0.0, 2.0])
@pytest.mark.parametrize("repeatable", [False, True])
@pytest.mark.parametrize("certain", [False, True])
def test_a_test_that_tells_nothing_is_worth_what_it_opens(repeatable: bool, certain: bool, weight: float) -> None:
    problem = gated(repeatable=repeatable, certain=certain)
    agent = make_agent("planning-ig", problem, horizon=2, weight=weight)

    found = solve(problem, weight=weight)

    wanted = max(action.value for action in decide(problem, agent).actions)
    assert found.lower <= found.upper
    assert found.lower >= wanted - 1e-3
    assert weight or found.lower == pytest.approx(-1.0 if certain else -11.0)


def test_the_chain_of_useless_tests_is_followed_to_its_end() -> None:
    """Three formalities in a row before the one test that tells."""
    nothing = np.ones((2, 1))
    tests = [Test("step-0", 0.5, ("done",), nothing, False)]
    tests += [Test(f"step-{k}", 0.5, ("done",), nothing, False, "", (f"step-{k - 1}",)) for k in (1, 2)]
    tests.append(Test("look", 1.0, ("no", "yes"), np.eye(2), False, "", ("step-2",)))
    commits = (Decision("A", np.array([0.0, -100.0])), Decision("B", np.array([-100.0, 0.0])))
    problem = DiagnosticProblem(name="chain", states=("a", "b"), tests=tuple(tests), decisions=commits)

    found = solve(problem)

    assert (found.lower, found.upper) == pytest.approx((-2.5, -2.5))
    assert found.first == "step-0"


def test_useless_tests_that_only_together_open_another_are_kept() -> None:
    """Neither of two formalities opens anything alone; the certificate once said that none was worth its price."""
    nothing = np.ones((2, 1))
    tests = (
        Test("consent", 0.5, ("done",), nothing, False),
        Test("referral", 0.25, ("done",), nothing, False),
        Test("look", 1.0, ("no", "yes"), np.eye(2), False, "", ("consent", "referral")),
    )
    commits = (Decision("A", np.array([0.0, -100.0])), Decision("B", np.array([-100.0, 0.0])))
    problem = DiagnosticProblem(name="both", states=("a", "b"), tests=tests, decisions=commits)

    found = solve(problem)

    assert (found.lower, found.upper) == pytest.approx((-1.75, -1.75))
    assert found.first in ("consent", "referral")


def test_a_test_that_cannot_be_had_leaves_the_budget_as_it_was() -> None:
    likelihood = np.array([[0.9, 0.1], [0.2, 0.8]])
    prices = {"a": 1.0, "b": 0.25, "c": 1.0}
    tests = tuple(Test(name, price, ("no", "yes"), likelihood, False) for name, price in prices.items())
    commits = (Decision("u", np.array([0.0, -9.0])), Decision("v", np.array([-9.0, 0.0])))
    menu = FlatMenu(tests, commits, budget=2.0)
    done = menu.after(tests[0], Done())
    left = menu.without({"b"})
    assert left.spent(done) == menu.spent(done) == 1.0
    assert [action.name for action in left.build(done) if not action.ends_episode] == ["c"]

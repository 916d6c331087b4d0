"""Branch and bound over evidence against a plain recursion over it that shares nothing with it but the problem."""

import math
import random
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import rhoplan
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.advice.case import advise
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.planners import FollowRule
from rhoplan.belief_math.information import information
from rhoplan.errors import AgentError
from rhoplan.model.belief import Belief
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.many import ManySolution, search
from rhoplan.planning.many.evidence import kinds_of
from rhoplan.planning.many.search import Search
from rhoplan.planning.many.tables import CeilingMaker
from rhoplan.planning.utility import Information
from serving import PATIENCE

CLOSE = 1e-9


@dataclass(frozen=True)
class Plain:
    """A model as plain lists: tests are (cost, rows by state, repeatable, group, after); groups have first prices."""

    prior: list[float]
    tests: list[tuple[float, list[list[float]], bool, int, tuple[int, ...]]]
    groups: list[float]
    commits: list[list[float]]
    most_tests: int | None
    budget: int | None
    weight: float
    discount: float

    @property
    def problem(self) -> rhoplan.POMDP:
        tests = tuple(
            rhoplan.Test(
                f"test-{k}", cost, tuple(f"outcome-{o}" for o in range(len(rows[0]))), np.array(rows), repeatable,
                f"group-{group}" if group >= 0 else "", tuple(f"test-{one}" for one in after),
            )
            for k, (cost, rows, repeatable, group, after) in enumerate(self.tests)
        )  # fmt: skip
        commits = tuple(rhoplan.Decision(f"commit-{i}", np.array(row)) for i, row in enumerate(self.commits))
        used = {test[3] for test in self.tests}
        return rhoplan.DiagnosticProblem(
            name="plain",
            states=tuple(f"state-{s}" for s in range(len(self.prior))),
            tests=tests,
            decisions=commits,
            prior=np.array(self.prior),
            groups={f"group-{g}": price for g, price in enumerate(self.groups) if g in used},
            max_tests=self.most_tests,
            budget=self.budget,
        )


class BruteForce:
    """The best value after a history of outcomes, by trying everything; prices are eighths, so that sums are exact."""

    def __init__(self, model: Plain) -> None:
        self.model = model
        self.known: dict[tuple[tuple[int, int], ...], float] = {}

    def value(self, history: tuple[tuple[int, int], ...] = ()) -> float:
        key = tuple(sorted(history))
        if key not in self.known:
            joint = self.joint(history)
            stop = max(sum(j * r for j, r in zip(joint, row, strict=True)) for row in self.model.commits) / sum(joint)
            self.known[key] = max([stop, *(self.worth(history, test) for test in self.open(history))])
        return self.known[key]

    def worth(self, history: tuple[tuple[int, int], ...], test: int) -> float:
        joint, rows = self.joint(history), self.model.tests[test][1]
        total, later, doubt = sum(joint), 0.0, 0.0
        for outcome in range(len(rows[0])):
            chance = sum(j * row[outcome] for j, row in zip(joint, rows, strict=True)) / total
            if chance > 0:
                then = (*history, (test, outcome))
                later += chance * self.value(then)
                doubt += chance * self.entropy(then)
        model = self.model
        return -self.price(history, test) + model.weight * (self.entropy(history) - doubt) + model.discount * later

    def joint(self, history: tuple[tuple[int, int], ...]) -> list[float]:
        held = list(self.model.prior)
        for test, outcome in history:
            held = [h * row[outcome] for h, row in zip(held, self.model.tests[test][1], strict=True)]
        return held

    def entropy(self, history: tuple[tuple[int, int], ...]) -> float:
        joint = self.joint(history)
        return -sum(j / sum(joint) * math.log(j / sum(joint)) for j in joint if j > 0)

    def open(self, history: tuple[tuple[int, int], ...]) -> list[int]:
        model, run = self.model, [test for test, _ in history]
        if model.most_tests is not None and len(run) >= model.most_tests:
            return []
        found = []
        for test, (_, _, repeatable, _, after) in enumerate(model.tests):
            spent = sum(self.price(history[:place], one) for place, one in enumerate(run)) + self.price(history, test)
            if (repeatable or test not in run) and set(after) <= set(run):
                found += [test] if model.budget is None or spent <= model.budget else []
        return found

    def price(self, history: tuple[tuple[int, int], ...], test: int) -> float:
        cost, _, _, group, _ = self.model.tests[test]
        paid = {self.model.tests[one][3] for one, _ in history}
        return cost + (self.model.groups[group] if group >= 0 and group not in paid else 0.0)


def random_model(seed: int, *, most_nodes: int = 3000) -> Plain:
    """Two to four states, up to eight tests, with groups, orders, caps, budgets, weights and discounts now and then."""
    dice = random.Random(seed)
    states = dice.choice([2, 2, 2, 3, 4])
    cap = dice.choice([None, None, None, 1, 2, 3, 4])
    tests: list[tuple[float, list[list[float]], bool, int, tuple[int, ...]]] = []
    nodes, groups = 1.0, [dice.randint(0, 16) / 8 for _ in range(2)]
    for k in range(dice.randint(0 if seed % 20 == 0 else 2, 8)):
        outcomes = dice.choice([2, 2, 3])
        repeatable = cap is not None and dice.random() < 0.25
        nodes *= (1 + outcomes) ** (cap or 1) if repeatable else 1 + outcomes
        if nodes > most_nodes:
            break
        after = tuple(one for one in range(k) if dice.random() < 0.15)
        cost = dice.randint(0, 24) / 8
        rows = [distribution(dice, outcomes) for _ in range(states)]
        if tests and dice.random() < 0.2:  # the same again
            cost, rows = tests[-1][:2]
        tests.append((cost, rows, repeatable, dice.choice([-1, -1, 0, 1]), after))
    size = dice.choice([5, 20, 100])
    commits = [[float(dice.randint(-size, size // 3)) for _ in range(states)] for _ in range(dice.randint(1, 3))]
    if dice.random() < 0.5:
        commits = [[0.0 if s == i else -float(dice.randint(1, size)) for s in range(states)] for i in range(states)]
    return Plain(
        prior=distribution(dice, states),
        tests=tests,
        groups=groups,
        commits=commits,
        most_tests=cap,
        budget=dice.choice([None, None, None, dice.randint(1, 8)]),
        weight=dice.choice([0.0, 0.0, 1.0, 10.0]),
        discount=dice.choice([1.0, 1.0, 1.0, 0.9, 0.5]),
    )


def distribution(dice: random.Random, size: int) -> list[float]:
    weights = [dice.choice([0, 1, 2, 3, 5, 8, 13]) for _ in range(size)]
    return [w / sum(weights) for w in weights] if sum(weights) else [1 / size] * size


def solved(model: Plain, **settings: float) -> ManySolution:
    asked = {"gap": 1e-9, "seconds": PATIENCE} | settings
    return search(model.problem, weight=model.weight, discount=model.discount, **asked)


@pytest.mark.parametrize(
    ("seed", "counted"),
    [*((seed, None) for seed in range(200)), *((seed, 2 * (seed % 2)) for seed in range(200))],
)
def test_every_bound_holds_the_brute_force_value(
    seed: int, counted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if counted is not None:  # so that raised prices stand in for most tests, as they do where there are dozens
        monkeypatch.setattr(CeilingMaker, "_numbers_counted", lambda _, ranked: iter([min(counted, len(ranked))]))
    model = random_model(seed)
    brute = BruteForce(model)
    exact = brute.value()
    hair = CLOSE * max(1.0, max(abs(r) for row in model.commits for r in row))
    seen: list[tuple[float, float]] = []

    found = search(
        model.problem, weight=model.weight, discount=model.discount, gap=1e-9, seconds=PATIENCE,
        progress=lambda lower, upper, _: seen.append((lower, upper)),
    )  # fmt: skip

    assert found.stopped_by == "gap"
    for lower, upper in [*seen, (found.lower, found.upper)]:
        assert lower - hair <= exact <= upper + hair
    assert found.upper - found.lower <= 1e-9 + hair
    worths = {f"test-{test}": brute.worth((), test) for test in brute.open(())}
    commits = {
        f"commit-{i}": sum(p * r for p, r in zip(model.prior, row, strict=True)) for i, row in enumerate(model.commits)
    }
    assert set(found.actions) == set(worths) | set(commits)
    for name, value in (worths | commits).items():
        lower, upper = found.actions[name]
        assert lower - hair <= value <= upper + hair
    assert (worths | commits)[found.first] == pytest.approx(exact, abs=2e-9 + hair)
    if found.proven is not None:
        assert (worths | commits)[found.proven] == pytest.approx(exact, abs=2e-9 + hair)


def test_bounds_hold_and_close_in_while_work_goes_on() -> None:
    problem = two_states(14, seed=1)
    seen: list[tuple[float, float]] = []
    found = search(problem, gap=1e-7, seconds=PATIENCE, progress=lambda lower, upper, _: seen.append((lower, upper)))
    assert found.stopped_by == "gap"
    assert len(seen) > 2
    assert all(lower <= found.upper and upper >= found.lower for lower, upper in seen)
    assert seen == sorted(seen, key=lambda one: one[1] - one[0], reverse=True)


@pytest.mark.parametrize("seed", range(40))
def test_policy_is_worth_the_lower_bound(seed: int) -> None:
    model = random_model(1000 + seed, most_nodes=1000)
    found, problem = solved(model), model.problem
    steps = 0

    def worth(situation: Belief) -> float:
        nonlocal steps
        steps += 1
        name = found.policy.action(situation)
        action = next(one for one in problem.menu(situation.observable) if one.name == name)
        belief = situation.beliefs[0]
        if action.ends_episode:
            return float(belief @ action.reward)
        bonus = model.weight * float(information(belief[None, :], action)[0])
        later = sum(one.probability * worth(one.belief) for one in situation.branches(action))
        return float(action.reward[0]) + bonus + model.discount * later

    assert worth(problem.belief()) == pytest.approx(found.lower, abs=1e-8)
    assert steps >= 1


@pytest.mark.parametrize("seed", range(20))
def test_score_of_the_plan_is_what_following_it_gives(seed: int) -> None:
    model = random_model(2000 + seed, most_nodes=1000)
    found, problem = solved(model), model.problem
    score = rhoplan.evaluate(problem, BoundAgent("rule", planner=FollowRule(rule=found.policy)))
    told = found.reward, found.tests, found.success
    assert told == pytest.approx((score.reward, score.tests, score.success), abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_an_agent_that_plans_so_is_scored_and_told_what_it_does(seed: int) -> None:
    problem = two_states(7, seed=seed)
    agent = make_agent("planning", problem, planner="many")
    best, score, ahead = solved_value(problem), rhoplan.evaluate(problem, agent), advise(problem, agent).ahead
    assert score.reward == pytest.approx(best, abs=1e-6)
    assert (ahead.reward, ahead.tests, ahead.right) == pytest.approx((score.reward, score.tests, score.success))


def solved_value(problem: rhoplan.POMDP) -> float:
    """The best value by exact look-ahead over all tests."""
    graph = Graph(problem)
    return float(Plan(graph, Information(0.0)).values(np.array([graph.root]), len(problem.flat.tests))[0])


@pytest.mark.parametrize("method", ["reveal", "many"])
@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_where_the_gap_closes_the_value_is_the_exact_one(method: str, weight: float) -> None:
    problem = two_states(7, seed=4)
    graph = Graph(problem)
    exact = Plan(graph, Information(weight)).values(np.array([graph.root]), 7)[0]
    found = solve(problem, weight=weight, gap=1e-7, method=method)
    assert (found.method, found.stopped_by) == (method, "gap")
    assert found.lower - CLOSE <= exact <= found.upper + CLOSE


@pytest.mark.parametrize("seed", range(60))
def test_names_orders_and_units_change_nothing(seed: int) -> None:
    model = random_model(3000 + seed)
    dice = random.Random(seed)
    states, tests = list(range(len(model.prior))), list(range(len(model.tests)))
    dice.shuffle(states)
    tests.sort(key=lambda k: (len(model.tests[k][4]), dice.random()))
    place = {old: new for new, old in enumerate(tests)}
    factor = 8.0
    moved = Plain(
        prior=[model.prior[s] for s in states],
        tests=[
            (factor * cost, [rows[s] for s in states], repeatable, group, tuple(sorted(place[one] for one in after)))
            for cost, rows, repeatable, group, after in (model.tests[k] for k in tests)
        ],
        groups=[factor * price for price in model.groups],
        commits=[[factor * row[s] for s in states] for row in model.commits],
        most_tests=model.most_tests,
        budget=None if model.budget is None else int(factor) * model.budget,
        weight=factor * model.weight,
        discount=model.discount,
    )

    one, other = solved(model), solved(moved)

    assert other.lower == pytest.approx(factor * one.lower, abs=1e-7)
    for old, new in place.items():
        assert (f"test-{old}" in one.actions) == (f"test-{new}" in other.actions)
    if one.proven and one.proven.startswith("test-") and sum(hi >= one.lower for _, hi in one.actions.values()) == 1:
        assert other.first == f"test-{place[int(one.proven.removeprefix('test-'))]}"


def test_nothing_hidden_or_nothing_to_run_is_a_commit_at_once() -> None:
    commits = (rhoplan.Decision("good", np.array([2.0])), rhoplan.Decision("bad", np.array([1.0])))
    idle = rhoplan.Test("idle", 1.0, ("yes", "no"), np.array([[0.5, 0.5]]), repeatable=False)
    for tests in ((idle,), ()):
        known = rhoplan.DiagnosticProblem(name="known", states=("only",), tests=tests, decisions=commits)
        found = search(known, gap=1e-9)
        assert (found.stopped_by, found.first, found.proven) == ("gap", "good", "good")
        assert (found.lower, found.reward, found.tests, found.success) == (2.0, 2.0, 0.0, 1.0)


@pytest.mark.parametrize("name", ["tiger", "chest-pain"])
def test_kernels_are_given_rows_side_by_side(name: str) -> None:
    problem = rhoplan.make(name)
    assert kinds_of(problem, problem.belief()).model.likelihood.flags.c_contiguous


@pytest.mark.parametrize("name", ["tiger", "testbed", "four-diseases", "chest-pain"])
def test_repeatable_and_worked_problems_close_as_well(name: str) -> None:
    problem = rhoplan.make(name)
    found, other = search(problem, gap=1e-3, seconds=PATIENCE), solve(problem, method="reveal")
    assert found.stopped_by == other.stopped_by == "gap"
    assert found.lower <= other.upper + CLOSE
    assert other.lower <= found.upper + CLOSE


def test_identical_tests_are_one_kind_and_the_first_is_named() -> None:
    rows = np.array([[0.8, 0.2], [0.3, 0.7]])
    tests = tuple(rhoplan.Test(f"copy-{k}", 1.0, ("yes", "no"), rows, repeatable=False) for k in range(12))
    problem = rhoplan.DiagnosticProblem(
        name="copies", states=("a", "b"), tests=tests, decisions=two_states(1, seed=0).flat.commits
    )
    found = search(problem, gap=1e-9)
    assert (found.stopped_by, found.first, found.proven) == ("gap", "copy-0", "copy-0")
    assert found.nodes <= 13 * 14 / 2  # counts of yes and no
    assert found.actions["copy-11"] == found.actions["copy-0"]


def test_memory_work_and_time_bound_the_search_and_bounds_stand() -> None:
    problem = two_states(30, seed=1, accuracy=(0.55, 0.8))
    best = search(problem, work=400_000, gap=1e-9)
    for limit in ({"memory": 2e7}, {"work": 1000}, {"seconds": 0.0}):
        found = search(problem, gap=1e-9, **limit)
        assert found.stopped_by == {"seconds": "time"}.get(next(iter(limit)), next(iter(limit)))
        assert found.lower <= best.upper
        assert best.lower <= found.upper
        assert found.first in found.actions


def test_interrupted_search_says_what_it_has() -> None:
    def interrupt(lower: float, upper: float, nodes: int) -> None:
        raise KeyboardInterrupt

    found = search(two_states(30, seed=1), gap=1e-9, progress=interrupt)
    assert found.stopped_by == "interrupted"
    assert -50.0 < found.lower <= found.upper < 0.0


def test_search_can_stop_once_the_first_action_is_proven() -> None:
    problem = two_states(20, seed=2)
    found = search(problem, gap=1e-12, until_proven=True, seconds=PATIENCE)
    assert found.stopped_by == "proven"
    assert found.first == found.proven
    lower = found.actions[found.first][0]
    assert all(upper <= lower + 1e-9 for name, (_, upper) in found.actions.items() if name != found.first)


def test_same_work_gives_the_same_bounds() -> None:
    problem = two_states(25, seed=3, accuracy=(0.55, 0.8))
    one, other = (search(problem, work=200_000, gap=1e-9) for _ in range(2))
    assert (one.lower, one.upper, one.nodes) == (other.lower, other.upper, other.nodes)


def test_solve_takes_it_where_many_tests_run_once() -> None:
    found = solve(two_states(12, seed=5))
    assert (found.method, found.converged) == ("many", True)
    fewer = solve(two_states(9, seed=5))
    assert fewer.method == "reveal"
    assert solve(two_states(9, seed=5), method="many").lower == pytest.approx(fewer.lower, abs=2e-3)


def test_budget_of_prices_with_many_digits_is_kept() -> None:
    costs = (1.2345678901234567, 2.3456789012345678, 3.4567890123456789)
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    tests = tuple(rhoplan.Test(f"test-{k}", c, ("yes", "no"), rows, repeatable=False) for k, c in enumerate(costs))
    commits = (rhoplan.Decision("a", np.array([0.0, -1e3])), rhoplan.Decision("b", np.array([-1e3, 0.0])))
    for budget, most in ((sum(costs), 3), (sum(costs) - 0.01, 2), (1.0, 0)):
        problem = rhoplan.DiagnosticProblem(
            name="long", states=("a", "b"), tests=tests, decisions=commits, budget=budget
        )
        graph = Graph(problem)
        exact = Plan(graph, Information(0.0)).values(np.array([graph.root]), 3)[0]
        found = search(problem, gap=1e-9)
        assert found.lower == pytest.approx(exact, abs=1e-7)
        assert found.tests <= most


@pytest.mark.parametrize(
    ("settings", "field"), [({"weight": -1.0}, "weight"), ({"discount": 0.0}, "discount"), ({"gap": 0.0}, "gap")]
)
def test_what_no_bound_can_be_given_for_is_refused(settings: dict[str, float], field: str) -> None:
    with pytest.raises(AgentError) as caught:
        search(two_states(3, seed=0), **settings)
    assert caught.value.field == (field,)


def two_states(tests: int, seed: int, accuracy: tuple[float, float] = (0.6, 0.95)) -> rhoplan.POMDP:
    """Ill or well, a loss of 100 for the wrong decision, and random tests that run once."""
    dice = np.random.default_rng(seed)
    made = []
    for k in range(tests):
        (right, clear), cost = dice.uniform(*accuracy, 2), round(float(dice.uniform(1, 5)), 3)
        rows = np.array([[right, 1 - right], [1 - clear, clear]])
        made.append(rhoplan.Test(f"test-{k}", cost, ("yes", "no"), rows, repeatable=False))
    commits = (rhoplan.Decision("treat", np.array([0.0, -100.0])), rhoplan.Decision("leave", np.array([-100.0, 0.0])))
    return rhoplan.DiagnosticProblem(
        name=f"random-{tests}", states=("ill", "well"), tests=tuple(made), decisions=commits
    )


def test_scouts_find_plans_of_many_weak_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    rows = [[[p, 1 - p] for p in (dice.uniform(0.05, 0.95) for _ in range(5))] for _ in range(40)]
    problem = rhoplan.DiagnosticProblem(
        name="weak",
        states=tuple("abcde"),
        tests=tuple(
            rhoplan.Test(f"test-{k}", dice.uniform(1, 5), ("yes", "no"), np.array(row), repeatable=False)
            for k, row in enumerate(rows)
        ),
        decisions=tuple(rhoplan.Decision(f"treat-{s}", -100.0 * (np.arange(5) != s)) for s in range(5)),
    )
    found = search(problem, work=150_000)
    monkeypatch.setattr(sys.modules[Search.__module__], "WORTH_SCOUTING", math.inf)
    without = search(problem, work=150_000)
    assert found.lower > without.lower + 2
    assert found.tests > without.tests + 0.5
    assert max(found.lower, without.lower) <= min(found.upper, without.upper)

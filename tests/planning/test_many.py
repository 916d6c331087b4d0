"""Branch and bound over evidence against a plain recursion over it that shares nothing with it but the problem."""

import math
import random
from dataclasses import dataclass

import numpy as np
import pytest

import rhoplan
from rhoplan.planning.many import ManySolution, search
from rhoplan.planning.many.tables import CeilingMaker
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
    def problem(self) -> rhoplan.Problem:
        tests = tuple(
            rhoplan.Test(
                f"test-{k}", cost, tuple(f"outcome-{o}" for o in range(len(rows[0]))), np.array(rows), repeatable,
                f"group-{group}" if group >= 0 else "", tuple(f"test-{one}" for one in after),
            )
            for k, (cost, rows, repeatable, group, after) in enumerate(self.tests)
        )  # fmt: skip
        commits = tuple(rhoplan.Commit(f"commit-{i}", np.array(row)) for i, row in enumerate(self.commits))
        used = {test[3] for test in self.tests}
        return rhoplan.observe_then_commit(
            "plain",
            tuple(f"state-{s}" for s in range(len(self.prior))),
            tests=tests,
            commits=commits,
            prior=np.array(self.prior),
            first_prices={f"group-{g}": price for g, price in enumerate(self.groups) if g in used},
            most_tests=self.most_tests,
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


@pytest.mark.parametrize("counted", [None, 0, 2], ids=["all", "none", "two"])
@pytest.mark.parametrize("seed", range(300))
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

"""How many steps are to come at most, and what it is good for: an end that comes by chance is like a discount."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.decisions import Rows, best_values
from rhoplan.planning.certified.pointbased.graph import BACKUPS
from rhoplan.planning.certified.pointbased.lasting import LONGEST, lasting
from rhoplan.planning.certified.pointbased.solve import Search
from test_pointbased import Small, draw, recursion


def ending(problem: Small, chance: float | np.ndarray) -> Small:
    """`problem`, which has no end, with one that comes with this chance (actions, states) at each step and is seen."""
    actions, states = problem.reward.shape
    stop = np.broadcast_to(chance, (actions, states))[:, :, None]
    still = np.zeros((actions, 1, states + 1))
    still[:, :, -1] = 1.0
    going = np.concatenate([problem.transition * (1 - stop), stop], axis=2)
    likelihood = np.pad(problem.likelihood, ((0, 0), (0, 1), (0, 1)))
    likelihood[:, -1, -1] = 1.0
    reward, start = np.pad(problem.reward, ((0, 0), (0, 1))), np.append(problem.start, 0.0)
    return Small(np.concatenate([going, still], axis=1), likelihood, reward, start, True)


def longest(problem: Small) -> np.ndarray:
    """The most steps to come from each state but the last, which is the end: of all ways to act that see the state."""
    actions, states = problem.reward[:, :-1].shape
    best = np.zeros(states)
    for taken in product(range(actions), repeat=states):
        follows = np.array([problem.transition[action, s, :-1] for s, action in enumerate(taken)])
        best = np.maximum(best, np.linalg.solve(np.eye(states) - follows, np.ones(states)))
    return best


def spent(problem: Compiled, steps: np.ndarray, discount: float) -> Fraction:
    """The least that a step takes off `steps`, in fractions."""
    where, numbers = problem.entries, [Fraction(value) for value in steps]
    left = [numbers[slot] for slot in problem.row_slot]
    for source, target, chance in zip(where.source, where.target, where.chance, strict=True):
        left[source] -= Fraction(discount) * Fraction(chance) * numbers[target]
    return min(left)


@pytest.mark.parametrize("seed", range(8))
def test_steps_to_come_are_those_of_the_longest_plan_and_each_step_takes_one_off(seed: int) -> None:
    problem = draw(seed, 3, ends=True)
    steps = lasting(problem.compiled, 1.0, np.inf)
    assert spent(problem.compiled, steps, 1.0) >= 1
    assert np.sort(steps[steps > 0]) == pytest.approx(np.sort(longest(problem)), rel=1e-4)


@pytest.mark.parametrize("discount", [0.9995, 0.999999])
def test_a_discount_near_one_does_not_make_short_episodes_long(discount: float) -> None:
    problem = draw(3, 3, ends=True)
    steps = lasting(problem.compiled, discount, np.inf)
    assert spent(problem.compiled, steps, discount) >= 1
    assert steps.max() <= longest(problem).max() * (1 + 1e-4)
    endless = draw(3, 3)
    assert lasting(endless.compiled, discount, np.inf) == pytest.approx(1 / (1 - discount))


def test_with_a_discount_there_are_as_many_everywhere() -> None:
    problem = draw(1, 3).compiled
    assert lasting(problem, 0.75, np.inf).tolist() == [4.0] * problem.slots


@pytest.mark.parametrize(
    "chance", [np.array([[0.0, 0.0], [0.5, 0.5]]), 0.5 / LONGEST], ids=["one can go on", "it takes very long"]
)
def test_where_it_may_go_on_for_ever_there_is_no_such_number(chance: float | np.ndarray) -> None:
    drawn = ending(draw(3, 2), chance)
    problem = replace(drawn, reward=-np.abs(drawn.reward)).compiled
    assert np.isinf(lasting(problem, 1.0, np.inf)).all()
    search = Search(problem, weight=0.0, discount=1.0, gap=1e-3, seconds=np.inf, memory=1e9)
    assert not search.settles


@pytest.mark.parametrize("seed", range(4))
def test_an_end_that_comes_by_chance_is_worth_what_a_discount_is_and_takes_no_more_work(seed: int) -> None:
    work, problem = [], draw(seed, 3)
    for small, discount in ((problem, 0.99), (ending(problem, 0.01), 1.0)):
        search = Search(small.compiled, weight=0.0, discount=discount, gap=1e-4, seconds=np.inf, memory=1e9)
        assert search.run() == "gap"
        work.append((search.bounds, int(search.graph.used[BACKUPS])))
    (one, backups), (other, more) = work
    assert max(one[0], other[0]) <= min(one[1], other[1])
    assert more <= 2 * backups


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_problems_that_end_by_chance_hold(seed: int, weight: float) -> None:
    """Beside the plainest recursion, which leaves out what comes after some steps, and what that can be at most."""
    drawn = draw(seed, 2)
    small = replace(ending(drawn, 0.5), reward=np.pad(np.abs(drawn.reward), ((0, 0), (0, 1))))
    search = Search(small.compiled, weight=weight, discount=1.0, gap=1e-6, seconds=np.inf, memory=1e9)
    search.next_prune = 0  # settled at once
    assert search.run() == "gap"
    value = float(recursion(small, small.start[None], 8, weight, 1.0)[0])
    later = 0.5**8 * 2 * (small.reward.max() + weight * np.log(4))
    assert search.bounds[0] <= value + later
    assert search.bounds[1] >= value


def test_nothing_is_claimed_where_a_row_takes_nothing_off() -> None:
    rows = Rows(np.arange(3), np.array([0, 1, 2]), np.array([1, 0]), np.ones(2), np.ones(2), np.full(2, np.inf))
    values, _ = best_values(np.zeros(2), rows, np.ones(2), rounding=0.0, exact=1e-9)
    assert np.isinf(values).all()
    values, _ = best_values(np.zeros(2), rows._replace(share=np.array([1.0, 0.5])), np.array([2.0, 1.5]),
                            rounding=1e-15, exact=1e-9)  # fmt: skip
    assert values == pytest.approx([4.0, 3.0])

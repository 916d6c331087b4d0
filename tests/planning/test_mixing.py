"""The cheapest mixture of known beliefs against another linear program, also where beliefs are hardly told apart."""

import numpy as np
import pytest
from scipy.optimize import linprog

from rhoplan.planning.certified.mixing import NEGLIGIBLE, _bound, mixture, mixture_weights, prices_of, sawtooth


def drawn(seed: int, states: int, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of which many are next to others, cheaper than the corners; what they cost, and what corners do."""
    rng = np.random.default_rng(seed)
    some = rng.dirichlet(np.full(states, 0.3), points)
    some[some < 1e-3] = 0.0
    near = some[rng.integers(0, points, points)]
    near = near * (1 + rng.normal(size=near.shape) * 10.0 ** -rng.integers(9, 17))
    beliefs = np.vstack([some / some.sum(axis=1, keepdims=True), near / near.sum(axis=1, keepdims=True)])
    corner = 1000.0 + rng.normal(size=states)
    return beliefs, beliefs @ corner - rng.uniform(0, 30, len(beliefs)), corner


@pytest.mark.parametrize("seed", range(20))
def test_a_mixture_is_the_cheapest_there_is_and_never_below_it(seed: int) -> None:
    states = 3 + seed % 12
    beliefs, values, corner = drawn(seed, states, 40)
    columns, cost = np.vstack([np.eye(states), beliefs]), np.concatenate([corner, values])
    for belief in np.random.default_rng(seed + 100).dirichlet(np.full(states, 0.5), 5):
        least = linprog(cost, A_eq=columns.T, b_eq=belief, method="highs").fun
        found = mixture(beliefs, values, corner, belief, np.full(states, 2000.0))
        assert least - 1e-3 <= found <= least + 1e-3
        assert found <= sawtooth(beliefs, values, corner, belief) + 1e-6


@pytest.mark.parametrize("fails_at", range(1, 12))
def test_where_rounding_ends_it_early_the_best_so_far_comes_back(
    monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """A system that cannot be solved had ended the question with an error."""
    beliefs, values, corner = drawn(3, 6, 40)
    columns, cost = np.vstack([np.eye(6), beliefs]), np.concatenate([corner, values])
    belief, solve, calls = np.full(6, 1 / 6), np.linalg.solve, 0
    whole = cost @ linprog(cost, A_eq=columns.T, b_eq=belief, method="highs").x

    def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > fails_at:
            raise np.linalg.LinAlgError
        return solve(matrix, right)

    monkeypatch.setattr(np.linalg, "solve", solved)
    basis, amount = mixture_weights(columns, cost, belief, np.arange(6))

    assert amount @ columns[basis] == pytest.approx(belief, abs=1e-12)
    assert (amount >= 0).all()
    assert whole - 1e-3 <= cost[basis] @ amount <= corner @ belief + 1e-9


def test_without_points_corners_are_all_there_is() -> None:
    corner, belief = np.array([3.0, 5.0]), np.array([0.25, 0.75])
    none = np.empty((0, 2)), np.empty(0)
    assert sawtooth(*none, corner, belief) == pytest.approx(4.5)
    assert mixture(*none, corner, belief, np.full(2, 10.0)) == pytest.approx(4.5)


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_a_state_of_no_weight_does_not_keep_a_point_away(share: float) -> None:
    """The point is one half of each of two states; what the belief has of a third is paid for where it is little."""
    points, values, corner = np.array([[0.5, 0.5, 0.0]]), np.array([1.0]), np.array([10.0, 10.0, 10.0])
    third = share * NEGLIGIBLE
    belief = np.array([0.5 - third / 2, 0.5 - third / 2, third])
    assert mixture(points, values, corner, belief, np.full(3, 20.0)) == pytest.approx(1.0, abs=1e-6)
    beside = np.array([[0.5 - third / 2, 0.5 - third / 2, third]])
    known = 1.0 if share < 1 else 10.0  # a point with more of a state than can be left out is of no use
    found = mixture(beside, values, corner, np.array([0.5, 0.5, 0.0]), np.full(3, 20.0))
    assert found == pytest.approx(known, abs=1e-6)


def test_a_likely_state_has_a_price_by_its_share_and_an_impossible_one_the_whole() -> None:
    prices = prices_of(np.array([0.5, 0.1, 1e-9, 0.0]), 100.0, 10.0)
    assert prices.tolist() == pytest.approx([20.0, 100.0, 100.0, 100.0])
    assert prices_of(np.array([0.5, 0.0]), 100.0, 1e10).tolist() == [100.0, 100.0]


def test_a_point_with_a_little_more_of_a_state_of_no_weight_is_of_use() -> None:
    """To the letter a fifth of it is all that the belief has room for."""
    points, belief = np.array([[0.5, 0.5 - 5e-13, 5e-13]]), np.array([0.5, 0.5 - 1e-13, 1e-13])
    corner, prices = np.full(3, 10.0), np.full(3, 20.0)
    assert mixture(points, np.array([1.0]), corner, belief, prices) == pytest.approx(1.0, abs=1e-6)
    assert sawtooth(points, np.array([1.0]), corner, belief) == pytest.approx(10 - 0.2 * 9, abs=1e-3)


def test_a_share_too_small_for_floats_to_divide_by_is_no_limit() -> None:
    found = sawtooth(np.array([[1.0, 1e-310]]), np.array([1.0]), np.array([3.0, 5.0]), np.array([0.5, 0.5]))
    assert found == pytest.approx(4.0 - 0.5 * 2.0)


def test_what_a_mixture_has_more_or_less_of_a_state_is_paid_for_at_its_price() -> None:
    columns, cost, half, prices = np.eye(2), np.array([1.0, 2.0]), np.array([0.5, 0.5]), np.array([10.0, 20.0])
    for amount, off in (([0.5, 0.5], 0.0), ([0.4, 0.5], 1.0), ([0.6, 0.5], 1.0), ([0.5, 0.3], 4.0)):
        worth = amount[0] + 2 * amount[1] + off
        assert _bound(columns, cost, half, np.arange(2), np.array(amount), prices) == pytest.approx(worth)


def test_shares_of_no_weight_are_paid_for_or_made_up_whichever_is_cheaper() -> None:
    """At a price of a million millions half a millionth of a millionth costs a half."""
    corner, point, little = np.full(3, 10.0), np.array([[0.5, 0.5, 0.0]]), 5e-13
    belief, prices = np.array([0.5, 0.5 - little, little]), np.array([20.0, 20.0, 1e12])
    assert mixture(point, np.array([1.0]), corner, belief, prices) == pytest.approx(1.0, abs=1e-6)  # by a corner
    dear = np.array([10.0, 10.0, 1e13])
    assert mixture(point, np.array([1.0]), dear, belief, prices) == pytest.approx(1.5, abs=1e-3)
    other = np.array([[0.5, 0.5 - little, little]])
    assert mixture(other, np.array([1.0]), corner, np.array([0.5, 0.5, 0.0]), prices) == pytest.approx(1.5, abs=1e-3)


def test_a_point_that_is_cheaper_by_little_is_taken() -> None:
    points, values = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([-1.0, -0.505])
    found = mixture(points, values, np.zeros(2), np.array([0.25, 0.75]), np.full(2, 10.0))
    assert found == pytest.approx(-0.505, abs=1e-12)

"""What rounding leaves behind changes nothing: shares of 1e-16 in beliefs, rows that sum to all but 1, huge weights."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from pump import PUMP
from rhoplan.errors import AgentError
from rhoplan.io.model_file import parse_model
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.model.belief import Belief
from rhoplan.planning.certified.mixing import NEGLIGIBLE, mixture, prices_of
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.pointbased.check import _point_excess
from rhoplan.planning.certified.pointbased.graph import ENTRY
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import solve_general

ENDS = """
discount: 1.0
values: reward
states: live over
actions: go
observations: a b c
start: live
T: go : live 0.5 0.5
T: go : over 0 1
O: go : live {live}
O: go : over {over}
R: go : live : * : * -1
"""


@pytest.mark.parametrize("row", ["0.7 0.2 0.1", "0.6 0.3 0.1", "0.4 0.3 0.3000000000000001"])
def test_an_end_that_shows_what_sums_to_all_but_one_is_worth_nothing(row: str) -> None:
    """In floats 0.7 + 0.2 + 0.1 is below 1; the other way round it is 1."""
    shown = dict(zip("abc", row.split(), strict=True))
    turned = " ".join(shown[name] for name in "cba")
    live = {"a": "0.1", "b": "0.2", "c": "0.7"}
    live_turned = " ".join(live[name] for name in "cba")

    one = solve(parse_pomdp(ENDS.format(live=" ".join(live.values()), over=row)), weight=1.0)
    other = solve(parse_pomdp(ENDS.format(live=live_turned, over=turned)), weight=1.0)

    assert one.converged
    assert other.converged
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


DEAR = np.full(3, 100.0)


def test_a_mixture_makes_use_of_small_shares_and_does_without() -> None:
    """A point with a share of 1e-8 of a state that the belief has 1e-13 of can still be 1e-5 of it."""
    corner, point = np.array([10.0, 20.0, 30.0]), np.array([1e-8, 0.5, 0.5 - 1e-8])
    belief = np.array([1e-13, 0.5, 0.5 - 1e-13])
    assert mixture(point[None], np.array([15.0]), corner, belief, DEAR) == pytest.approx(25 - 1e-5 * 10, abs=1e-9)

    without = np.array([0.0, 0.5, 0.5])
    assert mixture(without[None], np.array([15.0]), corner, belief, DEAR) == pytest.approx(15.0, abs=1e-9)
    shared = np.array([3e-13, 0.5, 0.5 - 3e-13])
    assert mixture(shared[None], np.array([15.0]), corner, belief, DEAR) == pytest.approx(15.0, abs=1e-9)


def test_what_a_point_has_of_a_state_that_is_ruled_out_is_paid_at_what_it_may_cost() -> None:
    """g = max((10, 10, -1e12) b, 0) is convex, fits all that is known, and is 10 where the mixture would be 9."""
    point, corner = np.array([0.5, 0.5 - 1e-12, 1e-12]), np.array([10.0, 10.0, 0.0])
    belief = np.array([0.5, 0.5, 0.0])
    assert mixture(point[None], np.array([9.0]), corner, belief, prices_of(belief, 1e12, 20.0)) >= 10.0
    assert mixture(point[None], np.array([9.0]), corner, belief, prices_of(belief, 1e3, 20.0)) < 9.1


RISKY = """
discount: 0.5
values: reward
states: A B S end
actions: risky safe look
observations: a b e
start: 0.5 0.4999999999995 0.0000000000005 0
T: risky : * 0 0 0 1
T: safe : * 0 0 0 1
T: look identity
O: * : * 0 0 1
O: look : A 0.5 0.5 0
O: look : B 0.5 0.5 0
O: look : S 0 1 0
R: risky : A : * : * 10
R: risky : B : * : * 11
R: risky : S : * : * -1e12
R: look : * : * : * -1
R: * : end : * : * 0
"""


def test_bounds_of_a_policy_do_not_cross_where_a_penalty_is_huge() -> None:
    problem = parse_pomdp(RISKY)
    policy = solve(problem, gap=1e-6).policy
    assert policy is not None
    place = problem.belief()
    for belief in ([0.5, 0.5, 0.0, 0.0], [0.5, 0.4999999999995, 5e-13, 0.0], [0.3, 0.7, 0.0, 0.0]):
        there = Belief(place.problem, place.observable, (np.array(belief),))
        worth = max(float(np.array(belief) @ [10.0, 11.0, -1e12, 0.0]), 0.0)
        lower, upper = policy.value(there)
        assert lower <= upper
        assert worth <= upper + 1e-9
        assert all(low <= high + 1e-9 for low, high in policy.actions(there).values())


@pytest.mark.parametrize("weight", [1.0, 5.0])
def test_a_check_knows_that_information_is_rounded_where_nothing_is_paid(weight: float) -> None:
    text = """
discount: 0.9
values: reward
states: 3
actions: 1
observations: 3
T: 0 : * 0.4 0.2 0.4
O: 0 : * 0.4 0.2 0.4
"""
    found = solve(parse_pomdp(text), weight=weight, check=True)
    assert found.certificate is not None
    assert found.certificate.holds


def test_a_check_is_not_misled_by_shares_of_states_that_have_been_ruled_out() -> None:
    plan = solve_general(compile_problem(parse_model(PUMP)), discount=0.9, gap=1e-3).plan
    beliefs, _ = plan.points(0)
    left = np.flatnonzero(((beliefs > 0) & (beliefs < NEGLIGIBLE)).any(axis=1))
    own = plan.graph.node[plan._opened[0][left], ENTRY] >= 0
    places = left[~own][::2].tolist()

    assert len(places) > 20
    assert max(_point_excess(plan, 0, place) for place in places) <= 1e-9


def test_a_weight_beyond_all_rewards_is_refused() -> None:
    with pytest.raises(AgentError, match=r"weight must be at most 1e\+100"):
        solve(rhoplan.make("tiger"), weight=1e110, method="points")

"""What rounding leaves behind changes nothing: shares of 1e-16 in beliefs, rows that sum to all but 1, huge weights."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from pump import PUMP
from rhoplan.errors import AgentError
from rhoplan.io.model_file import parse_model
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.planning.certified.mixing import NEGLIGIBLE, mixture

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

    one = rhoplan.solve(parse_pomdp(ENDS.format(live=" ".join(live.values()), over=row)), weight=1.0)
    other = rhoplan.solve(parse_pomdp(ENDS.format(live=live_turned, over=turned)), weight=1.0)

    assert one.converged
    assert other.converged
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


def test_a_mixture_makes_use_of_small_shares_and_does_without() -> None:
    """A point with a share of 1e-8 of a state that the belief has 1e-13 of can still be 1e-5 of it."""
    corner, point = np.array([10.0, 20.0, 30.0]), np.array([1e-8, 0.5, 0.5 - 1e-8])
    belief = np.array([1e-13, 0.5, 0.5 - 1e-13])
    assert mixture(point[None], np.array([15.0]), corner, belief) == pytest.approx(25 - 1e-5 * 10, abs=1e-9)

    without = np.array([0.0, 0.5, 0.5])
    assert mixture(without[None], np.array([15.0]), corner, belief) == pytest.approx(15.0, abs=1e-9)
    shared = np.array([3e-13, 0.5, 0.5 - 3e-13])
    assert mixture(shared[None], np.array([15.0]), corner, belief) == pytest.approx(15.0, abs=1e-9)


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
        rhoplan.solve(rhoplan.make("tiger"), weight=1e110, method="points")

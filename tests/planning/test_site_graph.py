"""Which problems decompose into sites and tasks, and whether ending is best there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rhoplan.model.pomdp import END, POMDP, Action, Factor
from rhoplan.planning.routing.decomposition import decomposes, ending_is_best, going_on_costs
from rhoplan.planning.routing.settings import RoutingSettings
from rhoplan.planning.routing.site_graph import SiteGraph, site_graph

COIN = Factor("coin", ("good", "bad"), np.array([0.5, 0.5]))


def act(name: str, to: object, pays: float | tuple[float, float], **more: object) -> Action:
    reward = np.broadcast_to(np.asarray(pays, dtype=float), 2).copy()
    return Action(name, reward, np.ones((2, 1)), ("on",), (to,), **more)  # type: ignore[arg-type]


def town(**menus: tuple[Action, ...]) -> POMDP:
    return POMDP("town", (COIN,), "home", menus.__getitem__)


def ring(*, short: float = 5.0, end: float = 0.0) -> POMDP:
    """From home straight to the shop for 5, or by way of the park for 1 and 1; one deals with the coin in the shop."""
    return town(
        home=(act("straight", "shop", -short), act("round", "park", -1), act("stop", END, end)),
        park=(act("on", "shop", -1),),
        shop=(act("call", "done", (1, -1)), act("back", "home", -1)),
        done=(act("leave", "home2", -1),),
        home2=(act("stop", END, end),),
    )


def surveyed(problem: POMDP, discount: float = 1.0, **limits: int) -> SiteGraph | None:
    return site_graph(problem, "home", discount=discount, tasks={}, settings=RoutingSettings(**limits))


CALL, STOP = act("call", "done", (1, -1)), act("stop", END, 0)
SHAKE = act("shake", "home", -1, transition=np.full((2, 2), 0.5))
AGAIN, LAST = act("call", "home", (1, -1)), act("call", END, (1, -1))
SPENT = np.array([[0.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("problem", "decomposed"),
    [
        (ring(short=0.0), True),
        (ring(short=-0.1), False),  # a move that pays
        (town(home=(CALL, STOP)), True),
        (town(home=(CALL, STOP, SHAKE)), False),  # the hidden state changes without a task
        (town(home=(AGAIN, STOP)), False),  # it can be dealt with again and again
        (town(home=(replace(AGAIN, transition=SPENT), STOP)), True),
        (town(home=(LAST,)), True),
        (town(home=(LAST, STOP)), False),  # dealing with it ends the episode, and so does something else
    ],
)
def test_what_decomposes_into_tasks(problem: POMDP, decomposed: bool) -> None:
    assert (surveyed(problem) is not None) == decomposed


def test_the_number_of_places_is_limited() -> None:
    assert surveyed(ring(), places=3) is not None
    assert surveyed(ring(), places=2) is None


@pytest.mark.parametrize(("end", "best"), [(1.0, True), (0.0, True), (-0.1, False)])
def test_with_a_discount_ending_is_best_where_it_costs_nothing(end: float, best: bool) -> None:
    stop = act("stop", END, end)
    problem = town(home=(CALL, stop), done=(stop,))
    found = surveyed(problem, 0.9)
    assert found is not None
    assert ending_is_best(problem, found, 0.9) == best


@pytest.mark.parametrize(("price", "costs"), [(1e-9, True), (0.0, False)])
def test_without_one_it_is_where_going_on_costs(price: float, costs: bool) -> None:
    stop = act("stop", END, -5)
    problem = town(home=(CALL, stop, act("wait", "home", -price)), done=(stop,))
    found = surveyed(problem)
    assert found is not None
    assert going_on_costs(problem, found) == costs
    assert ending_is_best(problem, found, 1.0) == costs
    assert not ending_is_best(problem, found, 0.9)


def test_a_problem_decomposes_if_all_its_states_are_compared() -> None:
    walk = act("wait", "home", -1)
    problem = town(home=(CALL, STOP, walk), done=(STOP, replace(walk, leads_to=("done",))))
    found = surveyed(problem)
    assert found is not None
    assert decomposes(problem, found, discounts=False)
    assert decomposes(problem, found, discounts=False, settings=RoutingSettings(compared=2))
    assert not decomposes(problem, found, discounts=False, settings=RoutingSettings(compared=1))
    with pytest.raises(TimeoutError):
        decomposes(problem, found, discounts=False, deadline=-math.inf)

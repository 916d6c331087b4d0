"""What there is to do around a place: walks by price or by steps, where to end, and what is no errand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rhoplan.model.pomdp import END, POMDP, Action, Factor
from rhoplan.planning.routing import decomposition
from rhoplan.planning.routing import site_graph as module
from rhoplan.planning.routing.decomposition import decomposes, ending_is_best, going_on_costs
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


def surveyed(problem: POMDP, discount: float = 1.0) -> SiteGraph | None:
    return site_graph(problem, "home", discount=discount, tasks={})


def test_the_cheapest_walk_counts_and_its_steps_are_told() -> None:
    found = surveyed(ring())
    assert found is not None
    home, park, shop = (found.place[name] for name in ("home", "park", "shop"))
    assert found.cost[[home, park, shop], 0].tolist() == [2, 1, 0]
    assert found.steps[[home, park, shop], 0].tolist() == [2, 1, 0]
    assert (found.factors, found.site.tolist(), found.is_optional) == ((0,), [shop], True)
    cheap = surveyed(ring(short=1.5))
    assert cheap is not None
    assert (cheap.cost[home, 0], cheap.steps[home, 0]) == (1.5, 1)


def test_with_a_discount_the_shortest_walk_counts_where_all_cost_the_same() -> None:
    found = surveyed(ring(short=1.0), 0.9)
    assert found is not None
    assert (found.cost[found.place["home"], 0], found.steps[found.place["home"], 0]) == (1, 1)
    assert surveyed(ring(short=1.0 + 1e-6), 0.9) is None  # neither the cheapest nor the shortest need be the best


def test_one_walks_to_the_best_place_to_end() -> None:
    found = surveyed(ring(end=10.0))
    assert found is not None
    assert [float(found.leaving[found.place[name]]) for name in ("home", "shop", "park")] == [10, 9, 8]
    faded = surveyed(ring(short=1.0, end=10.0), 0.5)
    assert faded is not None
    assert [float(faded.leaving[faded.place[name]]) for name in ("home", "shop", "park")] == [10, 4, 1]


def test_walks_that_pay_and_changes_that_are_no_errand_are_not_surveyed() -> None:
    assert surveyed(ring(short=0.0)) is not None
    assert surveyed(ring(short=-0.1)) is None
    change = act("shake", "home", -1, transition=np.full((2, 2), 0.5))
    call = act("call", "done", (1, -1))
    assert surveyed(town(home=(call, act("stop", END, 0)))) is not None
    assert surveyed(town(home=(call, act("stop", END, 0), change))) is None


def test_what_could_be_done_again_and_again_is_no_errand() -> None:
    again, spent = act("call", "home", (1, -1)), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert surveyed(town(home=(again, act("stop", END, 0)))) is None
    assert surveyed(town(home=(replace(again, transition=spent), act("stop", END, 0)))) is not None


def test_an_end_that_depends_on_what_is_hidden_leaves_nothing_else_to_do() -> None:
    call = act("call", END, (1, -1))
    assert surveyed(town(home=(call,))) is not None
    assert surveyed(town(home=(call, act("stop", END, 0)))) is None


def test_so_many_places_are_looked_at_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PLACES", 3)
    assert surveyed(ring()) is not None
    monkeypatch.setattr(module, "MOST_PLACES", 2)
    assert surveyed(ring()) is None


@pytest.mark.parametrize(("end", "best"), [(1.0, True), (0.0, True), (-0.1, False)])
def test_with_a_discount_ending_is_best_where_it_costs_nothing(end: float, best: bool) -> None:
    problem = town(home=(act("call", "done", (1, -1)), act("stop", END, end)), done=(act("stop", END, end),))
    found = surveyed(problem, 0.9)
    assert found is not None
    assert ending_is_best(problem, found, 0.9) == best


@pytest.mark.parametrize(("price", "costs"), [(1e-9, True), (0.0, False)])
def test_without_one_it_is_where_going_on_costs(price: float, costs: bool) -> None:
    call, stop = act("call", "done", (1, -1)), act("stop", END, -5)
    problem = town(home=(call, stop, act("wait", "home", -price)), done=(stop,))
    found = surveyed(problem)
    assert found is not None
    assert going_on_costs(problem, found) == costs
    assert ending_is_best(problem, found, 1.0) == costs
    assert not ending_is_best(problem, found, 0.9)


def test_a_town_comes_apart_as_long_as_all_of_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    call, stop, walk = act("call", "done", (1, -1)), act("stop", END, 0), act("wait", "home", -1)
    problem = town(home=(call, stop, walk), done=(stop, replace(walk, leads_to=("done",))))
    found = surveyed(problem)
    assert found is not None
    assert decomposes(problem, found, discounts=False)
    monkeypatch.setattr(decomposition, "MOST_COMPARED", 2)
    assert decomposes(problem, found, discounts=False)
    monkeypatch.setattr(decomposition, "MOST_COMPARED", 1)
    assert not decomposes(problem, found, discounts=False)
    with pytest.raises(TimeoutError):
        decomposes(problem, found, discounts=False, deadline=-math.inf)

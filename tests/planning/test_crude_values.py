"""Bounds of last resort where they are known: of one action for ever, of who knows all, of the range of rewards."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rhoplan
from rhoplan.model.pomdp import END, POMDP, Action, Factor
from rhoplan.planning.certified import crude
from rhoplan.planning.certified.crude import Crude, crude_bounds, for_ever

PRIOR = np.array([0.8, 0.2])
EACH = 0.8 * 2 - 0.2 * 1
"""What waiting pays each time."""


def of(*numbers: float) -> np.ndarray:
    return np.array(numbers)


def walk(name: str, to: object, pays: np.ndarray) -> Action:
    return Action(name, pays, np.ones((len(pays), 1)), ("on",), (to,))


def waiting() -> POMDP:
    """In the hall one waits, or goes to where one can only wait: that pays 2 or costs 1, as it is hidden."""

    def menu(place):
        wait = walk("wait", place, of(2.0, -1.0))
        return (walk("go", "attic", of(-9.0, -9.0)), wait) if place == "hall" else (wait,)

    return POMDP("waiting", (Factor("luck", ("good", "bad"), PRIOR),), "hall", menu)


def bounds(problem: POMDP, *, weight: float = 0.0, discount: float = 1.0, deadline: float = math.inf) -> Crude:
    found = crude_bounds(problem, weight=weight, discount=discount, deadline=deadline)
    assert found.lower <= found.upper
    return found


@pytest.mark.parametrize("weight", [0.0, 1.5])
@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_who_always_waits_earns_what_who_knows_all_can_earn(discount: float, weight: float) -> None:
    found, entropy = bounds(waiting(), discount=discount, weight=weight), -float(PRIOR @ np.log(PRIOR))
    assert found.first == "wait"
    assert found.lower == pytest.approx(EACH / (1 - discount), rel=1e-3)
    assert found.upper == pytest.approx(EACH / (1 - discount) + weight * entropy, rel=1e-3)


@pytest.mark.parametrize("weight", [0.0, 1.5])
@pytest.mark.parametrize(("discount", "steps", "times"), [(1.0, 1, 1), (1.0, 7, 7), (0.5, 1, 1), (0.5, 3, 1.75)])
def test_within_a_horizon_too(discount: float, steps: int, times: float, weight: float) -> None:
    found = bounds(rhoplan.with_horizon(waiting(), steps), discount=discount, weight=weight)
    entropy = -float(PRIOR @ np.log(PRIOR))
    assert found.first == "wait"
    assert found.lower == pytest.approx(times * EACH)
    assert found.upper == pytest.approx(times * min(EACH + weight * entropy / times, 2))  # no step pays more than 2


@pytest.mark.parametrize(
    ("discount", "steps", "low", "high"),
    [(0.5, None, -2.0, 4.0), (1.0, None, -math.inf, math.inf), (0.5, 3, -1.75, 3.5), (1.0, 7, -7.0, 14.0)],
)
def test_without_time_for_sweeps_the_range_of_rewards_is_left(discount, steps, low, high, monkeypatch) -> None:
    """Who is careful waits and loses 1 at most each time, nobody gains more than 2; one who knows all, EACH."""
    monkeypatch.setattr(crude.clock, "check", lambda deadline: None)  # the menus are looked at all the same
    problem = waiting() if steps is None else rhoplan.with_horizon(waiting(), steps)
    found = bounds(problem, discount=discount, deadline=-math.inf)
    assert found.lower == pytest.approx(low)
    assert found.upper == pytest.approx(high if steps else min(high, EACH / (1 - discount) if discount < 1 else high))
    assert found.first == ("wait" if math.isfinite(low) else "go")


def test_without_time_for_menus_only_an_ending_is_known() -> None:
    """Its worth, where the start has one; else nothing, and the first action of all."""
    assert bounds(waiting(), discount=0.9, deadline=-math.inf) == Crude(-math.inf, math.inf, "go")
    ending = walk("stop", END, of(3.0, -2.0))
    either = (walk("go", "attic", of(1.0, 1.0)), walk("quit", END, of(-1.0, 0.0)), ending)
    problem = POMDP("stops", waiting().factors, "hall", lambda place: either)
    assert bounds(problem, deadline=-math.inf) == Crude(pytest.approx(0.8 * 3 - 0.2 * 2), math.inf, "stop")


def two_factors(price: float, *ends: np.ndarray) -> POMDP:
    coin = tuple(Factor(name, ("heads", "tails"), of(0.5, 0.5)) for name in ("one", "other"))
    tests = tuple(
        Action(f"look-{n}", of(-price, -price), np.eye(2), ("heads", "tails"), ("here", "here"), factor=n)
        for n in (0, 1)
    )
    endings = tuple(walk(name, END, end) for name, end in zip(("say", "quit"), ends, strict=False))
    return POMDP("coins", coin, "here", lambda place: (*tests, *endings))


@pytest.mark.parametrize(
    ("weight", "discount", "upper"),
    [
        (0.0, 1.0, 10.0),
        (0.0, 0.5, 10.0),
        (1.0, 1.0, 10.0),  # all there is to know is worth less than a look costs
        (2.0, 1.0, math.inf),
        (2.0, 0.5, 10.0),
        (5.0, 0.5, 2 * (5.0 * 2 * math.log(2) - 1.5)),
    ],
)
def test_of_several_factors_no_step_pays_more_than_its_reward_and_all_there_is_to_know(weight, discount, upper) -> None:
    found = bounds(two_factors(1.5, of(10.0, -4.0)), weight=weight, discount=discount)
    assert found.upper == pytest.approx(upper)
    assert (found.lower, found.first) == (pytest.approx(3.0), "say")


@pytest.mark.parametrize(
    ("weight", "discount", "steps", "upper"),
    [
        (0.0, 1.0, 3, 10.0),
        (2.0, 1.0, 3, 10 + 3 * (4 * math.log(2) - 1.5)),
        (2.0, 0.5, 3, 10.0),
        (20.0, 0.5, 3, 1.75 * (40 * math.log(2) - 1.5) + 10 / 8),
    ],
)
def test_nor_within_a_horizon(weight, discount, steps, upper) -> None:
    problem = rhoplan.with_horizon(two_factors(1.5, of(10.0, -4.0)), steps)
    found = bounds(problem, weight=weight, discount=discount)
    assert found.upper == pytest.approx(upper)
    assert (found.lower, found.first) == (pytest.approx(3.0), "say")


def test_with_a_discount_nobody_has_to_end_who_loses_by_it() -> None:
    found = bounds(two_factors(1.5, of(-5.0, -5.0)), discount=0.5)
    assert (found.lower, found.upper, found.first) == (pytest.approx(-3.0), pytest.approx(-3.0), "look-0")


def test_who_is_careful_goes_on_as_long_as_it_pays_and_then_ends_with_care() -> None:
    """Three looks that pay 1 each, and the end that costs 2 at most."""
    found = bounds(rhoplan.with_horizon(two_factors(-1.0, of(3.0, -10.0), of(-2.0, -2.0)), 3))
    assert (found.lower, found.first) == (pytest.approx(1.0), "look-0")
    assert found.upper == pytest.approx(3 + 3)


@pytest.mark.parametrize("ends", [True, False])
def test_what_steps_sum_to_that_pay_so_much_at_most(ends: bool) -> None:
    assert for_ever(3.0, 0.75, ends) == 12.0
    assert for_ever(3.0, 1.0, ends) == math.inf
    assert for_ever(0.0, 1.0, ends) == 0.0
    assert for_ever(-3.0, 1.0, ends) == -3.0  # one at least is taken
    assert for_ever(-3.0, 0.75, ends) == (-3.0 if ends else -12.0)


def test_bounds_are_moved_outwards_by_what_rounding_may_lose() -> None:
    found = bounds(two_factors(1e-3, of(1e6, -1e6)), discount=1.0)
    assert 0 < 0.0 - found.lower < 1e-4
    assert 0 < found.upper - 1e6 < 1e-4

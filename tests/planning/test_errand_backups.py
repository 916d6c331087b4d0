"""The second opinion on errands, reckoned by hand: what it backs up, where it looks and what it counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rhoplan.errors import EvidenceError
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import END, POMDP, Action, Factor
from rhoplan.planning.asked import Asked

pytest.importorskip("numba", reason="solving general problems needs numba")

check = pytest.importorskip("rhoplan.planning.certified.errand_check")

PRICE = 1.0
SURE = 0.8 * math.log(0.8 / 0.5) + 0.2 * math.log(0.2 / 0.5)
"""What a look tells, in nats."""


def coin(price: float = PRICE, tails: float = 0.8) -> POMDP:
    """A look is right with 0.8 and costs; to say ends it, and pays 4 or costs 6."""
    shows = np.array([[0.8, 0.2], [1 - tails, tails]])
    look = Action("look", np.full(2, -price), shows, ("h", "t"), ("here", "here"))
    say = Action("say", np.array([4.0, -6.0]), np.ones((2, 1)), ("on",), (END,))
    return POMDP("coin", (Factor("f", ("heads", "tails"), np.array([0.5, 0.5])),), "here", lambda _: (look, say))


def claims(
    low: Any, high: Any, *, weight: float = 0.0, discount: float = 1.0, action: Any = lambda at: "look", **more: Any
) -> Any:
    """A policy that claims so much; high: by situation, and whether errands count as their lower bounds say."""
    return SimpleNamespace(
        origin=coin(**more),
        settings=Asked(weight, discount),
        plan=SimpleNamespace(lower=low),
        action=action,
        own_upper=lambda at, least=False: high(at, least),
    )


def heads(at: Belief) -> float:
    return float(at.beliefs[0][0])


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (2.0, 1.0), (2.0, 0.5)])
def test_a_look_pays_its_price_what_it_tells_and_what_follows(weight: float, discount: float) -> None:
    """What follows is worth the chance of heads, squared: 0.8 or 0.2, with even chances."""
    policy, start = claims(None, None, weight=weight, discount=discount), coin().belief()
    look, say = policy.origin.menu("here")
    known = -PRICE + weight * SURE + discount * 0.5 * (0.64 + 0.04)
    assert check._backup(policy, start, look, lambda at: heads(at) ** 2).value == pytest.approx(known)
    assert check._backup(policy, start, say, lambda at: 1e9).value == pytest.approx(-1.0)  # nothing follows the end


def test_claims_are_held_against_backups_and_counted() -> None:
    """Above, the best action counts, and errands that follow count as their lower bounds say."""
    policy = claims(lambda at: -7.0, lambda at, least: 2.0 if least else 9.0)
    found = check.check_errands(policy, np.random.default_rng(0), most=5)
    assert found.lower_excess == pytest.approx(-7.0 - (-PRICE - 7.0))
    assert found.upper_excess <= 4.0 - 9.0 + 1e-12
    assert found.upper_excess >= max(-PRICE + 2.0, -1.0) - 9.0 - 1e-6
    assert (found.vectors, found.points) == (5, 5)
    assert not found.holds  # by 1 from below


def test_what_is_not_claimed_is_not_counted() -> None:
    policy = claims(lambda at: -math.inf, lambda at, least: math.inf, weight=0.25)
    found = check.check_errands(policy, np.random.default_rng(0), most=3)
    assert (found.vectors, found.points) == (0, 0)
    assert (found.lower_excess, found.upper_excess) == (-math.inf, -math.inf)


def test_a_claim_without_an_action_is_none() -> None:
    def nothing(at: Belief) -> str:
        raise EvidenceError("there is no plan")

    policy = claims(lambda at: -7.0, lambda at, least: math.inf, action=nothing)
    found = check.check_errands(policy, np.random.default_rng(0), most=3)
    assert (found.lower_excess, found.vectors) == (math.inf, 3)


@pytest.mark.parametrize(("price", "discount", "holds"), [(1e-9, 1.0, True), (0.0, 0.5, True), (0.0, 1.0, False)])
def test_without_a_discount_no_backup_tells_what_going_on_for_nothing_earns(price, discount, holds) -> None:
    policy = claims(lambda at: -math.inf, lambda at, least: 9.0, price=price, discount=discount)
    found = check.check_errands(policy, np.random.default_rng(0), most=2)
    assert (found.upper_excess < 1e-6) == holds
    assert found.upper_excess == math.inf or holds


@pytest.mark.parametrize(("longest", "starts"), [(1, 6), (2, 3), (3, 2), (200, 1)])
def test_a_way_begins_again_after_so_many_actions(longest: int, starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LONGEST", longest)
    monkeypatch.setattr(check, "ASIDE", 0.0)
    seen = list(check._met(claims(None, None, tails=0.7), np.random.default_rng(3), 6))  # looks never cancel out
    assert [heads(at) == 0.5 for at in seen] == [number % longest == 0 for number in range(6)]
    assert sum(heads(at) == 0.5 for at in seen) == starts


def test_now_and_then_a_way_leaves_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, start, rng = claims(None, None), coin().belief(), np.random.default_rng(5)
    monkeypatch.setattr(check, "ASIDE", 0.0)
    assert {check._next(policy, start, rng).name for _ in range(60)} == {"look"}
    monkeypatch.setattr(check, "ASIDE", 1.0)
    assert {check._next(policy, start, rng).name for _ in range(60)} == {"look", "say"}


@pytest.mark.parametrize("wrong", [0.5, 1e-3, 1e-5])
def test_a_large_claim_elsewhere_excuses_no_wrong_one(wrong: float) -> None:
    """Where heads are nearly sure, far too much is claimed, which holds; elsewhere less than saying so pays."""

    def most(at: Belief, least: bool) -> float:
        return -100.0 if least else 1e9 if heads(at) > 0.9 else 10 * heads(at) - 6 - wrong

    found = check.check_errands(claims(lambda at: -math.inf, most), np.random.default_rng(0), most=20)
    assert found.upper_excess == pytest.approx(wrong, rel=1e-2)
    assert not found.holds

"""Ceilings over models that look like errands from the start and are none: no plan earns more."""

from __future__ import annotations

import pytest

from rhoplan.errors import LimitError
from rhoplan.io.model_file import parse_model
from rhoplan.planning.certified.errands import ErrandPlan
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.routing.decomposition import decomposes
from rhoplan.planning.routing.full_information import full_information_bound

pytest.importorskip("numba", reason="solving general problems needs numba")

AGAIN = """
factors: {a: {states: [g, b]}}
actions:
  go: {reward: {a: {g: 3, b: 0}}, parts: {a: {change: {g: {g: 0.5, b: 0.5}}}}}
  out: {ends: true, reward: {a: {g: 1, b: 0}}}
"""
"""It is dealt with again and again."""

TWO_IN_ONE = """
factors: {rocks: {states: [gg, gb, bg, bb]}}
places: [left, right]
start: left
actions:
  east: {to: {left: right}}
  west: {to: {right: left}}
  sample:
    - at: left
      reward: {rocks: {gg: 10, gb: 10, bg: -10, bb: -10}}
      parts: {rocks: {change: {gg: bg, gb: bb}}}
    - at: right
      reward: {rocks: {gg: 10, bg: 10, gb: -10, bb: -10}}
      parts: {rocks: {change: {gg: gb, bg: bb}}}
  exit: {at: right, ends: true, reward: 10}
discount: 0.95
"""
"""Two errands of one factor, in two places."""

TWO_SHOPS = """
factors: {a: {states: [g, b, sold]}}
places: [near, far]
start: near
actions:
  go: {to: {near: far}, cost: 1}
  sell:
    - at: near
      reward: {a: {g: 2, b: 1, sold: 0}}
      parts: {a: {change: {g: sold, b: sold}}}
    - at: far
      reward: {a: {g: 9, b: 7, sold: 0}}
      parts: {a: {change: {g: sold, b: sold}}}
  out: {ends: true, reward: 0}
"""
"""The second place pays better, the first is found first."""

PAID_TO_LOOK = """
factors: {a: {states: [g, b, sold]}}
places: [near, far]
start: near
actions:
  go: {to: {near: far}, cost: 1}
  back: {to: {far: near}, cost: 1}
  look:
    - at: near
      reward: 1
      parts: {a: {outcomes: [x, y], likelihood: {g: [0.8, 0.2], b: [0.1, 0.9], sold: [0.5, 0.5]}}}
  sell: {at: far, reward: {a: {g: 2, b: -1, sold: 0}}, parts: {a: {change: {g: sold, b: sold}}}}
  out: {ends: true, reward: 0}
discount: 0.9
"""
"""A test far from the errand pays."""

ONCE = """
factors: {a: {states: [g, b, sold]}}
places: [near, far]
start: near
actions:
  go: {to: {near: far}, cost: 1}
  look:
    - at: near
      cost: 0.1
      parts: {a: {outcomes: [x, y], likelihood: {g: [0.8, 0.2], b: [0.1, 0.9], sold: [0.5, 0.5]}}}
  sell: {at: far, reward: {a: {g: 4, b: -1, sold: -0.5}}, parts: {a: {change: {g: sold, b: sold}}}}
  out: {ends: true, reward: 0}
"""
"""What errands are: dealt with in one place, and spent then."""


@pytest.mark.parametrize("text", [AGAIN, TWO_IN_ONE, TWO_SHOPS, PAID_TO_LOOK])
def test_what_is_no_errand_has_a_ceiling_above_what_a_plan_earns(text: str) -> None:
    problem = parse_model(text)
    plan = ErrandPlan(problem, weight=0.0, discount=problem.discount)

    assert not decomposes(problem, plan.survey, discounts=problem.discount < 1)
    assert full_information_bound(problem).value >= solve(problem, gap=1e-3).lower


def test_with_several_factors_there_is_no_ceiling_then() -> None:
    problem = parse_model(AGAIN.replace("[g, b]}}", "[g, b]}, c: {states: [x, y]}}"))

    with pytest.raises(LimitError, match="no ceiling"):
        full_information_bound(problem)


def test_an_errand_that_is_spent_keeps_its_ceiling() -> None:
    problem = parse_model(ONCE)

    assert decomposes(problem, ErrandPlan(problem, weight=0.0, discount=1.0).survey, discounts=False)
    assert full_information_bound(problem).value == pytest.approx((4 - 1) / 3)

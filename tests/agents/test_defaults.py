"""What agents are where nobody says: defaults and ranges as they are told, parts of values, and what planners are
checked on. Records, logs and the published numbers rely on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy, action_values
from rhoplan.agents import check
from rhoplan.agents.agent import AGENTS, make_agent
from rhoplan.agents.registry import PLANNERS
from rhoplan.agents.settings import SETTINGS, is_number
from rhoplan.errors import AgentError

TIGER, ROCKS = rhoplan.make("tiger"), rhoplan.make("rocksample:n=3,k=2")

# -- settings ---------------------------------------------------------------------------------------------------------

MOST = np.finfo(float).max
ENDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "horizon": ((1, 10_000), (0, 10_001, 1.5, math.nan)),
    "simulations": ((1, 10**9), (0, -1, 1.5)),
    "time": ((5e-324, MOST), (0, -1.0, math.inf, math.nan)),
    "exploration": ((0, MOST), (-5e-324, math.inf, math.nan)),
    "precision": ((5e-324, math.inf), (0, -1.0, math.nan)),
    "weight": ((0, MOST), (-5e-324, math.nan)),
    "discount": ((5e-324, 1), (0, math.nextafter(1, 2), math.nan)),
    "near": ((0, 1), (-5e-324, math.nextafter(1, 2), math.nan)),
}
"""The ends of every range, and what lies beyond them by the least that there is."""


def test_every_range_has_its_ends_here() -> None:
    assert set(ENDS) == {name for name, setting in SETTINGS.items() if setting.rule}


@pytest.mark.parametrize("name", ENDS)
def test_a_range_ends_where_it_says(name: str) -> None:
    inside, outside = ENDS[name]
    for value in inside:
        SETTINGS[name].check(value)
    for value in outside:
        with pytest.raises(AgentError, match=f"{name} must be {SETTINGS[name].rule}; it is "):
            SETTINGS[name].check(value)


def test_what_a_log_may_say_of_a_setting() -> None:
    for name, setting in SETTINGS.items():
        good: dict[type, list[Any]] = {int: [3], float: [3, 0.5], str: ["exact"], tuple: [[0.5, 0.5], []]}
        bad: dict[type, list[Any]] = {int: [0.5, "3"], float: ["3", math.inf], str: [3], tuple: [0.5, ["1"], (0.5,)]}
        assert all(map(setting.reads, good[setting.kind])), name
        assert not any(map(setting.reads, [*bad[setting.kind], True])), name
        assert setting.reads(None) == (name in {"planner", "precision", "utility", "target", "near"}), name
    assert not any(map(is_number, [True, None, "1", [1], 1e300, -1e300, 10**400, math.nan]))
    assert all(map(is_number, [0, -1, 1.5, math.nextafter(1e300, 0), -math.nextafter(1e300, 0)]))


def test_what_holds_where_nobody_says() -> None:
    agent = make_agent("planning", TIGER)
    told = {name: value for name, value in agent.settings.items() if value is not None}
    assert told == {
        "horizon": 6, "planner": "exact", "weight": 0.0, "unit": "nats", "discount": 1.0, "utility": "information",
        "near": 0.01,
    }  # fmt: skip
    assert agent.precision == math.inf
    assert [make_agent("planning", ROCKS, planner=name).horizon for name in ("exact", "anytime")] == [
        ROCKS.horizon,
        2,
    ]


@pytest.mark.parametrize("name", [name for name, row in PLANNERS.items() if row.samples])
def test_a_search_has_a_thousand_simulations_unless_it_is_given_some_or_a_time(name: str) -> None:
    def simulations(**given: Any) -> int | None:
        return make_agent("efe", TIGER, planner=name, **given).simulations

    assert (simulations(), simulations(simulations=7), simulations(seconds=0.5)) == (1000, 7, None)
    assert simulations(simulations=7, seconds=0.5) == 7


def test_the_paper_s_agents_are_these() -> None:
    """Weight (None: to choose), one step, whether commits count."""
    assert {name: (kind.weight, kind.one_step, kind.commits_count) for name, kind in AGENTS.items()} == {
        "myopic": (0.0, True, True), "planning": (0.0, False, True), "info-gain": (None, True, True),
        "planning-ig": (None, False, True), "efe": (1.0, False, True), "epistemic-only": (None, False, False),
    }  # fmt: skip


# -- values and their parts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [TIGER, ROCKS, *check.PROBLEMS], ids=lambda problem: problem.name)
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_parts_of_a_value_add_up_to_what_exact_look_ahead_says(problem: rhoplan.POMDP, weight: float) -> None:
    graph = Graph(problem)
    agent = make_agent("planning-ig", problem, weight=weight, horizon=2, planner="exact", discount=0.9)
    policy = GraphPolicy(graph, agent)
    graph.expand(np.array([graph.root]))
    plan = Plan(graph, agent.objective.rho, discount=0.9)
    for node in (graph.root, *graph.next[graph.root][graph.next[graph.root] >= 0][:3].tolist()):
        _, going, later = plan.action_values(np.array([node]), 2)
        menu = graph.menus[graph.observable[node]]
        ends = graph.ending_rewards(np.array([node]), int(graph.observable[node]))[0]
        told = action_values(policy, node)
        assert [one.name for one in told] == [action.name for action in (*menu.going, *menu.ending)]
        for place, one in enumerate(told):
            assert one.value == pytest.approx(one.reward + one.weighted_information + one.continuation)
            assert one.weighted_information == pytest.approx(weight * one.information)
            if place < len(menu.going):
                parts = (going[0, place], later[0, place], graph.information[node, place])
            else:
                parts = (ends[place - len(menu.going)], 0.0, 0.0)
            assert (one.value, one.continuation, one.information) == pytest.approx(parts)
            assert one.preserves_hidden_state or one.coupling != 0
        assert sum(one.probability for one in told) == pytest.approx(1)
        assert max(told, key=lambda one: one.probability).value == pytest.approx(max(one.value for one in told))


# -- what planners are checked on -------------------------------------------------------------------------------------

SEEN = {
    "doors": (40, 9.480766017, 9.498227692, 9.438109767, 0),
    "once-and-after": (7, 3.766615737, 3.91377865, 3.502330023, 0),
    "places": (40, 2.048107979, 2.07494218, 1.946288051, -0.04),
    "useless": (1, -15, -15, -12.15, 0),
    "twins": (40, 9.762258927, 9.783246399, 9.702798927, 0.01258747155),
}

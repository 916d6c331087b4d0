"""Plans of versions as their courses: tests that repeat, results that cannot be, ties; beside the ordinary graph."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.graph.graph import Graph
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import Problem
from rhoplan.planning.exact import Plan
from rhoplan.planning.masses import Courses, MassLayout, Numbers
from rhoplan.planning.utility import Information
from rhoplan.problems.registry import make

SURE = """
states: [well, mild, grave]
prior: [0.5, 0.3, 0.2]
tests:
  look: {cost: 1, outcomes: [no, some, much], likelihood: {well: [1, 0, 0], mild: [0.5, 0.5, 0], grave: [0, 0.5, 0.5]}}
  ask: {cost: 2, outcomes: [no, yes], likelihood: {well: [0.9, 0.1], mild: [0.6, 0.4], grave: [0, 1]}}
losses: {leave: {well: 0, mild: 40, grave: 200}, treat: {well: 30, mild: 10, grave: 50}}
"""

IDLE = """
states: [well, ill]
prior: [0.5, 0.5]
tests: {idle: {cost: 0, outcomes: [no, yes], likelihood: {well: [0.5, 0.5], ill: [0.5, 0.5]}}}
losses: {leave: {well: 0, ill: 40}, treat: {well: 30, ill: 10}}
"""


def planned(problem: Problem, weight: float, horizon: int) -> tuple[Courses, float, float]:
    """The best plan of the stated numbers by its courses, what they are worth, and what the ordinary graph says."""
    layout = MassLayout(problem, (), horizon)
    copies = layout.weighed(Numbers.of(problem), informs=weight > 0)
    plan = layout.plan(copies, Information(weight), discount=1.0, commits_count=True)
    courses = layout.courses(plan, copies, horizon)
    graph = Graph(problem)
    value = Plan(graph, Information(weight)).values(np.array([graph.root]), horizon)[0]
    return courses, float(layout.worth(courses, copies, weight=weight)[0, 0]), float(value)


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_a_plan_that_repeats_a_test_comes_to_a_finding_in_several_ways(weight: float) -> None:
    courses, worth, value = planned(make("tiger"), weight, 5)
    assert courses.ways.max() > 1
    assert worth == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("weight", [0.0, 3.0, 30.0])
def test_results_that_cannot_be_tell_nothing(weight: float) -> None:
    courses, worth, value = planned(parse_model(SURE), weight, 2)
    assert (courses.slot >= 0).any()
    assert worth == pytest.approx(value, rel=1e-10)


def test_a_plan_ends_where_that_is_as_good_as_to_go_on() -> None:
    courses, worth, value = planned(parse_model(IDLE), 0.0, 3)
    assert courses.slot.tolist() == [-1]
    assert courses.commit.tolist() == [0]
    assert worth == value == -20.0

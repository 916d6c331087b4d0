"""How large exact look-ahead would be, counted before it is built, and what plans in its place."""

from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.agents.agent import make_agent
from rhoplan.agents.fitting import QUICK, Size, fitting, size_of, with_planner
from rhoplan.planning.utility import Information
from weak import weak_tests

CHAIN = {k: (f"t{k - 1}",) for k in range(1, 30)}


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("rules", [{}, {"max_tests": 2}, {"budget": 4.0}, {"after": {1: ("t0",), 2: ("t0",)}}])
def test_count_is_the_size_of_the_graph_where_rules_are_few(horizon: int, rules: dict[str, object]) -> None:
    problem = weak_tests(6, **rules)
    graph = Graph(problem)
    Plan(graph, Information(1.0)).values(np.array([graph.root]), horizon)
    counted = size_of(problem, horizon)
    assert counted.menus >= len(graph.observables)
    assert counted.nodes >= graph.size
    if rules in ({}, {"max_tests": 2}):
        assert (counted.menus, counted.nodes) == (len(graph.observables), graph.size)


def test_orders_are_counted_where_they_matter() -> None:
    free, chained = size_of(weak_tests(30), 3), size_of(weak_tests(30, after=CHAIN), 3)
    assert free.work > QUICK > chained.work
    assert (chained.menus, chained.nodes) == (4, 15), "of a chain only its first tests can be run"


def test_planner_is_chosen_by_itself_and_says_so() -> None:
    small, large = weak_tests(8), weak_tests(40)
    assert make_agent("efe", small).planner.name == "exact"
    chosen = make_agent("efe", large)
    assert chosen.planner.name == "many"
    assert "branch and bound" in chosen.notes[0]
    assert make_agent("efe", large, planner="exact").planner.name == "exact", "who asks for it gets it"
    assert make_agent("info-gain", large).planner.name == "exact", "one step is no work"
    assert make_agent("efe", weak_tests(12, repeatable=True)).planner.name == "exact"
    assert make_agent("efe", weak_tests(60, repeatable=True, states=5)).planner.name == "many"


def test_what_branch_and_bound_cannot_plan_looks_less_far() -> None:
    agent = make_agent("epistemic-only", weak_tests(40), horizon=4)
    assert (agent.planner.name, agent.horizon) == ("exact", 2)
    assert "looked 2 ahead instead" in agent.notes[0]


def test_memory_bounds_what_is_asked_for() -> None:
    problem = weak_tests(60)
    agent = make_agent("efe", problem, planner="exact", horizon=3)
    first, *others = fitting(problem, agent.planner, agent.objective, memory=1e9)
    assert first.planner.name == "many"
    assert [fit.planner.horizon for fit in others] == [2, 1]
    roomy = next(fitting(problem, agent.planner, agent.objective, memory=1e12))
    assert (roomy.planner, roomy.words) == (agent.planner, "")


@pytest.mark.parametrize("size", [Size(40.0, 9000.0, 7, 3, 12), Size(8.0, 16.0, 1, 2, 2), size_of(weak_tests(9), 3)])
def test_as_many_nodes_fit_into_memory_as_it_was_counted_for(size: Size) -> None:
    assert size.most_nodes(size.bytes) == pytest.approx(size.nodes, abs=1)
    assert size.most_nodes(3 * size.bytes) == pytest.approx(3 * size.nodes, abs=1)
    longer = replace(size, states=size.states + 1)
    assert longer.bytes - size.bytes == pytest.approx(size.nodes * np.dtype(float).itemsize)


def test_tests_that_can_be_repeated_count_where_that_is_asked_for() -> None:
    once, again = weak_tests(4), weak_tests(4, repeatable=True)
    assert size_of(once, 2, repeats=True) == size_of(once, 2)
    assert size_of(again, 2).nodes == 1
    assert size_of(again, 2, repeats=True).nodes == size_of(once, 2).nodes


def test_what_just_fits_is_planned_as_asked_and_else_with_what_fits() -> None:
    problem = weak_tests(6)
    agent = make_agent("efe", problem, planner="exact", horizon=2)
    size = size_of(problem, 2)
    first = next(fitting(problem, agent.planner, agent.objective, memory=size.bytes, work=size.work))
    assert (first.planner, first.words) == (agent.planner, "")
    assert with_planner(agent, first) is agent
    *_, last = fitting(problem, agent.planner, agent.objective, memory=size.bytes - 1)
    assert with_planner(agent, last).horizon == 1


def test_a_test_more_takes_of_every_node_what_the_graph_says() -> None:
    def node_bytes(problem: rhoplan.POMDP) -> float:
        return replace(size_of(problem, 2), menus=0.0, nodes=1.0).bytes

    few, many = weak_tests(10), weak_tests(60)
    assert node_bytes(many) - node_bytes(few) == Graph(many).node_bytes - Graph(few).node_bytes


@pytest.mark.parametrize(("tests", "horizon"), [(40, 3), (5, 2)])
def test_words_tell_how_many_situations_in_two_digits(tests: int, horizon: int) -> None:
    problem = weak_tests(tests)
    nodes = size_of(problem, horizon).nodes
    exact = make_agent("efe", problem, planner="exact", horizon=horizon)
    words = next(iter(fitting(problem, exact.planner, exact.objective, work=nodes))).words
    shown = f"{nodes:.1e}"
    assert f" {float(shown):,.0f} situations or more" in words

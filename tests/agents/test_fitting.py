"""The planner that is chosen if none is given, and the size of exact look-ahead that decides it."""

from dataclasses import replace

import numpy as np
import pytest

from rhoplan.agents.agent import make_agent
from rhoplan.agents.fitting import COSTS, Size, fitting, size_of
from rhoplan.graph.belief_graph import BeliefGraph
from weak import weak_tests

CHAIN = {k: (f"t{k - 1}",) for k in range(1, 30)}


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("rules", [{}, {"max_tests": 2}, {"budget": 4.0}, {"after": {1: ("t0",), 2: ("t0",)}}])
def test_count_is_the_size_of_the_graph_where_rules_are_few(horizon: int, rules: dict[str, object]) -> None:
    problem = weak_tests(6, **rules)
    graph = BeliefGraph(problem)
    layer = np.array([graph.root])
    for _ in range(horizon):
        graph.expand(layer)
        layer = graph.children(layer)
    counted, menus = size_of(problem, horizon), len(np.unique(graph.observable[: graph.size]))
    assert counted.menus >= menus
    assert counted.nodes >= graph.size
    if rules in ({}, {"max_tests": 2}):
        assert (counted.menus, counted.nodes) == (menus, graph.size)


def test_orders_are_counted_where_they_matter() -> None:
    free, chained = size_of(weak_tests(30), 3), size_of(weak_tests(30, after=CHAIN), 3)
    assert free.work > COSTS.quick > chained.work
    assert (chained.menus, chained.nodes) == (4, 15), "of a chain only its first tests can be run"


def test_tests_that_can_be_repeated_count_only_on_request() -> None:
    once, again = weak_tests(4), weak_tests(4, repeatable=True)
    assert size_of(once, 2, repeats=True) == size_of(once, 2)
    assert size_of(again, 2).nodes == 1
    assert size_of(again, 2, repeats=True).nodes == size_of(once, 2).nodes


@pytest.mark.parametrize("size", [Size(40.0, 9000.0, 7, 3, 12), Size(8.0, 16.0, 1, 2, 2), size_of(weak_tests(9), 3)])
def test_as_many_nodes_fit_into_memory_as_it_was_counted_for(size: Size) -> None:
    assert size.most_nodes(size.bytes) == pytest.approx(size.nodes, abs=1)
    assert size.most_nodes(3 * size.bytes) == pytest.approx(3 * size.nodes, abs=1)
    longer = replace(size, states=size.states + 1)
    assert longer.bytes - size.bytes == pytest.approx(size.nodes * np.dtype(float).itemsize)


def test_a_planner_is_chosen_and_a_note_says_so() -> None:
    small, large = weak_tests(8), weak_tests(40)
    assert make_agent("efe", small).planner.name == "exact"
    chosen = make_agent("efe", large)
    assert (chosen.planner.name, len(chosen.notes)) == ("many", 1)
    assert make_agent("efe", large, planner="exact").planner.name == "exact", "a planner asked for is used"
    assert make_agent("info-gain", large).planner.name == "exact", "one step is no work"
    assert make_agent("efe", weak_tests(12, repeatable=True)).planner.name == "exact"
    assert make_agent("efe", weak_tests(60, repeatable=True, states=5)).planner.name == "many"
    shorter = make_agent("epistemic-only", large, horizon=4)
    assert (shorter.planner.name, shorter.horizon, len(shorter.notes)) == ("exact", 2, 1)


def test_planners_are_tried_in_turn_within_memory_and_work() -> None:
    problem = weak_tests(60)
    agent = make_agent("efe", problem, planner="exact", horizon=3)
    first, *others = fitting(problem, agent.planner, agent.objective, memory=1e9)
    assert first.planner.name == "many"
    assert [fit.planner.horizon for fit in others] == [2, 1]
    roomy = next(fitting(problem, agent.planner, agent.objective, memory=1e12))
    assert (roomy.planner, roomy.words) == (agent.planner, "")
    problem = weak_tests(6)
    agent, size = make_agent("efe", problem, planner="exact", horizon=2), size_of(problem, 2)
    first = next(fitting(problem, agent.planner, agent.objective, memory=size.bytes, work=size.work))
    assert (first.planner, first.words) == (agent.planner, "")
    *_, last = fitting(problem, agent.planner, agent.objective, memory=size.bytes - 1)
    assert (last.planner.horizon, bool(last.words)) == (1, True)

"""Policies of versions as their acts: tests that repeat, results that cannot be, ties; beside the ordinary graph."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import rhoplan
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.batch import BatchLookahead, DecisionTree, ParameterBatch, PolicyActs
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.objective import Objective
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


def planned(problem: POMDP, weight: float, horizon: int) -> tuple[PolicyActs, float, float]:
    """The acts of the best policy for the stated numbers, their value, and the value on the belief graph."""
    batch = BatchLookahead(DecisionTree(problem, (), horizon), ParameterBatch.of(problem), weight=weight)
    graph, acts = BeliefGraph(problem), batch.acts()
    value = LookaheadOnGraph(graph, Objective(weight).for_problem(problem), horizon).value(np.array([graph.root]))[0]
    return acts, float(batch.value_of(acts, weight=weight)[0, 0]), float(value)


@pytest.mark.parametrize("weight", [0.0, 5.0])
def test_a_plan_that_repeats_a_test_comes_to_a_finding_in_several_ways(weight: float) -> None:
    acts, worth, value = planned(make("tiger"), weight, 5)
    assert acts.paths.max() > 1
    assert worth == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("weight", [0.0, 3.0, 30.0])
def test_results_that_cannot_be_tell_nothing(weight: float) -> None:
    acts, worth, value = planned(parse_model(SURE), weight, 2)
    assert (acts.terminal < 0).any()
    assert worth == pytest.approx(value, rel=1e-10)


def test_a_plan_ends_where_that_is_as_good_as_to_go_on() -> None:
    acts, worth, value = planned(parse_model(IDLE), 0.0, 3)
    assert acts.arc.tolist() == [0]
    assert acts.terminal.tolist() == [0]
    assert worth == value == -20.0


def test_without_tests_the_best_terminal_action_is_taken() -> None:
    problem = rhoplan.DiagnosticProblem(("a", "b"), decisions=(rhoplan.Decision("go", np.array([1.0, -3.0])),))
    acts, worth, value = planned(problem, 1.0, 3)
    assert acts.terminal.tolist() == [0]
    assert worth == value == -1.0


def test_evidence_that_makes_certain_keeps_its_own_mass() -> None:
    """After `grave` is certain, a further test has two outcomes: each has a part of the mass, not all of it."""
    text = SURE.replace("grave: [0, 1]", "grave: [0.3, 0.7]")
    problem = parse_model(text)
    tree = DecisionTree(problem, (), 2)
    batch = BatchLookahead(tree, ParameterBatch.of(problem))
    total = batch.masses.sum(axis=-1)[0]
    for layer, below in pairwise(tree.layers):
        runs = tree.test[layer.arcs] >= 0
        assert (layer.after @ total[below.nodes])[runs] == pytest.approx(
            total[tree.arc_node[layer.arcs]][runs], abs=1e-15
        )

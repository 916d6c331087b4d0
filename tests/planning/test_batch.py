"""Look-ahead for many versions of a model at once, against look-ahead on the belief graph of each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import rhoplan
from rhoplan.advice.variations import parameters
from rhoplan.agents.agent import decide, make_agent
from rhoplan.errors import RhoplanError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.io.model_file import parse_model
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
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


# Versions of a model, each against the model on its own graph


def random_model(seed, *, budget=None, most_tests=None):
    """Two to four states, three tests with groups, waiting and repeats at random, zeros in some likelihoods."""
    draw = np.random.default_rng(seed)
    states = int(draw.integers(2, 5))

    def rows(outcomes):
        made = draw.dirichlet(np.ones(outcomes), size=states)
        if outcomes > 2 and draw.random() < 0.5:
            made[0, 0] = 0.0
        return made / made.sum(axis=1, keepdims=True)

    tests = []
    for number in range(3):
        outcomes = int(draw.integers(2, 4))
        waits = ("test-0",) if number == 2 and draw.random() < 0.5 else ()
        group = "shared" if draw.random() < 0.5 else ""
        tests.append(
            Test(
                f"test-{number}", float(draw.uniform(0.1, 2)), tuple(map(str, range(outcomes))), rows(outcomes),
                repeatable=bool(draw.random() < 0.3), group=group, after=waits,
            )
        )  # fmt: skip
    commits = [Decision(f"commit-{number}", draw.normal(0, 10, states)) for number in range(3)]
    groups = {"shared": float(draw.uniform(0.1, 2))} if any(test.group for test in tests) else {}
    return DiagnosticProblem(
        name=f"random {seed}", states=tuple(f"s{n}" for n in range(states)), tests=tests, decisions=commits,
        prior=draw.dirichlet(np.ones(states)), horizon=3, groups=groups, budget=budget, max_tests=most_tests,
    )  # fmt: skip


RULES = [{}, {"budget": 3.0}, {"most_tests": 2}, {"budget": 2.5, "most_tests": 3}]


def evidence(model, seed):
    """Nothing, or a test that may be run with an outcome that can happen."""
    draw = np.random.default_rng(seed)
    actions = [action for action in model.menu(model.start) if action.kind == "test"]
    if seed % 2 or not actions:
        return []
    action = actions[int(draw.integers(len(actions)))]
    chances = model.prior @ action.likelihood
    return [(action.name, action.outcomes[int(draw.choice(len(chances), p=chances))])]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_versions_have_the_values_of_models_on_their_own(seed, rules):
    model = random_model(seed, **rules)
    agent = make_agent("planning-ig", model, weight=0.7)
    given = evidence(model, seed)
    for prices in (False, True):
        tree = DecisionTree(model, given, agent.horizon, prices_vary=prices)
        changed = []
        for number, parameter in enumerate(parameters(model, agent)):
            is_price = parameter.kind in ("cost", "first-price")
            if parameter.kind != "weight" and (prices or not is_price or model.flat.budget is None):
                share = (0.3, 0.9)[(number + prices) % 2]  # each in one of the two layouts
                at = share if parameter.quantity == "probability" else parameter.value * share + 0.5
                changed.append(parameter.change(at)[0])
        batch = BatchLookahead(tree, ParameterBatch.stacked(changed), weight=agent.weight_per_nat)
        every, _ = batch.first_actions()
        for place, problem in enumerate(changed):
            try:
                actions = decide(problem, agent, problem.belief(given=given)).actions
            except RhoplanError:  # beyond the budget
                assert batch.mass[place] == 0
                continue
            assert batch.mass[place] > 0
            found = dict(zip(tree.names, every[place] / batch.mass[place], strict=True))
            possible = {name: value for name, value in found.items() if np.isfinite(value)}
            assert possible == pytest.approx({action.name: action.value for action in actions}, abs=1e-9)

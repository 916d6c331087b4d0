"""Warnings: each is there when it should be, and not otherwise; idle tests against a brute force over all evidence."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.cautions import cautions
from rhoplan.advice.idle import idle_tests
from rhoplan.agents.agent import make_agent
from rhoplan.api import evaluate
from rhoplan.errors import ProblemError
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.present.content import check_reportable
from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS, make
from serving import PATIENCE
from strategies import Limits, random_case


def test_of(name, cost, first, second, **rules):
    rows = np.array([[1 - first, first], [1 - second, second]])
    return Test(name, cost, ("no", "yes"), rows, repeatable=False, **rules)


test_of.__test__ = False

COMMITS = (Decision("leave", np.array([0.0, -100.0])), Decision("treat", np.array([-20.0, 0.0])))
SHARP, BLUNT = test_of("sharp", 5, 0.05, 0.9), test_of("blunt", 1, 0.5, 0.52)


def problem_of(*tests, commits=COMMITS, prior=(0.8, 0.2), **settings):
    return DiagnosticProblem(
        name="small", states=("well", "ill"), tests=tests, decisions=commits, prior=np.array(prior), **settings
    )


def found(problem, name="efe", **settings):
    return {(one.kind, one.about): one.text for one in cautions(problem, make_agent(name, problem, **settings))}


def test_a_weight_that_changes_nothing_is_inert():
    assert ("inert weight", "") in found(problem_of(SHARP, BLUNT))
    assert ("inert weight", "") not in found(problem_of(SHARP, BLUNT), "planning"), "there is no weight to speak of"
    heavy = found(problem_of(SHARP, BLUNT), "planning-ig", weight=1e5)
    assert ("inert weight", "") not in heavy
    assert {("dominant weight", ""), ("cost-only better", "")} <= set(heavy)


def test_a_better_cost_only_plan_is_told_with_its_size():
    problem = make("testbed")
    text = found(problem)["cost-only better", ""]
    asked = evaluate(problem, make_agent("efe", problem)).reward
    best = evaluate(problem, make_agent("planning", problem, horizon=6)).reward
    assert best - asked == pytest.approx(0.10857, abs=1e-5)
    assert "better by 0.109 points" in text
    assert ("cost-only better", "") not in found(problem, "planning", horizon=6)


def test_a_horizon_is_short_where_a_deeper_plan_differs():
    assert ("short horizon", "") in found(make("chest-pain"), horizon=2)
    assert ("short horizon", "") not in found(make("chest-pain"), "planning", horizon=5)


def test_a_deeper_plan_that_could_not_be_computed_is_told():
    problem = make("chest-pain")
    told = {one.kind for one in cautions(problem, make_agent("efe", problem, horizon=2), seconds=-1.0)}
    assert "horizon not checked" in told


def test_a_test_that_cannot_change_the_decision_is_idle():
    kinds = found(problem_of(SHARP, BLUNT), "planning")
    assert "whatever other tests show" in kinds["idle test", "blunt"]
    assert not {kind for kind, about in kinds if about == "sharp"}


def test_an_idle_test_that_is_run_all_the_same_is_told():
    text = found(problem_of(SHARP, BLUNT), "planning-ig", weight=1e5)["idle test", "blunt"]
    assert "runs it all the same" in text
    assert "runs it all the same" not in found(problem_of(SHARP, BLUNT))["idle test", "blunt"]


def test_a_test_that_is_only_too_dear_is_unused_and_not_idle():
    kinds = found(problem_of(SHARP, test_of("dear", 19, 0.02, 0.97)), "planning")
    assert ("unused test", "dear") in kinds
    assert ("idle test", "dear") not in kinds


def test_a_test_that_costs_more_than_could_be_saved_is_told_once():
    kinds = found(problem_of(SHARP, test_of("dear", 90, 0.02, 0.97)), "planning")
    assert [kind for kind, test in kinds if test == "dear"] == ["dear test"]


def test_a_test_that_changes_the_decision_only_after_another_is_not_idle():
    """From the prior neither result of `weak` changes what is best; after `sharp` one of them does."""
    weak, helper = test_of("weak", 1, 0.35, 0.65), test_of("helper", 1, 0.2, 0.8)
    problem = problem_of(weak, helper, prior=(0.95, 0.05))
    now = Graph(problem)
    now.expand(np.array([now.root]))
    assert len({int(now.stop_action[node]) for node in (now.root, *now.next[now.root, 0])}) == 1
    kinds = found(problem, "planning")
    assert ("idle test", "weak") not in kinds


def test_a_test_that_the_rules_never_let_run_is_barred():
    problem = problem_of(BLUNT, SHARP, test_of("later", 1, 0.1, 0.9, after=("sharp",)), budget=3.0)
    kinds = found(problem, "planning")
    assert ("barred test", "sharp") in kinds
    assert ("barred test", "later") in kinds
    assert ("barred test", "blunt") not in kinds


def test_an_idle_test_can_still_choose_what_to_test_next():
    """No result of `sort` changes the best commit after any evidence, and yet the best plan runs it: it tells for whom
    the dear test pays. So nothing is said of such a test but that it cannot change the decision."""
    sort, dear = test_of("sort", 0.01, 0.3, 0.7), test_of("dear", 4.0, 0.001, 0.999)
    problem = problem_of(sort, dear, prior=(0.93, 0.07), commits=COMMITS)
    plan = GraphPolicy(graph := Graph(problem), make_agent("planning", problem, horizon=2))
    plan.settle(np.array([graph.root]))
    first = graph.menus[graph.observable[graph.root]].going[int(plan.choice[graph.root])].name
    assert first == "sort"
    assert "runs it all the same" in found(problem, "planning", horizon=2)["idle test", "sort"]


@pytest.mark.parametrize("seed", range(40))
def test_idle_tests_are_those_that_a_brute_force_over_all_evidence_finds(seed):
    problem = random_case(seed, Limits(states=3, tests=4, outcomes=3, once="all")).problem
    tests = problem.flat.tests
    payoff = np.stack([commit.reward for commit in problem.flat.commits], axis=1)
    able = set()
    for test in tests:
        others = [other for other in tests if other is not test]
        for results in itertools.product(*(range(-1, len(other.outcomes)) for other in others)):
            joint = problem.prior.copy()
            for other, result in zip(others, results, strict=True):
                joint = joint * (other.likelihood[:, result] if result >= 0 else 1.0)
            if joint.sum() <= 0:
                continue
            best = int((joint @ payoff).argmax())
            for column in range(len(test.outcomes)):
                after = joint * test.likelihood[:, column]
                if after.sum() > 0:
                    worth = (after / after.sum()) @ payoff
                    if worth.max() - worth[best] > 1e-9:
                        able.add(test.name)
    idle = idle_tests(Graph(problem, node_limit=100_000), most_tests=len(tests), seconds=PATIENCE)
    assert set(idle.powerless) == {test.name for test in tests} - able
    assert not idle.unclear


def test_what_was_not_examined_is_not_called_idle():
    idle = idle_tests(Graph(problem_of(SHARP, BLUNT), node_limit=2), most_tests=2, seconds=PATIENCE)
    assert idle.powerless == ()
    assert "blunt" in idle.unclear


def test_no_flat_problem_has_a_test_that_changes_the_state():
    """Where such tests are excluded: the flat menu has no place for a transition, and so no model file has."""
    for name in (*WORKED_MODELS, "tiger", "diagnosis"):
        problem = make(name)
        assert all(action.preserves_hidden_state for action in problem.menu(problem.start))


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in ("bandit", "diagnosis", "testbed", "tiger")])
def test_problems_that_are_not_flat_are_refused_in_a_sentence(name):
    problem = make(name)
    if problem.listed is not None:
        check_reportable(problem)
        return
    with pytest.raises(ProblemError, match="a report needs tests that leave one hidden state alone") as refused:
        check_reportable(problem)
    assert ("changes what it measures" in str(refused.value)) == (name == "drilling")

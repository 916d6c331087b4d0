"""The recommended pathway: its leaves add up to the whole, it follows the policy, and it can be read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from rhoplan._old.followed import Followed
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.outlay import look_ahead
from rhoplan.advice.pathway import Leaf, Step, pathway, totals
from rhoplan.agents.agent import decide, make_agent
from rhoplan.api import evaluate
from rhoplan.errors import AgentError, ProblemError
from rhoplan.io.model_file import parse_model
from rhoplan.present.drawing import Drawing
from rhoplan.present.telling import as_mermaid, as_text
from rhoplan.problems.registry import WORKED_MODELS, make

MODELS = [*WORKED_MODELS, "tiger", "diagnosis", "bandit"]


def drawn(name, agent="efe", **settings):
    problem = make(name)
    return pathway(problem, make_agent(agent, problem), **settings)


@pytest.mark.parametrize("name", MODELS)
def test_leaves_add_up_to_what_is_expected(name):
    problem = make(name)
    agent = make_agent("efe", problem)
    found = pathway(problem, agent)
    leaves, ahead, score = found.leaves, found.ahead, evaluate(problem, agent)
    assert sum(leaf.share for leaf in leaves) == pytest.approx(1, abs=1e-9)
    for what in ("tests", "cost", "reward", "right"):
        total = sum(leaf.share * getattr(leaf, what) for leaf in leaves)
        assert total == pytest.approx(getattr(ahead, what), abs=1e-6)
    assert ahead.reward == pytest.approx(score.reward, abs=1e-6)
    assert ahead.tests == pytest.approx(score.tests, abs=1e-6)
    assert ahead.right == pytest.approx(score.success, abs=1e-9)


@pytest.mark.parametrize("smallest", [0.5, 0.05, 1e-4])
def test_folding_loses_nothing(smallest):
    found = drawn("printer", smallest=smallest)
    assert sum(leaf.share for leaf in found.leaves) == pytest.approx(1, abs=1e-9)
    total = sum(leaf.share * leaf.reward for leaf in found.leaves)
    assert total == pytest.approx(found.ahead.reward, abs=1e-9)


def test_a_cap_on_nodes_folds_the_rest():
    found = drawn("leak-search", most_nodes=9)
    assert len(found.nodes) <= 9
    assert "goes on" in {leaf.kind for leaf in found.leaves}
    assert sum(leaf.share * leaf.cost for leaf in found.leaves) == pytest.approx(found.ahead.cost, abs=1e-9)


def test_a_folded_branch_counts_the_situations_in_which_its_cases_end():
    problem = make("printer")
    agent = make_agent("efe", problem)
    found = pathway(problem, agent, smallest=0.2)

    def ends(seen):
        choice = decide(problem, agent, problem.belief(given=seen)).choice
        test = next((one for one in problem.flat.tests if one.name == choice), None)
        if test is None:
            return {frozenset(seen)}
        return set().union(*(ends([*seen, (choice, outcome)]) for outcome in test.outcomes))

    def check(node, seen):
        for outcome in node.outcomes if isinstance(node, Step) else ():
            check(outcome.child, [*seen, (node.action, outcome.outcome)])
        if isinstance(node, Leaf):
            assert node.ends == (len(ends(seen)) if node.is_folded else 1)

    check(found.root, [])
    folded = [leaf for leaf in found.leaves if leaf.is_folded]
    assert found.folded.branches == len(folded) > 1
    assert found.folded.ends == sum(leaf.ends for leaf in folded) > len(folded)


@pytest.mark.parametrize("smallest", [0.5, 0.05, 1e-9])
def test_what_is_folded_and_what_is_drawn_add_up(smallest):
    found = drawn("leak-search", smallest=smallest)
    rest = [leaf for leaf in found.leaves if not leaf.is_folded]
    assert (found.folded is None) == (smallest < 1e-8)
    for what in ("tests", "cost", "right"):
        total = sum(leaf.share * getattr(leaf, what) for leaf in rest)
        total += found.folded.share * getattr(found.folded, what) if found.folded else 0.0
        assert total == pytest.approx(getattr(found.ahead, what), abs=1e-9)
    loss = sum(leaf.share * leaf.loss for leaf in rest)
    loss += found.folded.share * found.folded.loss if found.folded else 0.0
    assert -loss - found.ahead.cost == pytest.approx(found.ahead.reward, abs=1e-9)


@pytest.mark.parametrize("name", ["screening-cascade", "four-diseases"])
def test_every_step_is_what_the_policy_decides(name):
    problem = make(name)
    agent = make_agent("efe", problem)

    def check(node, seen):
        assert decide(problem, agent, problem.belief(given=seen)).choice == node.action
        for outcome in node.outcomes if isinstance(node, Step) else ():
            check(outcome.child, [*seen, (node.action, outcome.outcome)])

    check(pathway(problem, agent).root, [])


def test_a_repeat_leads_back_to_the_step_it_repeats():
    found = drawn("tiger")
    repeats = [leaf for leaf in found.leaves if leaf.back_to is not None]
    beliefs = {node.number: node.belief for node in found.nodes}
    assert repeats
    for leaf in repeats:
        assert leaf.belief == pytest.approx(beliefs[leaf.back_to])


@pytest.mark.parametrize("name", ["diagnosis", "bandit"])
def test_no_situation_is_drawn_twice(name):
    found = drawn(name)
    beliefs = [
        tuple(round(share, 9) for share in node.belief.values()) for node in found.nodes if isinstance(node, Step)
    ]
    assert len(set(beliefs)) == len(beliefs)
    by_number = {node.number: node for node in found.nodes}
    for leaf in found.leaves:
        if leaf.back_to is not None:
            assert by_number[leaf.back_to].action == leaf.action


@pytest.mark.parametrize("name", ["tiger", "printer"])
def test_totals_of_many_places_are_those_of_each(name):
    problem = make(name)
    graph = Graph(problem)
    policy = GraphPolicy(graph, make_agent("efe", problem))
    nodes = [graph.root]
    policy.settle(np.array(nodes))
    slot = int(policy.choice[graph.root])
    nodes += [int(node) for node in graph.next[graph.root, slot] if node >= 0]
    places = [(node, left) for node in nodes for left in (0, 1, 3, problem.cap)]
    found = totals(policy, places)
    for node, left in places:
        one, other = found[node, left], look_ahead(Followed(policy, node, cap=left))
        for what in ("tests", "cost", "reward", "right", "cut"):
            assert getattr(one, what) == pytest.approx(getattr(other, what), abs=1e-8), (what, left)
        assert one.commits == pytest.approx(other.commits, abs=1e-9)


def test_numbers_go_up_from_one_in_reading_order():
    found = drawn("printer")
    assert [node.number for node in found.nodes] == list(range(1, len(found.nodes) + 1))


def test_evidence_moves_the_start_and_is_paid_for():
    found = drawn("screening-cascade", given=[("strip", "positive")])
    assert found.root.action == "lab-assay"
    assert found.spent == 4
    assert found.root.share == 1


def test_an_unavailable_test_is_not_on_the_pathway():
    found = drawn("four-diseases", unavailable=["listen-to-chest"])
    used = {node.action for node in found.nodes if isinstance(node, Step)}
    assert used
    assert not used & {"listen-to-chest", "x-ray"}, "the x-ray waits for what cannot be had"


def test_a_model_without_worthwhile_tests_is_one_leaf():
    found = drawn("screening-cascade", unavailable=["strip"])
    assert isinstance(found.root, Leaf)
    assert found.root.share == 1
    assert found.root.cost == 0


@pytest.mark.parametrize("name", ["tiger", "chest-pain"])
def test_all_forms_name_every_step(name):
    found = drawn(name)
    text, mermaid, svg = as_text(found), as_mermaid(found), Drawing(found).svg()
    json.dumps(found.as_dict(), allow_nan=False)
    ElementTree.fromstring(svg)
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    for node in found.nodes:
        assert f"{node.number}. " in text
        assert f"  n{node.number}" in mermaid


def test_agents_that_sample_and_problems_that_are_not_flat_are_refused():
    tiger = make("tiger")
    with pytest.raises(AgentError, match="always does the same"):
        pathway(tiger, make_agent("efe", tiger, planner="mcts"))
    with pytest.raises(AgentError, match="always does the same"):
        pathway(tiger, make_agent("efe", tiger, precision=1.0))
    rocks = make("rocksample")
    with pytest.raises(ProblemError, match="observe-then-commit"):
        pathway(rocks, make_agent("efe", rocks, planner="exact"))


def test_a_cost_is_listed_once_however_its_belief_rounds():
    """Thirds do not add up to 1 in floats: the mean of a price over such a belief is not the price."""
    text = """
    states: [a, b, c]
    prior: [0.3333333333333333, 0.3333333333333333, 0.3333333333333334]
    tests:
      first: {cost: 0.3, outcomes: [no, yes], likelihood: {a: [0.9, 0.1], b: [0.3, 0.7], c: [0.2, 0.8]}}
      second: {cost: 0.7, outcomes: [no, yes], likelihood: {a: [0.6, 0.4], b: [0.1, 0.9], c: [0.9, 0.1]}}
      third: {cost: 1.1, outcomes: [no, yes], likelihood: {a: [0.1, 0.9], b: [0.7, 0.3], c: [0.3, 0.7]}}
    losses: {a: [0, 90, 90], b: [90, 0, 90], c: [90, 90, 0]}
    """
    problem = parse_model(text)
    found = pathway(problem, make_agent("efe", problem)).ahead.by_cost
    assert {cost for cost, _ in found} <= {0.0, 0.3, 0.7, 1.1, 1.0, 1.4, 1.8, 2.1}

"""Every arc of the merged graph is what Bayes' rule says, whichever way its posterior was looked up."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan._old.exact import Plan
from rhoplan._old.graph import ENDED, Graph
from rhoplan._old.menu import BYTES_PER_ARC, nodes_within
from rhoplan._old.table import BeliefTable
from rhoplan.belief.information import update
from rhoplan.planning.utility import Information


@pytest.mark.parametrize(
    ("spec", "depth"),
    [
        ("navigation:n=5", 6),
        ("navigation:n=3", 6),
        ("rocksample:n=5,k=3", 5),
        ("inspection:n=8", 5),
        ("bandit", 7),
        ("tileworld:n=4,partition=overlapping", 4),
        ("diagnosis:n=8", 8),
    ],
)
def test_arcs_lead_to_the_posterior(spec: str, depth: int) -> None:
    graph = Graph(rhoplan.make(spec))
    Plan(graph, Information(1.0)).values(np.array([graph.root]), depth)
    checked = 0
    for visible, menu in enumerate(graph.menus):
        nodes = np.flatnonzero(graph.visible[: graph.size] == visible)
        for slot, action in enumerate(menu.going):
            known = nodes[graph.known[nodes, slot]]
            probability, posterior = update(graph.beliefs(known, action.factor), action)
            for outcome in range(len(action.outcomes)):
                assert graph.probability[known, slot, outcome] == pytest.approx(probability[:, outcome], abs=1e-14)
                going = graph.next[known, slot, outcome] > ENDED
                after = graph.next[known[going], slot, outcome].astype(np.int64)
                # Merged beliefs agree to 32 significant bits; underflow to zero is not merged away.
                held = graph.beliefs(after, action.factor)
                assert np.allclose(held, posterior[going, outcome], rtol=1e-8, atol=0)
                others = [f for f in range(len(graph.tables)) if f != action.factor]
                assert np.array_equal(graph.belief[after][:, others], graph.belief[known[going]][:, others])
                assert all(graph.visibles[v] == action.leads_to[outcome] for v in graph.visible[after])
                checked += len(after)
    assert checked > 500


def test_evidence_tokens_have_no_small_relations() -> None:
    """Sums of up to two tokens differ: tokens that were mixed counters failed this, and wrong beliefs met."""
    table = BeliefTable()
    columns = np.random.default_rng(1).random((800, 3))
    columns[::2, 0] = 0.0
    tokens = np.array([table._token(column) for column in columns], dtype=np.uint64)
    pairs = (tokens[:, None] + tokens[None, :])[np.triu_indices(len(tokens))]
    sums = np.concatenate([tokens, pairs])
    assert all(len(np.unique(sums[:, lane])) == len(sums) for lane in range(2))


@pytest.mark.parametrize("spec", ["tiger", "chest-pain", "four-diseases"])
def test_a_node_is_said_to_take_what_its_arrays_take(spec: str) -> None:
    graph = Graph(rhoplan.make(spec))
    arcs = (graph.next, graph.probability, graph.reward, graph.information, graph.known)
    belief = 2 * graph.tables[0].beliefs[0].nbytes
    assert graph.node_bytes == sum(array[graph.root].nbytes for array in arcs) + belief


def test_graphs_of_wider_menus_hold_fewer_situations() -> None:
    problem = rhoplan.make("four-diseases")
    _, actions, outcomes = Graph(problem).next.shape
    assert min(actions, outcomes) > 1
    assert nodes_within(problem, 5000 * BYTES_PER_ARC * actions * outcomes) == 5000
    assert nodes_within(problem, 1.0) == 1000

"""What an action gains, its losses left out: what rounding is measured by, and what is at stake."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.graph.graph import Graph
from rhoplan.model.pomdp import END, Action, Factor, FixedMenu, Problem


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A game whose bet pays by state, gains and losses alike, beside a price that is the same in all."""
    one = np.ones((3, 1))
    menu = FixedMenu((
        Action("bet", np.array([6.0, -9.0, 2.0]), np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]), ("won", "lost"),
               ("table", "table")),
        Action("ask", np.full(3, -0.5), np.array([[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]]), ("yes", "no"),
               ("table", "table")),
        Action("leave", np.array([-1.0, 3.0, -2.0]), one, ("gone",), (END,)),
        Action("sell", np.array([4.0, -8.0, 1.0]), one, ("sold",), (END,)),
    ))  # fmt: skip
    factors = (Factor("luck", ("good", "bad", "odd"), np.array([0.5, 0.3, 0.2])),)
    graph = Graph(Problem("game", factors, "table", menu, horizon=3))
    graph.expand(np.array([graph.root]))
    graph.expand(np.arange(graph.size))
    return graph


def test_gains_leave_out_the_states_that_lose(graph: Graph) -> None:
    for node in np.flatnonzero(graph.known.any(axis=1)).tolist():
        belief = graph.beliefs(np.array([node]), 0)[0]
        going = dict(zip(("bet", "ask"), graph.going_gains(np.array([node]))[0], strict=False))
        assert going["bet"] == pytest.approx(belief @ [6.0, 0.0, 2.0])
        assert going["ask"] == 0.0
        visible = int(graph.visible[node])
        assert graph.ending_gains(np.array([node]), visible)[0] == pytest.approx(belief @ [[0, 4], [3, 0], [0, 1]])
        assert graph.ending_rewards(np.array([node]), visible)[0] == pytest.approx(belief @ [[-1, 4], [3, -8], [-2, 1]])


def test_stopping_gains_what_the_best_ending_does(graph: Graph) -> None:
    nodes = np.arange(graph.size)
    beliefs = graph.beliefs(nodes, 0)
    worth, gains = beliefs @ np.array([[-1, 4], [3, -8], [-2, 1]]), beliefs @ np.array([[0, 4], [3, 0], [0, 1]])
    best = np.argmax(worth, axis=1)
    assert {0, 1} == set(best.tolist())
    assert graph.stop_action[nodes].tolist() == best.tolist()
    assert graph.stop_gains(nodes) == pytest.approx(gains[nodes, best])

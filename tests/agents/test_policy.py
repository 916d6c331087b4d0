"""What a policy does where committing counts nothing: the best commit is taken all the same, and no money is counted."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.policy import Policy
from rhoplan.graph.graph import Graph

TIGER = rhoplan.make("tiger")


def test_of_commits_that_count_nothing_only_the_best_is_taken() -> None:
    """Without a commit a test is worth 1 less than ending; precision 2 takes it exp(2) times less often."""
    graph = Graph(TIGER)
    agent = rhoplan.make_agent("epistemic-only", TIGER, weight=0.0, horizon=1, precision=2.0)
    heard = graph.node(rhoplan.observe_all(TIGER, [("listen", "hear-left")]))
    ending, going = Policy(graph, agent).probabilities(np.array([heard]))
    ends = 1 / (1 + np.exp(-2.0))
    assert ending[0] == pytest.approx([0.0, ends])  # the tiger is on the left
    assert going[0] == pytest.approx([1 - ends])


def test_commits_that_count_nothing_are_no_turnover() -> None:
    decision = rhoplan.decide(TIGER, rhoplan.make_agent("epistemic-only", TIGER, weight=0.0))
    assert (decision.choice, decision.turnover) == ("open-left", 0.0)
    assert rhoplan.decide(TIGER, rhoplan.make_agent("planning", TIGER)).turnover > 0

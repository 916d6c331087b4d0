"""A plan followed once against the plainest recursion there is: case by case, result by result."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import Followed, Graph, GraphPolicy, entropy, make_agent
from weak import weak_tests

PROBLEMS = {
    "weak": weak_tests(5, states=3, seed=2),
    "tiger": rhoplan.make("tiger"),
    "chest-pain": rhoplan.make("chest-pain"),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("cap", [1, 3, 4])
def test_what_cases_come_to_is_what_one_counts_case_by_case(name: str, cap: int) -> None:
    problem = PROBLEMS[name]
    graph = Graph(problem)
    policy = GraphPolicy(graph, make_agent("planning-ig", problem, weight=5.0, horizon=2, planner="exact"))
    ends = np.zeros((len(problem.flat.commits), len(problem.states)))
    stops: dict[int, float] = defaultdict(float)
    met: dict[int, float] = defaultdict(float)
    done: dict[int, int] = {}
    spent: dict[Fraction, float] = defaultdict(float)
    commits = [commit.name for commit in problem.flat.commits]

    def follow(situation: Any, share: float, paid: Fraction, left: int) -> float:
        """The information, in nats, of what is done from here on; everything else is noted."""
        if not left:
            return 0.0
        node = graph.node(situation)
        action = policy.action(node)
        menu = graph.menus[graph.observable[node]]
        spent[paid] += share
        met[node] = max(met[node], share)
        if action.name in commits:
            ends[commits.index(action.name)] += share * situation.beliefs[0]
            stops[node] += share
            done[node] = -1 - [one.name for one in menu.ending].index(action.name)
            return 0.0
        done[node] = [one.name for one in menu.going].index(action.name)
        chances = situation.beliefs[0] @ action.likelihood
        total = share * float(entropy(situation.beliefs[0]))
        for outcome, chance in zip(action.outcomes, chances.tolist(), strict=True):
            if chance > 0:
                after = situation.update(action.name, outcome)
                total -= share * chance * float(entropy(after.beliefs[0]))
                price = Fraction(str(-float(action.reward[0])))
                total += follow(after, share * chance, paid + price, left - 1)
        return total

    information = follow(problem.belief(), 1.0, Fraction(0), cap)
    found = Followed(policy, cap=cap)
    assert found.first == policy.action(graph.root).name
    assert found.stops == pytest.approx(dict(stops))
    assert found.ends == pytest.approx(ends)
    assert found.information == pytest.approx(information, abs=1e-9)
    chosen = found.choices(0.0)
    assert {node: chosen[node] for node in done} == done
    often = found.choices(0.2)
    assert {node: chosen[node] for node in often} == often
    assert {node for node in done if met[node] >= 0.2} <= often.keys()
    shares: dict[float, float] = defaultdict(float)
    for layer in found.layers:
        if not layer.is_cut:
            for label, mass in zip(layer.label.tolist(), layer.mass.tolist(), strict=True):
                shares[found.amounts[label]] += mass
    assert dict(shares) == pytest.approx({float(amount): share for amount, share in spent.items()})

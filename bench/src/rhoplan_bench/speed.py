"""How fast rhoplan is, measured in one run on the machine at hand, with the plain recursion as the yardstick.

`plain_value` is the paper's recursion as one would write it down: a tree of beliefs, no merging. It is the baseline of
the ratios and nothing else uses it. Limits are the project's own promises on a two-core machine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.agents.agent import AGENTS, make_agent
from rhoplan.api import evaluate, simulate
from rhoplan.belief_math.information import entropy
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.utility import Information
from rhoplan.problems.registry import make
from rhoplan_bench.factored import factored_rows
from rhoplan_bench.promises import compiled_rows, promise_rows, row, timed, uncertain_row

SMALL = ("tiger", "testbed", "diagnosis", "bandit")


def run_benchmarks(*, quick: bool = False) -> Iterator[dict[str, Any]]:
    """One row per measurement: what, seconds, limit (None where none is promised), ratio to the plain recursion."""
    yield row("evaluate all six agents on tiger, testbed, diagnosis and bandit", 2.0, _evaluate_small)
    command = [sys.executable, "-m", "rhoplan", "evaluate", "tiger"]
    yield row(
        "`rhoplan evaluate tiger` as a process", 1.0, lambda: subprocess.run(command, capture_output=True, check=True)
    )
    for spec, horizon, feasible in (("tiger", 40, 16), ("diagnosis", 20, 8), ("bandit", 8, 5), ("tileworld", 4, 4)):
        yield _planning_row(spec, horizon, feasible)
    for agent in ("efe", "planning"):
        problem = make("tileworld")
        chosen = make_agent(agent, problem, unit="bits")
        yield row(f"evaluate {agent} on tileworld 6x6, H=2", 10.0, partial(evaluate, problem, chosen))
    yield row("100,000 tiger episodes, published streams, one process", 10.0, _simulate_tiger)
    yield from promise_rows()
    if not quick:
        yield uncertain_row()
        yield from compiled_rows()
        yield from factored_rows()
        yield _solve_row("tileworld:n=6", 60.0)
        yield _solve_row("tileworld:n=8", 180.0)


def plain_value(problem: POMDP, belief: Array, depth: int, weight: float) -> float:
    """V_depth(belief) by the plain tree recursion on a flat problem whose tests may all be repeated."""
    best = max(float(belief @ commit.reward) for commit in problem.flat.commits)
    if depth == 0:
        return best
    before = float(entropy(belief))
    for test in problem.flat.tests:
        value, after = -test.cost, 0.0
        for outcome in range(len(test.outcomes)):
            joint = belief * test.likelihood[:, outcome]
            probability = float(joint.sum())
            if probability > 0:
                posterior = joint / probability
                after += probability * float(entropy(posterior))
                value += probability * plain_value(problem, posterior, depth - 1, weight)
        best = max(best, value + weight * (before - after))
    return best


def _planning_row(spec: str, horizon: int, feasible: int) -> dict[str, Any]:
    """Time of planning at `horizon`, and the ratio to the plain recursion at the deepest horizon it can still do."""
    problem = make(spec)

    def merged(depth: int) -> float:
        graph = Graph(problem)
        return float(Plan(graph, Information(1.0)).values(np.array([graph.root]), depth)[0])

    slow, plain = timed(lambda: plain_value(problem, problem.prior, feasible, 1.0))
    fast, value = timed(lambda: merged(feasible))
    assert abs(plain - value) < 1e-9 * problem.reward_scale
    found = row(f"plan {spec} at H={horizon}", 1.0 if spec in ("tiger", "diagnosis") else None, lambda: merged(horizon))
    detail = f" at H={feasible} ({slow:.3f} s against {fast:.4f} s)"
    return {**found, "ratio": slow / fast, "detail": detail}


def _solve_row(spec: str, limit: float) -> dict[str, Any]:
    problem = make(spec)
    seconds, solution = timed(lambda: solve(problem, gap=1e-3))
    detail = f": between {solution.lower:.5f} and {solution.upper:.5f}, {solution.nodes:,} nodes"
    return {"what": f"solve {spec} to gap 1e-3", "seconds": seconds, "limit": limit, "ratio": None, "detail": detail}


def _evaluate_small() -> None:
    for spec in SMALL:
        problem = make(spec)
        for agent in AGENTS:
            evaluate(problem, make_agent(agent, problem, unit="bits"))


def _simulate_tiger() -> None:
    problem = make("tiger")
    simulate(problem, make_agent("efe", problem), seeds=(42,), episodes=100_000)

"""Whether a planner keeps the contract that evaluation and simulation rely on, tested on small problems.

A planner is a value. Its policies select available actions, the same one whenever the belief and the random numbers are
the same, with probabilities that sum to 1; and they leave the problem as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass, replace

import numpy as np

from rhoplan.agents.registry import PLANNERS
from rhoplan.errors import AgentError, NotAvailable
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, Ids, Observable
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import Policy
from rhoplan.planning.policy_file import digest_of_problem

MOST_BELIEFS = 25
"""Beliefs that are tested in each problem, those nearest to the initial one."""


def check_planner(planner: Planner, *, problems: Iterable[POMDP] | None = None) -> None:
    """Raise AgentError if `planner` breaks the contract of planners on `problems`, and say which part.

    problems: by default small ones with ties, tests that run once, observable states, and hidden states that change.
    Whether the choices are good is not checked: compare scores for that.
    """
    row = PLANNERS.get(planner.name)
    _require(bool(planner.name), planner, "have a name for records and logs", "it has none")
    _require(
        is_dataclass(planner) and replace(planner) == planner,
        planner, "be a value: a frozen dataclass that equals its copy", "it is not",
    )  # fmt: skip
    _require(
        row is None or row.samples == planner.samples,
        planner, "sample if and only if its row of PLANNERS says so", f"samples is {planner.samples}",
    )  # fmt: skip
    for problem in PROBLEMS if problems is None else problems:
        for objective in (None, Objective(1.0), Objective(discount=0.9)):
            before, where = digest_of_problem(problem), f"on '{problem.name}' with {objective or 'reward alone'}"
            _check_policy(planner, problem, objective, where)
            same = digest_of_problem(problem) == before
            _require(same, planner, "leave the problem as it is", f"{where} it changed its numbers")


def _check_policy(planner: Planner, problem: POMDP, objective: Objective | None, where: str) -> None:
    policy, again = planner.solve(problem, objective), planner.solve(problem, objective)
    what = f"{where} it returns {type(policy).__name__}"
    _require(isinstance(policy, Policy), planner, "return a Policy by `solve`", what)
    graph = BeliefGraph(problem)
    nodes = _nearest(graph)
    beliefs = [graph.situation(node) for node in nodes.tolist()]
    shares = [_shares(planner, policy, belief, where) for belief in beliefs]
    if policy.is_timed:
        return
    for belief in reversed(beliefs):
        one, other = policy.action(belief), again.action(belief)
        promise = "do the same at the same belief, whatever came before"
        _require(one == other, planner, promise, f"{where} it takes {one}, then {other}")
    if policy.samples:
        return
    on_graph: list[dict[str, float]] = [{} for _ in beliefs]
    for row, place, chance in zip(*policy.on(graph).choose(nodes), strict=True):
        on_graph[row][graph.action(int(nodes[row]), int(place)).name] = float(chance)
    for wanted, found in zip(shares, on_graph, strict=True):
        same = all(abs(found.get(name, 0.0) - share) <= RELATIVE_TOLERANCE for name, share in wanted.items())
        promise = "do the same on a graph as belief by belief"
        _require(same, planner, promise, f"{where} it takes {found} instead of {wanted}")


def _shares(planner: Planner, policy: Policy, belief: Belief, where: str) -> dict[str, float]:
    """The probability of each action at `belief`, if probabilities and values are of the available actions."""
    action, names = policy.action(belief), set(belief.actions)
    _require(action in names, planner, "select an available action", f"{where} it selects {action!r} at {belief}")
    shares = policy.probabilities(belief)
    is_whole = set(shares) == names and abs(sum(shares.values()) - 1) <= RELATIVE_TOLERANCE
    _require(is_whole, planner, "give every available action a probability, 1 in all", f"{where} it gives {shares}")
    is_best = policy.is_timed or shares[action] == max(shares.values())
    _require(is_best, planner, "select the most probable action", f"{where} it selects {action} of {shares}")
    try:
        valued = set(policy.action_values(belief))
    except NotAvailable:
        valued = names
    _require(valued == names, planner, "value every available action", f"{where} it values {', '.join(valued)}")
    return shares


def _require(holds: bool, planner: Planner, promise: str, found: str) -> None:
    if not holds:
        name = getattr(planner, "name", "?")
        raise AgentError(f"planner {name} must {promise}; {found}", code="planner-contract")


def _nearest(graph: BeliefGraph) -> Ids:
    """The nodes nearest to the initial one; nodes are numbered in the order in which they are found."""
    nodes = np.array([graph.root])
    while len(nodes) < MOST_BELIEFS:
        graph.expand(nodes)
        before, nodes = len(nodes), np.union1d(nodes, graph.children(nodes))
        if len(nodes) == before:
            break
    return nodes[:MOST_BELIEFS]


def _doors() -> POMDP:
    """Two doors, one of them bad, as in Tiger: a test that can be repeated, and two that run once and in order."""
    sides = ("bad-left", "bad-right")

    def right(accuracy: float) -> Array:
        return np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])

    tests = (
        Test("listen", 1.0, sides, right(0.85)),
        Test("knock", 0.5, ("dull", "bright"), right(0.7), repeatable=False),
        Test("lens", 1.0, sides, right(0.9), repeatable=False, after=("knock",)),
    )
    decisions = (Decision("left", np.array([10.0, -40.0])), Decision("right", np.array([-40.0, 10.0])))
    return DiagnosticProblem(name="doors", states=("right", "left"), tests=tests, decisions=decisions)


def _places() -> POMDP:
    """Two places: a machine that may break when it is inspected, and a lamp at a place without terminal action."""
    still, one, wears = np.zeros(2), np.ones((2, 1)), np.array([[0.9, 0.1], [0.0, 1.0]])
    look = np.array([[0.8, 0.2], [0.3, 0.7]])
    menus: dict[Observable, tuple[Action, ...]] = {
        "yard": (
            Action("look", still - 0.5, look, ("fine", "odd"), ("yard", "yard"), transition=wears),
            Action("to-road", still - 0.1, one, ("there",), ("road",)),
            Action("sell", np.array([6.0, -3.0]), one, ("sold",), (END,)),
        ),
        "road": (
            Action("peer", still - 0.2, look, ("light", "dark"), ("road", "road"), factor=1),
            Action("back", still - 0.1, one, ("there",), ("yard",)),
        ),
    }
    factors = (
        Factor("machine", ("whole", "broken"), np.array([0.7, 0.3])),
        Factor("lamp", ("on", "off"), np.array([0.5, 0.5])),
    )
    return POMDP("places", factors, "yard", menus.__getitem__, horizon=3)


PROBLEMS = (_doors(), _places())

"""Whether a planner keeps its promises on small problems: the contract that evaluation and simulation rely on.

A planner is a value; its policies select available actions, the same one whenever they are at the same belief with the
same random numbers, with probabilities that sum to 1 and values whose terms add up; and they leave the problem as it
is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass, replace

import numpy as np

from rhoplan.agents.registry import PLANNERS
from rhoplan.belief_math.transitions import numbers
from rhoplan.errors import AgentError, NotAvailable
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, Ids, Observable
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import Policy

MOST_BELIEFS = 25
"""Beliefs that are looked at in each problem, the nearest to the initial one first."""


def check_planner(planner: Planner, *, problems: Iterable[POMDP] | None = None) -> None:
    """Raise AgentError unless `planner` keeps its promises on `problems`, and say which one it breaks.

    problems: by default small ones with ties, tests that run once, places, and hidden states that change. Whether the
    choices are good is not checked: compare scores for that.
    """
    _check_value(planner)
    for problem in PROBLEMS if problems is None else problems:
        for objective in (None, Objective(1.0), Objective(discount=0.9)):
            before = _numbers(problem)
            _check_policy(planner, problem, objective, f"on '{problem.name}' with {objective or 'reward alone'}")
            if not all(np.array_equal(old, new) for old, new in zip(before, _numbers(problem), strict=True)):
                raise _broken(planner, "leave the problem as it is", f"on '{problem.name}' it changed its numbers")


def _check_value(planner: Planner) -> None:
    """It has a name, is a dataclass that equals its copy, and is what the registry says."""
    if not isinstance(getattr(planner, "name", None), str) or not planner.name:
        raise _broken(planner, "have a name that records and logs can call it by", "it has none")
    if not is_dataclass(planner) or replace(planner) != planner:
        raise _broken(planner, "be a value: a frozen dataclass that equals its copy", "it does not")
    row = PLANNERS.get(planner.name)
    if row is not None and row.samples != planner.samples:
        raise _broken(planner, "sample if and only if its row of PLANNERS says so", f"samples is {planner.samples}")


def _check_policy(planner: Planner, problem: POMDP, objective: Objective | None, where: str) -> None:
    policy = planner.solve(problem, objective)
    if not isinstance(policy, Policy):
        raise _broken(planner, "return a Policy by `solve`", f"{where} it returns {type(policy).__name__}")
    again = planner.solve(problem, objective)
    graph = BeliefGraph(problem)
    nodes = _reachable(graph)
    chosen = [_check_at(planner, policy, Belief(problem, graph.situation(node)), where) for node in nodes.tolist()]
    if policy.is_timed:
        return
    backwards = [again.action(Belief(problem, graph.situation(node))) for node in nodes[::-1].tolist()][::-1]
    for one, other in zip(chosen, backwards, strict=True):
        if one != other:
            promise = "do the same at the same belief, whatever was asked before"
            raise _broken(planner, promise, f"{where} it takes {one}, then {other}")
    if not policy.samples:
        _check_on_graph(planner, policy, graph, nodes, chosen, where)


def _check_at(planner: Planner, policy: Policy, belief: Belief, where: str) -> str:
    """The action at `belief`, if it is available and fits probabilities and values."""
    action = policy.action(belief)
    if action not in belief.actions:
        raise _broken(planner, "select an available action", f"{where} it selects {action!r} at {belief}")
    shares = policy.probabilities(belief)
    if set(shares) != set(belief.actions) or abs(sum(shares.values()) - 1) > RELATIVE_TOLERANCE:
        raise _broken(planner, "give every available action a probability, 1 in all", f"{where} it gives {shares}")
    if not policy.is_timed and shares[action] < max(shares.values()):
        raise _broken(planner, "select the most probable action", f"{where} it selects {action} of {shares}")
    try:
        values = policy.action_values(belief)
    except NotAvailable:
        return action
    if set(values) != set(belief.actions):
        raise _broken(planner, "value every available action", f"{where} it values {', '.join(values)}")
    return action


def _check_on_graph(
    planner: Planner, policy: Policy, graph: BeliefGraph, nodes: Ids, chosen: list[str], where: str
) -> None:
    """On a graph the policy does what it does belief by belief."""
    rows, places, chances = policy.on(graph).choose(nodes)
    if not np.allclose(np.bincount(rows, weights=chances, minlength=len(nodes)), 1.0):
        raise _broken(planner, "choose at every node of a graph", f"{where} probabilities do not sum to 1")
    best = {row: place for row, place, _ in sorted(zip(rows, places, chances, strict=True), key=lambda one: one[2])}
    for row, node in enumerate(nodes.tolist()):
        taken = graph.action(node, int(best[row])).name
        if taken != chosen[row]:
            promise = "do the same on a graph as belief by belief"
            raise _broken(planner, promise, f"{where} it takes {taken} instead of {chosen[row]}")


def _broken(planner: Planner, promise: str, found: str) -> AgentError:
    return AgentError(f"planner {getattr(planner, 'name', '?')} must {promise}; {found}", code="planner-contract")


def _reachable(graph: BeliefGraph) -> Ids:
    """Nodes nearest to the initial one, whatever is done."""
    found: dict[int, None] = {graph.root: None}
    layer = np.array([graph.root])
    while layer.size and len(found) < MOST_BELIEFS:
        graph.expand(layer)
        layer = np.array([node for node in graph.children(layer).tolist() if node not in found], dtype=np.int64)
        found |= dict.fromkeys(layer.tolist())
    return np.array(list(found)[:MOST_BELIEFS], dtype=np.int64)


def _numbers(problem: POMDP) -> list[Array]:
    """Copies of the numbers of `problem` within sight of the start."""

    def parts() -> Iterator[Array]:
        yield from (factor.prior for factor in problem.factors)
        for action in problem.menu(problem.start):
            yield from (action.reward, action.likelihood)
            if action.transition is not None:
                yield numbers(action.transition)

    return [np.array(part) for part in parts()]


def _doors(name: str, tests: tuple[Test, ...], *, pays: float = 10.0) -> POMDP:
    """Two doors, one of them bad, as Tiger has them."""
    commits = (Decision("left", np.array([pays, -4 * pays])), Decision("right", np.array([-4 * pays, pays])))
    return DiagnosticProblem(name=name, states=("right", "left"), tests=tests, decisions=commits)


def _places() -> POMDP:
    """A walk between two places: a machine that may break while it is looked at, a lamp, and a road without exit."""
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


def _sure(accuracy: float) -> Array:
    return np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])


PROBLEMS = (
    _doors("doors", (Test("listen", 1.0, ("bad-left", "bad-right"), _sure(0.85)),)),
    _doors(
        "once-and-after",
        (
            Test("knock", 0.5, ("dull", "bright"), _sure(0.7), repeatable=False),
            Test("lens", 1.0, ("bad-left", "bad-right"), _sure(0.9), repeatable=False, after=("knock",)),
        ),
    ),
    _places(),
)

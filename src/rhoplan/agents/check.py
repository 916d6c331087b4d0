"""Whether a planner keeps its promises: it is run through small problems, and told in a sentence which one it breaks.

The promises are those that everything above planners relies on: an allowed action always, the same choice in the same
situation where it says that it is fixed, the same choice for the same seed where it samples, the one tie rule, values
that belong to the choice, and problem, graph and planner left as they were.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass, replace

import numpy as np

from rhoplan.agents.agent import OnGraph
from rhoplan.agents.planners.external import ExternalPlanner
from rhoplan.agents.planners.planner import Chooser, GraphPlanner
from rhoplan.agents.registry import PLANNERS
from rhoplan.agents.settings import SETTINGS
from rhoplan.errors import AgentError
from rhoplan.graph.graph import Graph
from rhoplan.graph.ties import RELATIVE_TOLERANCE
from rhoplan.model.diagnostic import Commit, Test, observe_then_commit
from rhoplan.model.pomdp import END, Action, Array, Factor, Ids, Problem, Visible
from rhoplan.model.transitions import numbers
from rhoplan.planning.exact import Plan
from rhoplan.planning.objective import Objective
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import Policy

MOST_NODES = 40
"""Situations that are looked at in each problem, the nearest to the start first."""

OBJECTIVES = {
    "reward": Objective(),
    "reward and information": Objective(1.0),
    "discounted reward": Objective(discount=0.9),
    "information without commits": Objective(1.0, terminal_rewards=False),
}


def check_planner(planner: Planner | GraphPlanner, *, problems: Iterable[Problem] | None = None) -> None:
    """Raise AgentError, with the promise in plain words, unless `planner` keeps its promises on `problems`.

    problems: small ones of its own by default: tests that tie, tests that run once and wait, places and hidden states
    that change. Not covered: whether its choices are good; compare scores for that.
    """
    asked = PROBLEMS if problems is None else tuple(problems)
    if isinstance(planner, Planner):
        _check_named(planner)
        for problem in asked:
            _check_policy(planner, problem)
            own = planner.on_graph(problem) if isinstance(planner, OnGraph) else ExternalPlanner(planner=planner)
            _check_planner(own, [problem])
        return
    _check_planner(planner, asked)


def _check_planner(planner: GraphPlanner, problems: Iterable[Problem]) -> None:
    _check_value(planner)
    planner.check(OBJECTIVES["reward"])
    for problem in problems:
        for what, objective in OBJECTIVES.items():
            try:
                planner.check(objective)
            except AgentError:
                continue  # it said so beforehand, as it should
            _check_on(planner, problem, objective, f"on '{problem.name}' for {what}")
    if planner.plans and planner.is_fixed:
        for problem, expected in TIES:
            _check_tie(planner, problem, expected)


def _check_policy(planner: Planner, problem: Problem) -> None:
    """`solve` gives a policy that reads beliefs as it should, and whose probabilities sum to 1."""
    where = f"on '{problem.name}'"
    policy = planner.solve(problem, None)
    if not isinstance(policy, Policy):
        raise _broken(planner, "return a Policy by `solve`", f"{where} it returns {type(policy).__name__}")
    belief = problem.belief()
    if policy.action(belief) not in belief.actions:
        raise _broken(planner, "select an available action", f"{where} it selects {policy.action(belief)!r}")
    shares = policy.probabilities(belief)
    if set(shares) != set(belief.actions) or abs(sum(shares.values()) - 1) > RELATIVE_TOLERANCE:
        raise _broken(planner, "give every available action a probability, 1 in all", f"{where} it gives {shares}")


def _broken(planner: Planner | GraphPlanner, promise: str, came: str) -> AgentError:
    return AgentError(f"planner {getattr(planner, 'name', '?')} must {promise}; {came}", code="planner-contract")


def _check_named(planner: Planner | GraphPlanner) -> None:
    """It has a name, and is a dataclass that equals its copy."""
    if not isinstance(getattr(planner, "name", None), str) or not planner.name:
        raise _broken(planner, "have a name that records and logs can call it by", "it has none")
    if not is_dataclass(planner) or replace(planner) != planner:
        raise _broken(planner, "be a value: a frozen dataclass that equals its copy", "it does not")


def _check_value(planner: GraphPlanner) -> None:
    """It is a value: named, with settings of the table, equal to its copy, and what the registry says of it."""
    _check_named(planner)
    row = PLANNERS.get(planner.name)
    if row is not None and set(row.takes) != set(planner.takes):
        said, has = ", ".join(row.takes), ", ".join(planner.takes)
        raise _broken(planner, f"take the settings that its row of PLANNERS lists ({said})", f"it takes {has}")
    if row is not None and row.samples != planner.samples:
        raise _broken(planner, "sample if and only if its row of PLANNERS says so", f"samples is {planner.samples}")
    for name in planner.takes:
        value = getattr(planner, SETTINGS[name].word)
        if value is not None:
            SETTINGS[name].check(value)


def _check_on(planner: GraphPlanner, problem: Problem, objective: Objective, where: str) -> None:
    before, kept = _numbers(problem), copy.copy(planner)
    graph = Graph(problem)
    chooser = planner.on(graph, objective)
    if not isinstance(chooser, Chooser):
        raise _broken(planner, "give a Chooser by its method `on`", f"{where} it gives {type(chooser).__name__}")
    nodes = _reachable(graph)
    seeds = [(7, place) for place in range(len(nodes))]
    first = chooser.choose(nodes, seeds)
    _check_allowed(planner, graph, nodes, first, where)
    fresh = Graph(problem)
    again = planner.on(fresh, objective)
    moved = np.array([fresh.node(graph.situation(node)) for node in nodes.tolist()])
    if not planner.is_timed:
        _check_same(planner, graph, nodes, first, again.choose(moved, seeds), where)
        backwards = tuple(part[::-1] for part in chooser.choose(nodes[::-1], seeds[::-1]))
        _check_same(planner, graph, nodes, first, (backwards[0], backwards[1]), where)
        _check_explained(planner, graph, chooser, nodes, first, where)
    if planner.is_exact:
        plan = Plan(graph, objective.rho, discount=objective.discount_factor, commits_count=objective.terminal_rewards)
        exact = plan.choices(nodes, planner.horizon), plan.best_ending(nodes)[1]
        for place in _differing(first, exact)[:1]:
            raise _broken(
                planner,
                "do what exact look-ahead does, as it says by is_exact",
                f"{where} it takes {_named(graph, nodes, first, place)}, not {_named(graph, nodes, exact, place)}",
            )
    if not all(np.array_equal(old, new) for old, new in zip(before, _numbers(problem), strict=True)):
        raise _broken(planner, "leave the problem as it is", f"{where} it changed its numbers")
    if planner != kept:
        raise _broken(planner, "leave its own settings as they are", f"{where} it changed them")


def _check_allowed(planner: GraphPlanner, graph: Graph, nodes: Ids, chosen: tuple[Ids, Ids], where: str) -> None:
    slots, endings = chosen
    if np.shape(slots) != nodes.shape or np.shape(endings) != nodes.shape:
        raise _broken(planner, "choose once per node, a slot and an ending action", f"{where} shapes differ")
    for place, node in enumerate(nodes.tolist()):
        menu = graph.menus[graph.visible[node]]
        slot, ending = int(slots[place]), int(endings[place])
        if slot >= len(menu.going) or slot < -1 or (slot == -1 and not 0 <= ending < len(menu.ending)):
            raise _broken(
                planner,
                "choose an action that is allowed in the situation",
                f"{where} it takes slot {slot} and ending action {ending} of {len(menu.going)} actions that go on and "
                f"{len(menu.ending)} that end",
            )


def _check_same(
    planner: GraphPlanner, graph: Graph, nodes: Ids, first: tuple[Ids, Ids], again: tuple[Ids, Ids], where: str
) -> None:
    for place in _differing(first, again)[:1]:
        now, then = _named(graph, nodes, first, place), _named(graph, nodes, again, place)
        promise = "for the same seed" if planner.samples else "whatever was asked before, as it says by is_fixed"
        raise _broken(planner, f"do the same in the same situation {promise}", f"{where} it takes {now}, then {then}")


def _check_explained(
    planner: GraphPlanner, graph: Graph, chooser: Chooser, nodes: Ids, first: tuple[Ids, Ids], where: str
) -> None:
    for place, node in list(enumerate(nodes.tolist()))[:5]:
        graph.expand(np.array([node]))
        later, slot, ending = chooser.explain(node, (7, place))
        if len(later) < len(graph.menus[graph.visible[node]].going):
            raise _broken(planner, "explain every action that goes on", f"{where} it explains {len(later)} only")
        told = np.array([slot]), np.array([ending])
        if _differing((first[0][place : place + 1], first[1][place : place + 1]), told).size:
            now, then = _named(graph, nodes, first, place), _named(graph, np.array([node]), told, 0)
            raise _broken(planner, "explain the choice that it makes", f"{where} it takes {now} and explains {then}")


def _check_tie(planner: GraphPlanner, problem: Problem, expected: str) -> None:
    graph = Graph(problem)
    start = np.array([graph.root])
    graph.expand(start)
    taken = _named(graph, start, planner.on(graph, Objective()).choose(start, [(7,)]), 0)
    if taken != expected:
        raise _broken(
            planner,
            f"settle ties by the one rule: within {RELATIVE_TOLERANCE:g}, what ends wins, then the first listed",
            f"on '{problem.name}' it takes {taken} instead of {expected}",
        )


def _reachable(graph: Graph) -> Ids:
    """Nodes from the start outwards, whatever is done there."""
    found: dict[int, None] = {graph.root: None}
    layer = np.array([graph.root])
    while layer.size and len(found) < MOST_NODES:
        graph.expand(layer)
        arcs = graph.next[layer]
        layer = np.array([node for node in np.unique(arcs[arcs >= 0]).tolist() if node not in found], dtype=np.int64)
        found |= dict.fromkeys(layer.tolist())
    return np.array(list(found)[:MOST_NODES], dtype=np.int64)


def _differing(one: tuple[Ids, Ids], other: tuple[Ids, Ids]) -> Ids:
    """Places where two choices differ; which action would end does not matter where one goes on."""
    ends = np.asarray(one[0]) < 0
    return np.flatnonzero((np.asarray(one[0]) != other[0]) | (ends & (np.asarray(one[1]) != other[1])))


def _named(graph: Graph, nodes: Ids, chosen: tuple[Ids, Ids], place: int) -> str:
    menu = graph.menus[graph.visible[nodes[place]]]
    slot, ending = int(chosen[0][place]), int(chosen[1][place])
    taken: Action = menu.going[slot] if slot >= 0 else menu.ending[ending]
    return taken.name


def _numbers(problem: Problem) -> list[Array]:
    """Copies of the numbers of `problem` within sight of the start."""

    def parts() -> Iterator[Array]:
        yield from (factor.prior for factor in problem.factors)
        for action in problem.menu(problem.start):
            yield from (action.reward, action.likelihood)
            if action.transition is not None:
                yield numbers(action.transition)

    return [np.array(part) for part in parts()]


def _doors(name: str, tests: tuple[Test, ...], *, pays: float = 10.0) -> Problem:
    """Two doors, one of them bad, as Tiger has them."""
    commits = (Commit("left", np.array([pays, -4 * pays])), Commit("right", np.array([-4 * pays, pays])))
    return observe_then_commit(name, ("right", "left"), tests=tests, commits=commits)


def _places() -> Problem:
    """A walk between two places: a machine that may break while it is looked at, a lamp, and a road without exit."""
    still, one, wears = np.zeros(2), np.ones((2, 1)), np.array([[0.9, 0.1], [0.0, 1.0]])
    look = np.array([[0.8, 0.2], [0.3, 0.7]])
    menus: dict[Visible, tuple[Action, ...]] = {
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
    return Problem("places", factors, "yard", menus.__getitem__, horizon=3)


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

TIES = (
    (_doors("useless", (Test("stare", 0.0, ("yes", "no"), np.full((2, 2), 0.5)),)), "left"),
    (_doors("twins", tuple(Test(name, 0.1, ("yes", "no"), _sure(0.9)) for name in ("first", "second"))), "first"),
)

"""The recommended pathway: the plan followed result by result, as a tree that can be printed.

The largest branch is drawn first. What is smaller than `smallest`, more than `most_nodes`, or comes to a situation that
is drawn already (asking again, as in Tiger, or the same results in another order) is folded into a leaf that goes on,
whose expected tests, cost and reward are those of following the plan from there, so nothing is lost: leaves add up to
the whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rhoplan._old.flow import Flow
from rhoplan._old.followed import NEGLIGIBLE, Plans
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.branches import Leaf, Node, Outcome, Pathway, Step
from rhoplan.advice.case import Evidence, check_fixed, follow, without
from rhoplan.advice.margin import first_lead
from rhoplan.advice.outlay import outlook
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.pomdp import POMDP, Array

__all__ = ["Leaf", "Node", "Outcome", "Pathway", "Step", "pathway"]

SMALLEST = 1e-3
"""Share of cases below which a branch is not drawn: fewer than one case in a thousand."""

MOST_NODES = 2000


def pathway(
    problem: POMDP,
    agent: BoundAgent,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    smallest: float = SMALLEST,
    most_nodes: int = MOST_NODES,
    graph: Graph | None = None,
    plans: Plans | None = None,
) -> Pathway:
    """The pathway that `agent` recommends for cases of `problem` in which `given` was seen.

    unavailable: tests that cannot be had. graph: one to use again between calls with the same tests; plans: followed on
    it already.
    Not covered: agents that sample, are limited by time or act at random (finite precision); problems that are not
    observe-then-commit.
    """
    check_fixed(agent)
    situation, spent = follow(problem, given)
    left = tuple(dict.fromkeys(unavailable))
    model = without(problem, left)
    plans = plans or Plans(model, graph=graph)
    node = plans.graph.node(situation)
    policy = plans.policy(agent)
    builder = _Builder(policy.committed(node), model.cap)
    root = builder.grow(node, smallest, most_nodes)
    return Pathway(
        problem=problem.name,
        unit=problem.unit,
        agent=agent.name,
        horizon=agent.horizon,
        weight=agent.weight,
        information_unit=agent.unit,
        field=problem.details.get("field") or "",
        given=tuple((test, outcome) for test, outcome in given),
        unavailable=left,
        spent=spent,
        smallest=smallest,
        root=builder.record(root),
        ahead=outlook(plans, agent, node),
        lead=first_lead(agent, policy, node),
        looked_for=looked_for(problem),
        planner=agent.planner.name,
    )


def looked_for(problem: POMDP) -> str:
    """The diagnosis that a model of two is about: the one its file calls positive, else the second; else nothing."""
    states = problem.diagnoses
    return str(problem.details.get("positive", states[1])) if len(states) == 2 else ""


@dataclass(eq=False)
class _Place:
    """A place in the tree while it grows."""

    node: int
    share: float
    spent: float
    depth: int
    slot: int = -1
    children: list[tuple[str, float, _Place]] = field(default_factory=list)
    back_to: _Place | None = None
    number: int = 0


class _Builder:
    """Grows a tree along the choices of a policy."""

    def __init__(self, policy: GraphPolicy, cap: int) -> None:
        self.policy, self.graph, self.cap = policy, policy.graph, cap
        self._ends: dict[tuple[int, int], Totals] = {}

    def grow(self, node: int, smallest: float, most: int) -> _Place:
        """The tree from `node`, each place expanded that is worth drawing, those of most cases first."""
        root = self._place(node, 1.0, 0.0, 0)
        waiting, count, drawn = [(-1.0, 0, root)], 1, dict[int, _Place]()
        while waiting:
            _, _, place = heapq.heappop(waiting)
            place.back_to = drawn.get(place.node)
            if place.slot < 0 or place.back_to or place.share < smallest or place.depth >= self.cap:
                continue
            action = self.graph.menus[self.graph.observable[place.node]].going[place.slot]
            targets = self.graph.next[place.node, place.slot, : len(action.outcomes)].tolist()
            chances = self.graph.probability[place.node, place.slot, : len(action.outcomes)].tolist()
            if count + len(targets) > most:
                break
            spent = place.spent - float(self.graph.reward[place.node, place.slot])
            drawn[place.node] = place
            for outcome, target, chance in zip(action.outcomes, targets, chances, strict=True):
                if chance <= 0:
                    continue
                child = self._place(target, place.share * chance, spent, place.depth + 1)
                place.children.append((outcome, chance, child))
                count += 1
                heapq.heappush(waiting, (-child.share, count, child))
        places = self._number(root)
        self._ends = totals(self.policy, [(one.node, self.cap - one.depth) for one in places if not one.children])
        return root

    def record(self, place: _Place) -> Node:
        """The finished record of `place` and of everything below it."""
        found = self.graph.situation(place.node)
        belief = next(iter(found.diagnoses().values()))
        action = self.policy.action(place.node).name
        if place.children:
            cost = -float(self.graph.reward[place.node, place.slot]) + 0.0
            outcomes = tuple(Outcome(name, chance, self.record(child)) for name, chance, child in place.children)
            return Step(place.number, "test", action, cost, belief, place.share, place.spent, outcomes)
        ahead = self._ends[place.node, self.cap - place.depth]
        return Leaf(
            number=place.number,
            kind="commit" if place.slot < 0 else "goes on",
            action=action,
            belief=belief,
            share=place.share,
            spent=place.spent,
            tests=place.depth + ahead.tests,
            cost=place.spent + ahead.cost,
            reward=ahead.reward - place.spent,
            right=ahead.right,
            commits=ahead.commits,
            cut=ahead.cut,
            back_to=place.back_to.number if place.back_to else None,
            ends=ahead.ends,
        )

    def _place(self, node: int, share: float, spent: float, depth: int) -> _Place:
        self.policy.settle(np.array([node]))
        return _Place(node, share, spent, depth, int(self.policy.choice[node]))

    def _number(self, root: _Place) -> list[_Place]:
        """Number places from 1, each before what follows it; all of them in this order."""
        waiting, numbered = [root], list[_Place]()
        while waiting:
            place = waiting.pop()
            numbered.append(place)
            place.number = len(numbered)
            waiting.extend(child for _, _, child in reversed(place.children))
        return numbered


@dataclass(frozen=True)
class Totals:
    """Expected tests, cost of tests, reward of tests and commit together, share of right commits; in how many
    situations cases end; shares of commits."""

    tests: float
    cost: float
    reward: float
    right: float
    ends: int
    commits: dict[str, float]

    @property
    def cut(self) -> float:
        """Share of cases that go on beyond the cap."""
        return max(0.0, 1.0 - sum(self.commits.values()))


def totals(policy: GraphPolicy, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Totals]:
    """Totals for each place: a node of the policy's graph, and how many actions are left before the cap."""
    waiting: dict[int, list[int]] = {}
    for node, left in sorted(set(places)):
        waiting.setdefault(left, []).append(node)
    found = {}
    for left, nodes in waiting.items():
        for node, row in zip(nodes, _followed(policy, nodes, left), strict=True):
            found[node, left] = _read(row, [commit.name for commit in policy.graph.problem.flat.commits])
    return found


def _followed(policy: GraphPolicy, nodes: list[int], left: int) -> Array:
    """Tests, cost, reward, right, number of ends, and one column per commit, for cases that begin at each of `nodes`:
    one flow for all, each with a label of its own."""
    brought = np.zeros((len(nodes), 5 + len(policy.graph.problem.flat.commits)))
    if not left:
        return brought
    ones, labels = np.ones(len(nodes)), np.arange(len(nodes))
    for layer in Flow(policy, nodes=nodes, mass=ones, labels=labels, cap=left, least=NEGLIGIBLE):
        acts, label = layer.acts, layer.label[layer.acts.row]
        going, ends = np.flatnonzero(acts.slot >= 0), np.flatnonzero(acts.slot < 0)
        paid = acts.mass * acts.reward
        np.add.at(brought[:, 0], label[going], acts.mass[going])
        np.add.at(brought[:, 1], label[going], -paid[going])
        np.add.at(brought[:, 2], label, paid)
        np.add.at(brought[:, 4], label[ends], 1)
        np.add.at(brought, (label[ends], 5 + acts.ending[ends]), acts.mass[ends])
        for one in layer.endings:
            places = ends[one.place]
            np.add.at(brought[:, 3], label[places], acts.mass[places] * (one.belief * one.right).sum(axis=1))
    return brought


def _read(row: Array, names: list[str]) -> Totals:
    tests, cost, reward, right, ends, *shares = row.tolist()
    taken = {name: share for name, share in zip(names, shares, strict=True) if share}
    return Totals(tests, cost + 0.0, reward, right, int(ends), taken)

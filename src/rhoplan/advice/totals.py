"""What cases that come to given places of a plan can expect, for many places at once.

The same numbers as `outlay.look_ahead` gives one place at a time, means only: V_0 = 0 and
V_r = (what the choice brings) + sum over outcomes of P(outcome) V_(r-1), with r actions left before the cap.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.outlay import NEGLIGIBLE, parts
from rhoplan.agents.policy import Policy
from rhoplan.model.problem import Array, Ids


@dataclass(frozen=True)
class Totals:
    """Expected tests, cost of tests, reward of tests and commit together, share of right commits; shares of commits."""

    tests: float
    cost: float
    reward: float
    right: float
    commits: dict[str, float]

    @property
    def cut(self) -> float:
        """Share of cases that go on beyond the cap."""
        return max(0.0, 1.0 - sum(self.commits.values()))


def totals(policy: Policy, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Totals]:
    """Totals for each place: a node of the policy's graph, and how many actions are left before the cap."""
    wanted = sorted(set(places))
    if not wanted:
        return {}
    most = max(left for _, left in wanted)
    nodes = _reached(policy, sorted({node for node, _ in wanted}), most)
    graph, names = policy.graph, [commit.name for commit in policy.graph.problem.flat.commits]
    row = np.full(graph.size, -1)
    row[nodes] = np.arange(len(nodes))
    slots = policy.choice[nodes]
    going = np.flatnonzero(slots >= 0)
    sources, taken = nodes[going], slots[going]
    chances = graph.probability[sources, taken]
    targets = np.where(chances > 0, row[graph.next[sources, taken]], -1)
    chances = np.where(targets >= 0, chances, 0.0)
    brought = _brought(policy, nodes, len(names))
    values: Array = np.zeros_like(brought)
    waiting: dict[int, list[int]] = {}
    for node, left in wanted:
        waiting.setdefault(left, []).append(node)
    found = {(node, 0): _read(values[row[node]], names) for node in waiting.get(0, ())}
    for left in range(1, most + 1):
        new = brought.copy()
        new[going] += np.einsum("no,nov->nv", chances, values[targets])
        settled = np.array_equal(new, values)
        values = new
        for steps in [left] if not settled else [steps for steps in waiting if steps >= left]:
            found |= {(node, steps): _read(values[row[node]], names) for node in waiting.get(steps, ())}
        if settled:
            break
    return found


def _reached(policy: Policy, starts: list[int], most: int) -> Ids:
    """Nodes that following the policy from any of `starts` comes to with a chance that is not negligible."""
    graph, best = policy.graph, dict.fromkeys(starts, 1.0)
    mass = dict(best)
    for _ in range(most + 1):
        here = np.array(sorted(mass), dtype=np.int64)
        policy.settle(here)
        following: dict[int, float] = {}
        for node in here.tolist():
            slot = int(policy.choice[node])
            if slot >= 0:
                for target, part in parts(graph, node, slot, mass[node], NEGLIGIBLE):
                    following[target] = following.get(target, 0.0) + part
        # What was followed before need not be again, unless with so much more that rare branches begin to count.
        mass = {node: share for node, share in following.items() if share > 2 * best.get(node, 0.0)}
        best |= mass
        if not mass:
            break
    return np.array(sorted(best), dtype=np.int64)


def _brought(policy: Policy, nodes: Ids, commits: int) -> Array:
    """What the choice at each node brings by itself: tests, cost, reward, right, and one column per commit."""
    graph, problem = policy.graph, policy.graph.problem
    payoff, best = problem.flat.payoff, problem.flat.right
    brought: Array = np.zeros((len(nodes), 4 + commits))
    slots = policy.choice[nodes]
    tests, ends = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
    paid = graph.reward[nodes[tests], slots[tests]]
    brought[tests, 0], brought[tests, 1], brought[tests, 2] = 1.0, -paid, paid
    chosen, beliefs = policy.ending[nodes[ends]], graph.beliefs(nodes[ends])
    brought[ends, 2] = np.einsum("ns,ns->n", beliefs, payoff[chosen])
    brought[ends, 3] = np.einsum("ns,ns->n", beliefs, best[chosen])
    brought[ends, 4 + chosen] = 1.0
    return brought


def _read(row: Array, names: list[str]) -> Totals:
    tests, cost, reward, right, *shares = row.tolist()
    taken = {name: share for name, share in zip(names, shares, strict=True) if share}
    return Totals(tests, cost + 0.0, reward, right, taken)

"""What cases that come to given places of a plan can expect, for many places at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rhoplan.agents.policy import Policy
from rhoplan.model.problem import Array
from rhoplan.scoring.flow import Flow
from rhoplan.scoring.followed import NEGLIGIBLE


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
    waiting: dict[int, list[int]] = {}
    for node, left in sorted(set(places)):
        waiting.setdefault(left, []).append(node)
    found = {}
    for left, nodes in waiting.items():
        for node, row in zip(nodes, _followed(policy, nodes, left), strict=True):
            found[node, left] = _read(row, [commit.name for commit in policy.graph.problem.flat.commits])
    return found


def _followed(policy: Policy, nodes: list[int], left: int) -> Array:
    """Tests, cost, reward, right, and one column per commit, for cases that begin at each of `nodes`: one flow for all,
    each with a label of its own."""
    brought = np.zeros((len(nodes), 4 + len(policy.graph.problem.flat.commits)))
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
        np.add.at(brought, (label[ends], 4 + acts.ending[ends]), acts.mass[ends])
        for one in layer.endings:
            places = ends[one.place]
            np.add.at(brought[:, 3], label[places], acts.mass[places] * (one.belief * one.right).sum(axis=1))
    return brought


def _read(row: Array, names: list[str]) -> Totals:
    tests, cost, reward, right, *shares = row.tolist()
    taken = {name: share for name, share in zip(names, shares, strict=True) if share}
    return Totals(tests, cost + 0.0, reward, right, taken)

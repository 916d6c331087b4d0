"""What following a plan from here brings: tests and money still to come, and how the case will end.

Mass moves forward through the choices of a policy, kept apart by what has been spent, so the whole distribution of
tests and of cost is exact, not only its mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.words import cut_off
from rhoplan.policy import Policy
from rhoplan.problem import Array

NEGLIGIBLE = 1e-12
"""Share of cases below which a branch is no longer followed."""

CENTS = 9
"""Decimals to which sums of money are told apart."""


@dataclass(frozen=True)
class Ahead:
    """What is still to come when the plan is followed from here; means and whole distributions.

    tests, cost: expected number of tests and what they cost. reward: expected reward of commit and tests together.
    by_tests, by_cost: share of cases with so many tests, with such a cost. commits: share of cases per commit. right:
    share in which the commit is a best one for the true state. cut: share of cases that go on beyond the cap; cut_off
    says in words what that does to the reward, nothing where hardly any does.
    """

    tests: float
    cost: float
    reward: float
    by_tests: tuple[tuple[int, float], ...]
    by_cost: tuple[tuple[float, float], ...]
    commits: dict[str, float]
    right: float
    cut: float
    cut_off: str

    def bad_case(self, share: float = 0.9) -> tuple[int, float]:
        """Tests and cost that `share` of cases do not exceed."""
        return int(_quantile(self.by_tests, share)), _quantile(self.by_cost, share)


def look_ahead(policy: Policy, node: int, *, cap: int) -> Ahead:
    """Follow `policy` from `node` for at most `cap` actions, the commit included, as `scoring.evaluate` does; for flat
    problems."""
    graph, problem = policy.graph, policy.graph.problem
    commits = problem.flat.commits
    payoff = np.stack([commit.reward for commit in commits], axis=1)
    best = payoff >= payoff.max(axis=1, keepdims=True) - 1e-12 * problem.reward_scale
    mass: dict[tuple[int, float], float] = {(node, 0.0): 1.0}
    by_tests: dict[int, float] = defaultdict(float)
    by_cost: dict[float, float] = defaultdict(float)
    taken: dict[str, float] = defaultdict(float)
    reward = right = 0.0
    for step in range(cap + 1):
        nodes = np.array(sorted({where for where, _ in mass}), dtype=np.int64)
        policy.settle(nodes)
        following: dict[tuple[int, float], float] = defaultdict(float)
        for (where, spent), share in sorted(mass.items()):
            slot = int(policy.choice[where])
            if slot < 0 or step == cap:
                by_tests[step] += share
                by_cost[spent] += share
                reward -= share * spent
                if slot < 0 and step < cap:
                    ending = int(policy.ending[where])
                    belief = graph.tables[0].beliefs[graph.belief[where, 0]]
                    reward += share * float(belief @ payoff[:, ending])
                    right += share * float(belief @ best[:, ending])
                    taken[commits[ending].name] += share
                continue
            price = round(spent - float(graph.reward[where, slot]), CENTS)
            for target, chance in zip(graph.next[where, slot], graph.probability[where, slot], strict=True):
                if share * chance > NEGLIGIBLE:
                    following[int(target), price] += share * float(chance)
        mass = following
        if not mass:
            break
    total = sum(by_tests.values())
    cut = max(0.0, 1.0 - sum(taken.values()) / total)
    return Ahead(
        tests=sum(count * share for count, share in by_tests.items()) / total,
        cost=sum(spent * share for spent, share in by_cost.items()) / total,
        reward=reward / total,
        by_tests=tuple(sorted((count, share / total) for count, share in by_tests.items())),
        by_cost=tuple(sorted((spent, share / total) for spent, share in by_cost.items())),
        commits={commit.name: taken[commit.name] / total for commit in commits if taken[commit.name]},
        right=right / total,
        cut=cut,
        cut_off=cut_off(problem, cut, cap),
    )


def endings(policy: Policy, node: int, *, cap: int) -> Array:
    """Share of cases (C, S) that end with each commit in each true state when `policy` is followed from `node`."""
    graph, problem = policy.graph, policy.graph.problem
    shares = np.zeros((len(problem.flat.commits), len(problem.states)))
    for mass in course(policy, node, cap=cap):
        for where, share in mass.items():
            if policy.choice[where] < 0:
                shares[int(policy.ending[where])] += share * graph.tables[0].beliefs[graph.belief[where, 0]]
    return shares


def course(policy: Policy, node: int, *, cap: int, smallest: float = NEGLIGIBLE) -> Iterator[dict[int, float]]:
    """What share of cases comes to which node, one step after another, when `policy` is followed from `node`.

    Ends when all have committed, and after `cap` steps. smallest: share below which a branch is no longer followed.
    """
    graph, mass = policy.graph, {node: 1.0}
    for _ in range(cap):
        policy.settle(np.array(sorted(mass), dtype=np.int64))
        yield mass
        following: dict[int, float] = defaultdict(float)
        for where, share in mass.items():
            slot = int(policy.choice[where])
            if slot >= 0:
                arcs = zip(graph.next[where, slot].tolist(), graph.probability[where, slot].tolist(), strict=True)
                for target, chance in arcs:
                    if share * chance > smallest:
                        following[target] += share * chance
        mass = following
        if not mass:
            return


def _quantile(distribution: Sequence[tuple[float, float]], share: float) -> float:
    reached = 0.0
    for value, part in distribution:
        reached += part
        if reached >= share - 1e-12:
            return value
    return distribution[-1][0]

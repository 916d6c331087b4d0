"""What following a plan from here brings: tests and money still to come, and how the case will end.

Mass moves forward through the choices of a policy, kept apart by what has been spent, so the whole distribution of
tests and of cost is exact, not only its mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rhoplan.advice.words import cut_off
from rhoplan.agents.policy import Policy
from rhoplan.graph.graph import Graph
from rhoplan.model.observe_then_commit import written
from rhoplan.model.problem import Array

NEGLIGIBLE = 1e-12
"""Share of cases below which a branch is no longer followed."""


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
    payoff, best = problem.flat.payoff, problem.flat.right
    mass: dict[tuple[int, Fraction], float] = {(node, Fraction(0)): 1.0}
    by_tests: dict[int, float] = defaultdict(float)
    by_cost: dict[Fraction, float] = defaultdict(float)
    taken: dict[str, float] = defaultdict(float)
    reward = right = 0.0
    for step in range(cap + 1):
        nodes = np.array(sorted({where for where, _ in mass}), dtype=np.int64)
        policy.settle(nodes)
        following: dict[tuple[int, Fraction], float] = defaultdict(float)
        for (where, spent), share in sorted(mass.items()):
            slot = int(policy.choice[where])
            if slot < 0 or step == cap:
                by_tests[step] += share
                by_cost[spent] += share
                reward -= share * float(spent)
                if slot < 0 and step < cap:
                    ending = int(policy.ending[where])
                    belief = graph.tables[0].beliefs[graph.belief[where, 0]]
                    reward += share * float(belief @ payoff[ending])
                    right += share * float(belief @ best[ending])
                    taken[commits[ending].name] += share
                continue
            price = spent + written(-graph.reward[where, slot])
            for target, part in parts(graph, where, slot, share, NEGLIGIBLE):
                following[target, price] += part
        mass = following
        if not mass:
            break
    total = sum(by_tests.values())
    cut = max(0.0, 1.0 - sum(taken.values()) / total)
    return Ahead(
        tests=sum(count * share for count, share in by_tests.items()) / total,
        cost=sum(float(spent) * share for spent, share in by_cost.items()) / total,
        reward=reward / total,
        by_tests=tuple(sorted((count, share / total) for count, share in by_tests.items())),
        by_cost=tuple((float(spent), share / total) for spent, share in sorted(by_cost.items())),
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
                for target, part in parts(graph, where, slot, share, smallest):
                    following[target] += part
        mass = following
        if not mass:
            return


def parts(graph: Graph, node: int, slot: int, share: float, smallest: float) -> Iterator[tuple[int, float]]:
    """Where the share of cases that takes `slot` at `node` goes, and with what share, as far as that matters."""
    for target, chance in zip(graph.next[node, slot].tolist(), graph.probability[node, slot].tolist(), strict=True):
        part = share * chance
        if target >= 0 and (part > smallest or graph.matters(np.array([target]), np.array([part]), smallest)[0]):
            yield target, part


def _quantile(distribution: Sequence[tuple[float, float]], share: float) -> float:
    reached = 0.0
    for value, part in distribution:
        reached += part
        if reached >= share - 1e-12:
            return value
    return distribution[-1][0]

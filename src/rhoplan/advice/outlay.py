"""What following a plan from here brings: tests and money still to come, and how the case will end.

The followed plan keeps cases apart by what they have spent, so the whole distribution of tests and of cost is exact,
not only its mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rhoplan.advice.words import cut_off
from rhoplan.scoring.followed import Followed


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


def look_ahead(followed: Followed) -> Ahead:
    """What a plan that was followed brings, in the model's own world."""
    problem, amounts = followed.graph.problem, followed.amounts
    commits = problem.flat.commits
    by_tests: dict[int, float] = defaultdict(float)
    by_cost: dict[int, float] = defaultdict(float)
    taken = np.zeros(len(commits))
    reward = right = 0.0
    for layer in followed.layers:
        acts = layer.acts
        ends = np.flatnonzero(acts.slot < 0)
        label, mass = (layer.label, layer.mass) if layer.is_cut else (layer.label[acts.row[ends]], acts.mass[ends])
        if mass.size:
            by_tests[layer.step] += float(mass.sum())
            for place, share in enumerate(np.bincount(label, weights=mass).tolist()):
                if share:
                    by_cost[place] += share
        reward += float(acts.mass @ acts.reward)
        np.add.at(taken, acts.ending[ends], acts.mass[ends])
        for one in layer.endings:
            right += float(acts.mass[ends[one.place]] @ (one.belief * one.right).sum(axis=1))
    total = sum(by_tests.values())
    cut = max(0.0, 1.0 - float(taken.sum()) / total)
    costs = sorted((amounts[place], share) for place, share in by_cost.items())
    return Ahead(
        tests=sum(count * share for count, share in by_tests.items()) / total,
        cost=sum(float(spent) * share for spent, share in costs) / total,
        reward=reward / total,
        by_tests=tuple(sorted((count, share / total) for count, share in by_tests.items())),
        by_cost=tuple((float(spent), share / total) for spent, share in costs),
        commits={commit.name: float(share) / total for commit, share in zip(commits, taken, strict=True) if share},
        right=right / total,
        cut=cut,
        cut_off=cut_off(problem, cut),
    )


def _quantile(distribution: Sequence[tuple[float, float]], share: float) -> float:
    reached = 0.0
    for value, part in distribution:
        reached += part
        if reached >= share - 1e-12:
            return value
    return distribution[-1][0]

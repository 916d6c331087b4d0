"""What following a plan from here brings: tests and money still to come, and how the case will end.

The followed plan keeps cases apart by what they have spent, so the whole distribution of tests and of cost is exact,
not only its mean.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rhoplan._old.followed import Followed, Plans
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.part import Sampled
from rhoplan.advice.words import cut_off
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import POMDP, Array, Ids

if TYPE_CHECKING:
    from rhoplan.planning.many import ManySolution

EPISODES, FIRST_BATCH = 400, 25
"""Cases that an estimate samples, at most and at least: the standard error of a share is 2.5% then, or 10%."""


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


def outlook(plans: Plans, agent: BoundAgent, node: int | None = None) -> Ahead:
    """What following the plan of `agent` from `node` brings, the start by default."""
    start = plans.graph.root if node is None else node
    found = plans.policy(agent).chooser.bounded(start)
    return look_ahead(plans.follow(agent, start)) if found is None else plan_ahead(plans.graph.problem, found)


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
        cost=sum(spent * share for spent, share in costs) / total,
        reward=reward / total,
        by_tests=tuple(sorted((count, share / total) for count, share in by_tests.items())),
        by_cost=tuple((spent, share / total) for spent, share in costs),
        commits={commit.name: float(share) / total for commit, share in zip(commits, taken, strict=True) if share},
        right=right / total,
        cut=cut,
        cut_off=cut_off(problem, cut),
    )


def plan_ahead(problem: POMDP, found: ManySolution) -> Ahead:
    """What following the plan of a search over evidence brings, exactly."""
    by_tests: dict[int, float] = defaultdict(float)
    by_cost: dict[float, float] = defaultdict(float)
    commits: dict[str, float] = defaultdict(float)
    for end in found.ends:
        by_tests[end.tests] += end.share
        by_cost[end.cost] += end.share
        if end.commit is not None:
            commits[end.commit] += end.share
    return Ahead(
        tests=found.tests,
        cost=sum(end.share * end.cost for end in found.ends),
        reward=found.reward,
        by_tests=tuple(sorted(by_tests.items())),
        by_cost=tuple((float(spent), share) for spent, share in sorted(by_cost.items())),
        commits={one.name: commits[one.name] for one in problem.flat.commits if one.name in commits},
        right=found.success,
        cut=found.truncated,
        cut_off=cut_off(problem, found.truncated),
    )


def sample_ahead(policy: GraphPolicy, node: int, *, episodes: int = EPISODES, seed: int = 0) -> tuple[Ahead, Sampled]:
    """Means over sampled cases that follow `policy` from `node`, and their standard errors.

    Results are drawn from what is believed; what a commit brings is its expectation then, not another draw. Cases are
    drawn in batches, each as large as all before: where the limits of the graph stop one, those before are the answer.
    """
    problem, rng = policy.graph.problem, np.random.default_rng(seed)
    batches = [_sample(policy, node, min(FIRST_BATCH, episodes), rng)]
    while (so_far := sum(len(batch.tests) for batch in batches)) < episodes:
        try:
            batches.append(_sample(policy, node, min(so_far, episodes - so_far), rng))
        except (LimitError, MemoryError):
            break
    tests, commit = (np.concatenate([getattr(one, name) for one in batches]) for name in ("tests", "commit"))
    cost = [spent for one in batches for spent in one.cost]
    spent: Array = np.array(cost)
    means = {
        "tests": tests,
        "cost": spent,
        "reward": np.concatenate([one.reward for one in batches]) - spent,
        "right": np.concatenate([one.right for one in batches]),
    }
    drawn, cut = len(tests), float(np.mean(commit < 0))
    ahead = Ahead(
        **{name: float(np.mean(values)) for name, values in means.items()},
        by_tests=tuple((count, number / drawn) for count, number in sorted(Counter(tests.tolist()).items())),
        by_cost=tuple((amount, number / drawn) for amount, number in sorted(Counter(cost).items())),
        commits={
            one.name: float(np.mean(commit == place))
            for place, one in enumerate(problem.flat.commits)
            if place in commit
        },
        cut=cut,
        cut_off=cut_off(problem, cut),
    )
    errors = {name: float(np.std(values, ddof=1)) / math.sqrt(drawn) for name, values in means.items()}
    return ahead, Sampled(drawn, seed, errors)


@dataclass(frozen=True)
class _Batch:
    """Sampled cases (n,): tests run, what they cost, the commit (-1 where they were cut off), its reward and chance."""

    tests: Ids
    cost: list[float]
    commit: Ids
    reward: Array
    right: Array


def _sample(policy: GraphPolicy, node: int, episodes: int, rng: np.random.Generator) -> _Batch:
    """So many cases that follow `policy` from `node`."""
    graph, menu = policy.graph, policy.graph.problem.flat
    nodes, active = np.full(episodes, node), np.arange(episodes)
    tests, commit = np.zeros(episodes, dtype=np.int64), np.full(episodes, -1)
    cost = [0] * episodes
    reward, right = np.zeros(episodes), np.zeros(episodes)
    for _ in range(graph.problem.cap):
        here = nodes[active]
        policy.settle(np.unique(here))
        slot, uniform = policy.choice[here], rng.random(len(active))
        stops = np.flatnonzero(slot < 0)
        beliefs, taken = graph.beliefs(here[stops]), policy.ending[here[stops]]
        commit[active[stops]] = taken
        reward[active[stops]] = (beliefs * menu.payoff[taken]).sum(axis=1)
        right[active[stops]] = (beliefs * menu.right[taken]).sum(axis=1)
        goes = np.flatnonzero(slot >= 0)
        active, here, slot, uniform = active[goes], here[goes], slot[goes], uniform[goes]
        if not active.size:
            break
        graph.expand(here, slot[:, None] == np.arange(graph.known.shape[1]))
        chances = np.cumsum(graph.probability[here, slot], axis=1)
        drawn = (uniform[:, None] * chances[:, -1:] >= chances).sum(axis=1)
        for place, price in zip(active.tolist(), graph.reward[here, slot].tolist(), strict=True):
            cost[place] += menu.in_minor_units(-price)
        nodes[active] = graph.next[here, slot, drawn]
        tests[active] += 1
    return _Batch(tests, [spent / menu.minor_units for spent in cost], commit, reward, right)


def _quantile(distribution: Sequence[tuple[float, float]], share: float) -> float:
    reached = 0.0
    for value, part in distribution:
        reached += part
        if reached >= share - 1e-12:
            return value
    return distribution[-1][0]

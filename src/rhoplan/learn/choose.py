"""Choosing how to learn by what policies cost on inner folds, with restraint.

A choice beyond the plainest must earn it: of several that were tried the plainest is taken whose cost is within one
standard error of the best one's, in the same cases. That keeps the best of many from looking better than it is. How
much likelihoods are tempered is settled last: of what is within one standard error, the one whose planned cost is
nearest to its cost on the inner folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.belief.information import entropy
from rhoplan.learn.build import Learned, build, cut_all, prior_of
from rhoplan.learn.cases import Cases
from rhoplan.learn.choices import Choice
from rhoplan.learn.outcomes import Cut
from rhoplan.learn.replay import Replayed, replay
from rhoplan.model.problem import Array, Ids, Problem

OUTCOMES = (5, 3, 8)
SHRINKAGES = (1.0, 2.0)
SUBTYPES = (1, 2, 3, 5)
TEMPERINGS = (1.0, 0.85, 0.7, 0.55, 0.4)
HORIZONS = (2, 3)
WEIGHTS = (0.1, 0.5, 2.0)
"""Per nat, in units of what not testing costs over the doubt there is."""

MOST_AHEAD = 6_000
"""Situations that a look-ahead may have to work out for one decision."""

DRAWS = 200
"""Cases drawn from a model to see what its policy is planned to cost."""

MOST_INNER = 1_500
"""Cases that inner folds replay: with more, a choice is as good and takes longer."""

Split = tuple[Ids, Ids]


@dataclass(frozen=True, eq=False)
class Tried:
    """A choice on inner folds: the cost of each case (m,), and what was planned, on average."""

    choice: Choice
    cost: Array
    planned: float


class Trial:
    """Tries choices on inner splits of some cases; what two choices share is worked out once."""

    def __init__(self, cases: Cases, splits: Sequence[Split], *, seed: int) -> None:
        self.cases, self.splits, self.seed = cases, splits, seed
        self._cuts: dict[tuple[int, int], tuple[Cut, ...]] = {}
        self._made: dict[tuple[int, object], Learned] = {}
        self._tried: dict[Choice, Tried] = {}

    def learned(self, place: int, choice: Choice) -> Learned:
        """The model of `choice` made of the training cases of a split."""
        if (place, choice.model) not in self._made:
            train = self.splits[place][0]
            if (place, choice.outcomes) not in self._cuts:
                self._cuts[place, choice.outcomes] = cut_all(self.cases.table, self.cases.plan, train, choice.outcomes)
            self._made[place, choice.model] = build(
                self.cases.table, self.cases.plan, self.cases.diagnosis, train, choice,
                cuts=self._cuts[place, choice.outcomes], seed=self.seed,
            )  # fmt: skip
        return self._made[place, choice.model]

    def __call__(self, choice: Choice) -> Tried:
        """What `choice` costs on the inner folds."""
        if choice not in self._tried:
            found = [self._split(place, choice) for place in range(len(self.splits))]
            costs = np.concatenate([cost for cost, _ in found])
            self._tried[choice] = Tried(choice, costs, float(np.mean([planned for _, planned in found])))
        return self._tried[choice]

    def _split(self, place: int, choice: Choice) -> tuple[Array, float]:
        learned, (_, test) = self.learned(place, choice), self.splits[place]
        replayed = replay(learned.problem, choice.agent, learned.outcomes(self.cases.table)[test])
        cost = cost_of(self.cases, replayed, test) * self.cases.weight[test]
        return cost, planned_cost(learned, choice, draws=DRAWS, seed=self.seed)


def choose(cases: Cases, splits: Sequence[Split], *, seed: int, tell: Callable[[], None] = lambda: None) -> dict[str, Choice]:
    """The choices by name: `policy`, the one to use, and those that stand beside it.

    `one step ahead`, `cost only` (as deep as is affordable), `efe` (weight 1), `efe, weight chosen`: same model.
    """
    trial = Trial(cases, splits, seed=seed)
    best = Choice()
    for change in ({"outcomes": n} for n in OUTCOMES), ({"shrinkage": s} for s in SHRINKAGES):
        best = _plainest([trial(replace(best, **fields)) for fields in change])
        tell()
    scale = weight_scale(cases)
    weights = [0.0, *(round(weight * scale, 6) for weight in WEIGHTS)]
    tried = [trial(replace(best, subtypes=k, weight=w)) for k in SUBTYPES for w in weights if _enough(cases, k)]
    best = _plainest(tried)
    tell()
    deep = [h for h in HORIZONS if affordable(trial.learned(0, best).problem, h)]
    best = _plainest([trial(best), *(trial(replace(best, horizon=h)) for h in deep)])
    tell()
    best = _most_honest([trial(replace(best, tempering=t)) for t in TEMPERINGS])
    tell()
    deepest = max([1, *deep])
    weighed = [trial(replace(best, weight=w)) for w in weights if w > 0]
    return {
        "policy": best,
        "one step ahead": replace(best, horizon=1, weight=0.0),
        "cost only": replace(best, horizon=deepest, weight=0.0),
        "efe": replace(best, horizon=deepest, weight=1.0),
        "efe, weight chosen": min(weighed, key=lambda tried: tried.cost.mean()).choice,
    }


def cost_of(cases: Cases, replayed: Replayed, chosen: Ids) -> Array:
    """What (m,) the replayed cases `chosen` cost: tests, and the loss that the true diagnosis pays."""
    loss: Array = cases.plan.losses[replayed.commit, cases.diagnosis[chosen]]
    return replayed.spend + loss


def planned_cost(learned: Learned, choice: Choice, *, draws: int, seed: int) -> float:
    """What the model itself expects its policy to cost, estimated from cases drawn from it.

    The loss is the one that the belief at the end expects, so that only the way there is left to chance.
    """
    problem = learned.problem
    replayed = replay(problem, choice.agent, drawn_cases(problem, draws, np.random.default_rng([seed, 7])))
    return float((replayed.spend + replayed.expected_loss(-problem.flat.payoff)).mean())


def drawn_cases(problem: Problem, count: int, generator: np.random.Generator) -> Ids:
    """Outcomes (count, T) of all tests in cases drawn from `problem`."""
    states = generator.choice(len(problem.states), size=count, p=problem.prior)
    tests = problem.flat.tests
    found = np.empty((count, len(tests)), dtype=np.int64)
    for place, test in enumerate(tests):
        cumulative = np.cumsum(test.likelihood, axis=1)[states]
        found[:, place] = (generator.random(count)[:, None] >= cumulative[:, :-1]).sum(axis=1)
    return found


def affordable(problem: Problem, horizon: int) -> bool:
    """Whether looking `horizon` tests ahead is a matter of moments."""
    arcs = sum(len(test.outcomes) for test in problem.flat.tests)
    return arcs**horizon <= MOST_AHEAD


def weight_scale(cases: Cases) -> float:
    """What not testing costs, per nat of doubt about the diagnosis."""
    prior = prior_of(cases.plan, cases.diagnosis)
    doubt = float(entropy(prior[None, :])[0])
    return float((cases.plan.losses @ prior).min()) / doubt if doubt > 0 else 0.0


def _enough(cases: Cases, subtypes: int) -> bool:
    """Whether the rarest diagnosis has cases for so many subtypes."""
    return subtypes == 1 or np.bincount(cases.diagnosis).min() >= 10 * subtypes


def _plainest(tried: Sequence[Tried]) -> Choice:
    """The first whose cost is within one standard error of the lowest."""
    return _near_best(tried)[0].choice


def _most_honest(tried: Sequence[Tried]) -> Choice:
    """Of those within one standard error of the lowest, the one that costs what was planned."""
    return min(_near_best(tried), key=lambda one: abs(one.planned - one.cost.mean())).choice


def _near_best(tried: Sequence[Tried]) -> list[Tried]:
    best = min(tried, key=lambda one: one.cost.mean())
    found = []
    for one in tried:
        more = one.cost - best.cost
        if more.mean() <= more.std() / np.sqrt(len(more)):
            found.append(one)
    return found

"""Choosing how to learn by what policies cost on inner folds, with restraint.

The best of many looks better than it is. So there is one choice to begin with, and it is left only for another that is
better in the same cases by more than the best of so many would be by luck. One thing is chosen after the other:
subtypes with the weight, outcomes, shrinkage, depth. Last comes tempering: of powers that cost about the same, the one
whose plan comes nearest to what it cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.learning.build import Learned, build, cut_all, fit_all, prior_of
from rhoplan.learning.cases import Cases
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.fit import Fitted
from rhoplan.learning.outcomes import Cut
from rhoplan.learning.replay import Replayed, replay
from rhoplan.model.pomdp import POMDP, Array, Ids

SURE = 2.0
"""How many times luck another choice must be ahead of the one in use to take its place. On 300 cases what is left for
less costs more on cases not seen than what it was left for."""

AS_GOOD = 1.0
"""Standard errors of the difference within which two costs are as good as one another."""

AS_HONEST = 0.1
"""Difference, as a share of the cost, up to which two choices are as near to their plans as one another."""

MOST_AHEAD = 6_000
"""Situations that a look-ahead may have to work out for one decision."""

DRAWS = 150
"""Cases drawn from the model of each inner fold to see what its policy is planned to cost."""

FAR_BEHIND = 2.0
"""Standard errors behind the best at which a choice is not tried on further folds."""

MOST_INNER = 1_500
"""Cases that inner folds replay: with more, a choice is as good and takes longer."""

Split = tuple[Ids, Ids]


@dataclass(frozen=True, eq=False)
class Tried:
    """A choice on inner folds: the cost of each case (m,), and what was planned, on average, asked for when needed."""

    choice: Choice
    cost: Array
    plan: Callable[[], float]

    @cached_property
    def planned(self) -> float:
        return self.plan()


class Trial:
    """Tries choices on inner splits of some cases; what two choices share is worked out once."""

    def __init__(self, cases: Cases, splits: Sequence[Split], *, seed: int) -> None:
        self.cases, self.splits, self.seed = cases, splits, seed
        self._cuts: dict[tuple[int, int], tuple[Cut, ...]] = {}
        self._fitted: dict[tuple[object, ...], Fitted] = {}
        self._costs: dict[tuple[int, Choice], Array] = {}

    def learned(self, place: int, choice: Choice) -> Learned:
        """The model of `choice` made of the training cases of a split."""
        cases, train = self.cases, self.splits[place][0]
        cut, key = (place, choice.outcomes), (place, *choice.fitting)
        if cut not in self._cuts:
            self._cuts[cut] = cut_all(cases.table, cases.plan, train, choice.outcomes)
        if key not in self._fitted:
            self._fitted[key] = fit_all(
                cases.table, cases.plan, cases.diagnosis, train, choice, self._cuts[cut], seed=self.seed
            )
        made = self._cuts[cut], self._fitted[key]
        return build(cases.table, cases.plan, cases.diagnosis, train, choice, made=made)

    def race(self, choices: Sequence[Choice]) -> list[Tried]:
        """What `choices` cost on the inner folds, one fold after the other; those far behind drop out on the way, but
        for the first."""
        left = list(dict.fromkeys(choices))
        for place in range(len(self.splits)):
            tried = [self._tried(choice, place + 1) for choice in left]
            best = min(tried, key=lambda one: one.cost.mean())
            left = [one.choice for one in tried if one is tried[0] or excess(one, best, errors=FAR_BEHIND) <= 0]
        return [self._tried(choice, len(self.splits)) for choice in left]

    def _tried(self, choice: Choice, folds: int) -> Tried:
        costs = [self._cost(place, choice) for place in range(folds)]
        return Tried(choice, np.concatenate(costs), lambda: self._planned(choice))

    def _cost(self, place: int, choice: Choice) -> Array:
        if (place, choice) not in self._costs:
            learned, (_, test) = self.learned(place, choice), self.splits[place]
            outcomes = learned.outcomes(self.cases.table, test)
            replayed = replay(learned.problem, choice.agent, outcomes)
            self._costs[place, choice] = cost_of(self.cases, replayed, test) * self.cases.weight[test]
        return self._costs[place, choice]

    def _planned(self, choice: Choice) -> float:
        made = (self.learned(place, choice) for place in range(len(self.splits)))
        return float(np.mean([planned_cost(one, choice, draws=DRAWS, seed=self.seed) for one in made]))


def choose(cases: Cases, splits: Sequence[Split], *, seed: int, grid: Grid) -> dict[str, Choice]:
    """The choices by name: `policy`, the one to use, and those that stand beside it.

    `one step ahead`, `cost only` (as deep as is affordable), `efe` (weight 1), `efe, weight chosen`: same model.
    """
    trial = Trial(cases, splits, seed=seed)
    scale = weight_scale(cases)
    weights = [round(weight * scale, 6) for weight in grid.weights]
    subtypes = [k for k in grid.subtypes if k == 1 or _enough(cases, k)]
    best = Choice(outcomes=grid.outcomes[0], shrinkage=grid.shrinkages[0], subtypes=subtypes[0])
    horizons = [h for h in grid.horizons if h == 1 or affordable(trial.learned(0, best).problem, h)]
    best = replace(best, horizon=horizons[0])
    best = settled(trial.race([one for k in subtypes for one in _weighed(replace(best, subtypes=k), weights)]))
    best = settled(trial.race([replace(best, outcomes=n) for n in grid.outcomes]))
    best = settled(trial.race([replace(best, shrinkage=s) for s in grid.shrinkages]))
    best = settled(trial.race([replace(best, horizon=h) for h in horizons]))
    best = tempered(trial.race([replace(best, tempering=t) for t in grid.temperings]))
    deepest = max(horizons)
    weighed = trial.race([one for one in _weighed(best, weights) if one.weight > 0])
    return {
        "policy": best,
        "one step ahead": replace(best, horizon=1, weight=0.0),
        "cost only": replace(best, horizon=deepest, weight=0.0),
        "efe": replace(best, horizon=deepest, weight=1.0),
        "efe, weight chosen": min(weighed, key=lambda tried: tried.cost.mean()).choice,
    }


def _weighed(choice: Choice, weights: Sequence[float]) -> list[Choice]:
    """`choice` without a weight, and with each of `weights` on what information may be about."""
    abouts = ("diagnosis", "state") if choice.subtypes > 1 else ("diagnosis",)
    return [
        replace(choice, weight=0.0, about="diagnosis"),
        *(replace(choice, weight=weight, about=about) for about in abouts for weight in weights),
    ]


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


def drawn_cases(problem: POMDP, count: int, generator: np.random.Generator) -> Ids:
    """Outcomes (count, T) of all tests in cases drawn from `problem`."""
    states = generator.choice(len(problem.states), size=count, p=problem.prior)
    tests = problem.flat.tests
    found = np.empty((count, len(tests)), dtype=np.int64)
    for place, test in enumerate(tests):
        cumulative = np.cumsum(test.likelihood, axis=1)[states]
        found[:, place] = (generator.random(count)[:, None] >= cumulative[:, :-1]).sum(axis=1)
    return found


def affordable(problem: POMDP, horizon: int) -> bool:
    """Whether looking `horizon` tests ahead is a matter of moments."""
    arcs = sum(len(test.outcomes) for test in problem.flat.tests)
    return bool(arcs**horizon <= MOST_AHEAD)


def weight_scale(cases: Cases) -> float:
    """What not testing costs, per nat of doubt about the diagnosis."""
    prior = prior_of(cases.plan, cases.diagnosis)
    doubt = float(entropy(prior[None, :])[0])
    return float((cases.plan.losses @ prior).min()) / doubt if doubt > 0 else 0.0


def _enough(cases: Cases, subtypes: int) -> bool:
    """Whether the rarest diagnosis has cases for so many subtypes."""
    return subtypes == 1 or int(np.bincount(cases.diagnosis).min()) >= 10 * subtypes


def settled(tried: Sequence[Tried]) -> Choice:
    """The first of choices that were tried, unless another is better by more than the best of so many is by luck."""
    first, best = tried[0], min(tried, key=lambda one: one.cost.mean())
    return best.choice if excess(first, best, errors=luck(len(tried) - 1)) > 0 else first.choice


def tempered(tried: Sequence[Tried]) -> Choice:
    """Of choices about as good as the best the one whose plan is nearest to what it cost; the first where that is as
    near as another."""
    best = min(tried, key=lambda one: one.cost.mean())
    equal = [one for one in tried if excess(one, best, errors=AS_GOOD) <= 0]
    apart = [abs(one.planned - one.cost.mean()) for one in equal]
    least = min(apart) + AS_HONEST * float(best.cost.mean())
    return next(one.choice for one, gap in zip(equal, apart, strict=True) if gap <= least)


def luck(others: int) -> float:
    """Standard errors that the best of `others` must be ahead: SURE times what it is where all are equal, about."""
    from scipy.special import ndtri

    return SURE * max(1.0, float(ndtri((others - 0.375) / (others + 0.25)))) if others else SURE


def excess(one: Tried, best: Tried, *, errors: float) -> float:
    """How far the cost of `one` is above that of `best`, beyond so many standard errors of the difference."""
    more = one.cost - best.cost
    return float(more.mean() - errors * more.std() / np.sqrt(len(more)))

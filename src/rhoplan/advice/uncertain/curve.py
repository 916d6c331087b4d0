"""The decision curve of a model of two diagnoses and two decisions: net benefit over the threshold.

At a threshold t one would act from a chance t of the diagnosis on: needless action then does t / (1 - t) times as much
harm as action where it is needed does good (Vickers and Elkin, 2006). Net benefit counts cases that rightly get action,
less harm and the price of tests, both measured by that good. The plan is made anew for every threshold; beside it stand
acting on everybody, on nobody, and after every test has been run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rhoplan.advice.everything import all_tests
from rhoplan.advice.pathway import looked_for
from rhoplan.advice.uncertain.weighing import Weigher
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.batch import ParameterBatch

THRESHOLDS = tuple(round(0.01 * step, 2) for step in range(1, 100, 2))


@dataclass(frozen=True)
class CurvePoint:
    """Net benefit per case at one threshold; nobody's is 0. tested: None where there are too many results to list."""

    threshold: float
    plan: float
    everybody: float
    tested: float | None


@dataclass(frozen=True)
class Curve:
    """action: what is done to those who have `diagnosis`. own: the model's own threshold."""

    diagnosis: str
    action: str
    own: float
    points: tuple[CurvePoint, ...]


def decision_curve(weigher: Weigher) -> Curve | None:
    """The curve, exact; None unless there are two diagnoses, two decisions each of which is right for one, and nothing
    was seen yet."""
    problem = weigher.problem
    commits, factor, positive = problem.flat.commits, problem.factors[0], looked_for(problem)
    if not positive or len(commits) != 2 or weigher.agent.weight_per_nat or weigher.given:
        return None
    place = factor.diagnoses.index(positive)
    ill, rewards = factor.groups == place, np.stack([factor.by_diagnosis(commit.reward) for commit in commits])
    act = int(rewards[:, place].argmax())
    better = (rewards[act] - rewards[1 - act]).tolist()
    good, harm = better[place], -better[1 - place]
    if not (good > 0 and harm > 0):
        return None
    thresholds = np.array(THRESHOLDS)
    numbers = ParameterBatch.of(problem, len(thresholds))
    harms = good * thresholds / (1 - thresholds)
    nothing = commits[1 - act].reward
    numbers.payoff[:, act] = np.where(ill, commits[act].reward, nothing - harms[:, None])
    left, prevalence = float(problem.prior @ nothing), float(problem.prior[ill].sum())
    plan = (weigher.weigh(numbers).best - left) / good
    everybody = prevalence - (1 - prevalence) * thresholds / (1 - thresholds)
    tested = [_tested(problem, act, row, left, good) for row in numbers.payoff[:, act]]
    points = zip(THRESHOLDS, plan.tolist(), everybody.tolist(), tested, strict=True)
    return Curve(positive, commits[act].name, harm / (harm + good), tuple(CurvePoint(*one) for one in points))


def _tested(problem: POMDP, act: int, reward: Array, left: float, good: float) -> float | None:
    menu = problem.flat
    commits = tuple(replace(c, reward=reward) if place == act else c for place, c in enumerate(menu.commits))
    found = all_tests(replace(problem, menu=replace(menu, commits=commits)))
    return None if found is None else float(found.reward - left) / good

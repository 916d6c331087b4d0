"""A second opinion on the bounds of a plan of errands, in situations met on the way: nothing is taken from the plan but
its claims, which are backed up by the menus of the problem.

Lower: what is claimed of a situation is at most what the plan's next action pays, plus what is claimed of what it leads
to; by induction no claim is above what following the plan earns. Upper: no action pays more, with what is claimed of
what it leads to, than is claimed of the situation. There the claims come from bounds on single errands, which need not
agree with each other to more than their own gaps: what an errand leads to counts as its lower bound says, so an upper
bound that is too low by less than such a gap goes unnoticed. Without a discount a backup says something only where
going on costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.random import Generator

from rhoplan.belief_math.information import information
from rhoplan.errors import EvidenceError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import END, Action
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.pointbased.check import Certificate, Worth, excess, in_time, sized

ASIDE = 0.25
"""How often an action is taken on the way that is not the plan's."""

LONGEST = 200
"""Actions on the way before it begins again."""


def check_errands(policy: ErrandPolicy, rng: Generator, *, most: int = 60, seconds: float = np.inf) -> Certificate:
    """Check both bounds in up to `most` situations, until `seconds` are over."""
    below, above = [-math.inf], [-math.inf]
    for situation in in_time(_met(policy, rng, most), seconds):
        claimed = policy.plan.lower(situation)
        if math.isfinite(claimed):
            below.append(_lower_excess(policy, situation, claimed))
        most_claimed = policy.own_upper(situation)
        if math.isfinite(most_claimed):
            above.append(_upper_excess(policy, situation, most_claimed))
    return Certificate(max(below), max(above), len(below) - 1, len(above) - 1)


def _met(policy: ErrandPolicy, rng: Generator, most: int) -> Iterator[Situation]:
    """Situations on the way from the start, by the plan and now and then aside from it."""
    situation, steps = policy.origin.belief(), 0
    for _ in range(most):
        yield situation
        branches = situation.branches(_next(policy, situation, rng))
        chances = np.array([each.probability for each in branches])
        place = int(rng.choice(len(branches), p=chances / chances.sum()))
        situation, steps = branches[place].belief, steps + 1
        if situation.observable is END or steps >= LONGEST:
            situation, steps = policy.origin.belief(), 0


def _next(policy: ErrandPolicy, situation: Situation, rng: Generator) -> Action:
    menu = policy.origin.menu(situation.observable)
    if rng.random() >= ASIDE:
        try:
            return _named(menu, policy.action(situation))
        except EvidenceError:
            pass
    return menu[rng.integers(len(menu))]


def _lower_excess(policy: ErrandPolicy, situation: Situation, claimed: float) -> float:
    """By how much the claim goes beyond the backup of the plan's action; infinite where the plan has none."""
    try:
        action = _named(policy.origin.menu(situation.observable), policy.action(situation))
    except EvidenceError:
        return math.inf
    return excess(sized(claimed), _backup(policy, situation, action, policy.plan.lower))


def _upper_excess(policy: ErrandPolicy, situation: Situation, claimed: float) -> float:
    """By how much the backup of some action goes beyond the claim."""
    least, menu = partial(policy.own_upper, least=True), policy.origin.menu(situation.observable)
    if policy.settings.discount == 1 and any(_goes_on_for_nothing(action, situation) for action in menu):
        return math.inf
    return max(excess(_backup(policy, situation, action, least), sized(claimed)) for action in menu)


def _goes_on_for_nothing(action: Action, situation: Situation) -> bool:
    """Whether an action stays where it is, or goes elsewhere whatever is hidden, and may cost nothing: without a
    discount, who takes such for ever earns what no backup tells."""
    stays, walks = situation.observable in action.leads_to, float(np.ptp(action.reward)) == 0
    return (stays or walks) and END not in action.leads_to and float(action.reward.max()) >= 0


def _backup(policy: ErrandPolicy, situation: Situation, action: Action, value: Callable[[Situation], float]) -> Worth:
    """What `action` pays, information included, and the discounted `value` of where it leads."""
    belief = situation.beliefs[action.factor]
    weight, discount = policy.settings.weight, policy.settings.discount
    paid = float(action.reward @ belief) + weight * float(information(belief[None, :], action)[0])
    total = Worth(paid, float(np.abs(action.reward) @ belief) + weight * math.log(len(belief)))
    for each in situation.branches(action):
        if each.belief.observable is not END:
            total = total.plus(discount * each.probability, sized(value(each.belief)))
    return total


def _named(menu: tuple[Action, ...], name: str) -> Action:
    return next(action for action in menu if action.name == name)

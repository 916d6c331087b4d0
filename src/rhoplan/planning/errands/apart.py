"""Whether a problem comes apart into errands for good: what `survey` reads off around the start holds ever after.

A survey is a picture from the start. Plans may be made from it whatever comes later; but who says what no plan can beat
must know that each factor is dealt with once, in one place, and that nothing else changes on the way: every visible
state offers what its place offers at the start, but for factors dealt with. Either these are no longer on offer, or
they are spent: dealing with a factor leaves it in states in which doing so again pays nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import END, Action, Problem, Visible
from rhoplan.model.transitions import expected, key
from rhoplan.planning import clock
from rhoplan.planning.errands.places import Survey, depends, is_walk

MOST_LOOKED_AT = 100_000
"""Visible states that are compared one by one."""

Mask = NDArray[np.bool_]

Label = tuple[Visible, frozenset[int]]
"""The place of the start's surroundings that a visible state is like, and the factors dealt with."""


def comes_apart(
    problem: Problem, found: Survey, *, discounts: bool, informs: bool = False, deadline: float = math.inf
) -> bool:
    """Whether each visible state offers what its place offers at the start, but for the factors dealt with.

    found: the survey from the start. discounts: whether rewards are discounted: if not, what costs nothing can be done
    for ever, which must not be on offer. informs: whether information has a price: then a test brings something also
    where nothing is left to decide. A menu may promise it (`factors_apart`), where there are too many to look at.
    """
    if getattr(problem.menu, "factors_apart", False):
        return True
    spent = {factor for factor in found.factors if _is_spent(problem, found, factor)}
    sure = {factor for factor in found.factors if _is_sure(problem, found, factor)}
    label: dict[Visible, Label] = {problem.start: (problem.start, frozenset())}
    queue = [problem.start]
    for visible in queue:
        clock.check(deadline)
        if len(queue) > MOST_LOOKED_AT:
            return False
        twin, done = label[visible]
        known = done & sure if informs else done  # where a test is of no use
        menu = [action for action in problem.menu(visible) if not _is_idle(action, known, visible, discounts)]
        model = [action for action in problem.menu(twin) if action.factor not in done or _is_open(action)]
        if len(menu) != len(model):
            return False
        for action, like in zip(menu, model, strict=True):
            if numbers_of(action) != numbers_of(like) or not _is_plain(like, found, twin, informs):
                return False
            deals = len(like.outcomes) == 1 and not _is_open(like)
            if not deals and not _is_open(like) and set(action.leads_to) != {visible}:
                return False
            stays = like.factor in spent and set(action.leads_to) == {visible}
            left = done | {like.factor} if deals and not stays else done
            label_there = like.leads_to[0] if is_walk(like) else twin, left
            last = len(left) == len(found.factors)
            if deals and found.optional and END in action.leads_to:
                return False  # nobody leaves after that, but tours do
            if deals and not found.optional and END not in action.leads_to and (last or (stays and not discounts)):
                return False  # it never ends
            for there in action.leads_to:
                if there is END:
                    if not found.optional and not last:
                        return False
                elif there not in label:
                    label[there] = label_there
                    queue.append(there)
                elif label[there] != label_there:
                    return False
    return True


def going_on_costs(problem: Problem, found: Survey) -> bool:
    """Whether every walk and every test around the start has a price, and so has dealing with a factor once more:
    without a discount, who never ends then loses without limit."""
    return all(
        float(action.reward[_after(action)].max()) < 0
        for visible in found.place
        for action in problem.menu(visible)
        if is_walk(action) or visible in action.leads_to
    )


def _after(action: Action) -> Mask:
    """The states (S,) that an action can leave its factor in."""
    states = np.eye(len(action.reward))
    if action.transition is None:
        return np.ones(len(states), dtype=bool)
    change = action.transition
    return np.array([any(expected(change, o, held).any() for o in range(len(action.outcomes))) for held in states])


def ending_is_best(problem: Problem, found: Survey, discount: float) -> bool:
    """Whether no plan gains by never ending, or by putting off what it must lose: who knows what is hidden then does
    his errands one after the other and ends."""
    if discount == 1 and going_on_costs(problem, found):
        return True
    return found.optional and bool((found.leaving >= 0).all())


def numbers_of(action: Action) -> tuple[object, ...]:
    """What tells two actions apart, but for where they lead to."""
    return action.name, action.factor, action.reward.tobytes(), action.likelihood.tobytes(), key(action.transition)


def _is_open(action: Action) -> bool:
    """Whether an action is about no factor: a walk, or an end that pays the same whatever is hidden."""
    return is_walk(action) or (action.ends_episode and not depends(action))


def _is_idle(action: Action, done: frozenset[int], visible: Visible, discounts: bool) -> bool:
    """Whether an action does no more than test, for a price, a factor that has been dealt with; with a discount the
    price may be 0."""
    test = len(action.outcomes) > 1 and action.preserves_hidden_state and set(action.leads_to) == {visible}
    price = -float(action.reward.max())
    return test and action.factor in done and (price > 0 or (discounts and price == 0))


def _is_plain(action: Action, found: Survey, place: Visible, informs: bool) -> bool:
    """Whether an action at a place of the survey is a walk, an end, a test for a price, or deals with the factor whose
    errand waits there. Where information has a price a test must be about such a factor."""
    if _is_open(action):
        return True
    if not depends(action):
        known = not informs or action.factor in found.factors
        return known and len(action.outcomes) > 1 and float(action.reward[0]) <= 0
    there = found.factors.index(action.factor) if action.factor in found.factors else -1
    return there >= 0 and int(found.site[there]) == found.place[place]


def _deals(problem: Problem, found: Survey, factor: int) -> list[Action]:
    """The actions that deal with a factor, at the place of its errand."""
    site = list(found.place)[int(found.site[found.factors.index(factor)])]
    return [action for action in problem.menu(site) if action.factor == factor and depends(action)]


def _is_sure(problem: Problem, found: Survey, factor: int) -> bool:
    """Whether dealing with a factor leaves it in one state, whatever it was in: there is nothing left to know."""
    states = np.eye(len(problem.factors[factor].states))
    return all(
        deal.transition is not None and any((expected(deal.transition, 0, held) == 1).all() for held in states)
        for deal in _deals(problem, found, factor)
    )


def _is_spent(problem: Problem, found: Survey, factor: int) -> bool:
    """Whether dealing with a factor leaves it in states in which dealing with it again pays nothing."""
    deals = _deals(problem, found, factor)
    reached = np.any([_after(action) for action in deals], axis=0)
    return not any((action.reward[reached] > 0).any() for action in deals)

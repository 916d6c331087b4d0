"""Whether a problem decomposes into site tasks throughout: whether the site graph at the start describes every state.

A site graph describes the surroundings of one observable state. Plans can be made from it whatever comes later. An
upper bound needs more: each factor is dealt with once, at one site, and nothing else changes on the way. Every
observable state must offer what its place offers at the start, but for factors that have been dealt with. These are
either no longer on offer, or they are spent: dealing with a factor leaves it in states in which doing so again pays
nothing.

Shapes: S hidden states of a factor.
"""

from __future__ import annotations

import math

import numpy as np

from rhoplan.belief_math.transitions import entries
from rhoplan.model.pomdp import END, POMDP, Action, Ids, Observable
from rhoplan.planning import clock
from rhoplan.planning.routing.settings import SETTINGS, RoutingSettings
from rhoplan.planning.routing.site_graph import SiteGraph, depends, is_move

Label = tuple[Observable, frozenset[int]]
"""The place of the start's surroundings that an observable state is like, and the factors dealt with."""


def decomposes(
    problem: POMDP,
    found: SiteGraph,
    *,
    discounts: bool,
    informs: bool = False,
    deadline: float = math.inf,
    settings: RoutingSettings = SETTINGS,
) -> bool:
    """Whether each observable state offers what its place offers at the start, but for factors dealt with.

    found: the site graph at the start. discounts: whether rewards are discounted: if not, what costs nothing can be
    repeated for ever, and must not be on offer. informs: whether information has a price: then a test pays even if
    nothing is left to decide. A problem with too many states can promise it (`factors_apart` of its menu). TimeoutError
    after `deadline`.
    """
    if getattr(problem.menu, "factors_apart", False):
        return True
    deals = {factor: _deals(problem, found, factor) for factor in found.factors}
    spent = {factor for factor in deals if _is_spent(deals[factor])}
    sure = {factor for factor in deals if _is_sure(deals[factor])}
    label: dict[Observable, Label] = {problem.start: (problem.start, frozenset())}
    queue = [problem.start]
    for observable in queue:
        clock.check(deadline)
        if len(queue) > settings.compared:
            return False
        twin, done = label[observable]
        known = done & sure if informs else done  # where a test is of no use
        menu = [action for action in problem.menu(observable) if not _is_idle(action, known, observable, discounts)]
        model = [action for action in problem.menu(twin) if action.factor not in done or _is_open(action)]
        if len(menu) != len(model):
            return False
        for action, like in zip(menu, model, strict=True):
            if numbers_of(action) != numbers_of(like) or not _is_plain(like, found, twin, informs):
                return False
            is_deal, is_here = depends(like), set(action.leads_to) == {observable}
            if not is_deal and not _is_open(like) and not is_here:
                return False  # a test that changes the observable state
            stays = like.factor in spent and is_here
            left = done | {like.factor} if is_deal and not stays else done
            is_last = len(left) == len(found.factors)
            if is_deal and found.is_optional == (END in action.leads_to):
                if found.is_optional:
                    return False  # the episode is over after that, but tours go on
                if is_last or (stays and not discounts):
                    return False  # it never ends
            there = like.leads_to[0] if is_move(like) else twin, left
            for following in action.leads_to:
                if following is END:
                    if not found.is_optional and not is_last:
                        return False
                elif following not in label:
                    label[following] = there
                    queue.append(following)
                elif label[following] != there:
                    return False
    return True


def going_on_costs(problem: POMDP, found: SiteGraph) -> bool:
    """Whether every move and every test around the start has a price, and so has dealing with a factor once more:
    without a discount, a policy that never ends then loses without limit."""
    return all(
        float(action.reward[_after(action)].max()) < 0
        for observable in found.place
        for action in problem.menu(observable)
        if is_move(action) or observable in action.leads_to
    )


def ending_is_best(problem: POMDP, found: SiteGraph, discount: float) -> bool:
    """Whether no policy gains by never ending, or by putting off losses: with full information, the best policy then
    does its tasks one after the other and ends."""
    if discount == 1 and going_on_costs(problem, found):
        return True
    return found.is_optional and bool((found.leaving >= 0).all())


def numbers_of(action: Action) -> tuple[object, ...]:
    """What distinguishes two actions, except where they lead."""
    change = b"" if action.transition is None else action.transition.tobytes()
    return action.name, action.factor, action.reward.tobytes(), action.likelihood.tobytes(), change


def _after(action: Action) -> Ids:
    """The states that an action can leave its factor in."""
    if action.transition is None:
        return np.arange(len(action.reward))
    return np.unique(entries(action.transition, len(action.outcomes))[2])


def _is_open(action: Action) -> bool:
    """Whether an action is about no factor: a move, or an end that pays the same whatever is hidden."""
    return is_move(action) or (action.ends_episode and not depends(action))


def _is_idle(action: Action, done: frozenset[int], observable: Observable, discounts: bool) -> bool:
    """Whether an action only tests, for a price, a factor that has been dealt with; with a discount it may be free."""
    test = len(action.outcomes) > 1 and action.preserves_hidden_state and set(action.leads_to) == {observable}
    price = -float(action.reward.max())
    return test and action.factor in done and (price > 0 or (discounts and price == 0))


def _is_plain(action: Action, found: SiteGraph, place: Observable, informs: bool) -> bool:
    """Whether an action at a place is a move, an end, a test for a price, or deals with the factor of this site. If
    information has a price, a test must be about a factor that has a site."""
    if _is_open(action):
        return True
    has_site = action.factor in found.factors
    if depends(action):
        return has_site and int(found.site[found.factors.index(action.factor)]) == found.place[place]
    return (has_site or not informs) and len(action.outcomes) > 1 and float(action.reward[0]) <= 0


def _deals(problem: POMDP, found: SiteGraph, factor: int) -> list[Action]:
    """The actions that deal with a factor, at its site."""
    site = list(found.place)[int(found.site[found.factors.index(factor)])]
    return [action for action in problem.menu(site) if action.factor == factor and depends(action)]


def _is_sure(deals: list[Action]) -> bool:
    """Whether dealing with a factor leaves it in one state, whatever it was in: there is nothing left to know."""
    return all(deal.transition is not None and len(_after(deal)) == 1 for deal in deals)


def _is_spent(deals: list[Action]) -> bool:
    """Whether dealing with a factor leaves it in states in which dealing with it again pays nothing."""
    reached = np.concatenate([_after(action) for action in deals])
    return not any((action.reward[reached] > 0).any() for action in deals)

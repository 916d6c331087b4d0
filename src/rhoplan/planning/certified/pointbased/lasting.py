"""How long it can last: a number N(s) for each state with N >= 1 + g sum of P N, whatever is done.

What each step misses by e at most, all steps together miss by e N at most: that is how guesses at bounds become bounds.
With a discount N is 1 / (1 - g) at most. Without one, or with one near 1, it is the largest number of steps to come,
where every plan ends: an end that comes by chance at each step, which is how some files write a discount, is one.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.policies import MOST_DENSE
from rhoplan.planning.certified.pointbased.seen import best_actions, values_of

LONGEST, MARGIN = 1e6, 1e-6
"""Steps that are taken for endless; and what of each step is left for rounding, as there are no more."""

NEAR_ONE = 0.999
"""Discounts below this make N small enough."""

MOST_ROUNDS, SHARE = 50, 0.05
"""Rounds of policy iteration, of which a handful is the rule; and the share of the time there is that they may take."""


def lasting(problem: Compiled, discount: float, deadline: float) -> Array:
    """Such a number for each state (N,). Without a discount infinite where there is none, or where finding one would
    take long."""
    begin, endless = clock.now(), np.full(problem.slots, 1 / (1 - discount) if discount < 1 else np.inf)
    if problem.slots > MOST_DENSE or discount < NEAR_ONE or not problem.ended.any():
        return endless
    model, one = problem.model, np.ones(len(problem.model.reward))
    chosen, work = np.full(problem.slots, -1), np.empty(int(problem.sizes.max()))
    steps, out = np.zeros(problem.slots), np.empty(len(one))
    for _ in range(MOST_ROUNDS):
        before = chosen.copy()
        best_actions(model, one, discount, steps, out, chosen, 1, work)
        if np.array_equal(chosen, before):
            break
        try:
            steps = values_of(problem, one, discount, chosen)
        except np.linalg.LinAlgError:
            return endless
        if steps.min() < 0 or not steps.max() <= LONGEST or clock.now() - begin > SHARE * (deadline - begin):
            return endless
    least = float((steps[problem.row_slot] - discount * problem.expected(steps)).min(initial=1.0)) - MARGIN
    return np.minimum(steps / least, endless) if least > 0 else endless

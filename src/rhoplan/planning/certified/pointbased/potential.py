"""How much of the entropy must be taken off the value so that what is left is convex: the least share c we can prove.

V - c w H, put into the equation of V, is convex if for each action H(S') - (1 - g c) H(S' | O) - c H(S) is convex in
the belief over S. Its curvature along a change v of the belief b is, with chi2(X) = sum over x of v_X(x)^2 / b_X(x), at
least c chi2(S) - g c chi2(S', O) - (1 - g c) chi2(O), as chi2(S') <= chi2(S', O). Any (b, v) is a mixture of such on
two states each, with the same ratios v / b; chi2(S) is the same mixture of theirs, and the other two, being convex, are
at most that. So two states x, y at a time are enough. With b = (beta, 1 - beta), P and Q what follows from x and y,

    chi2(X) / chi2(S) = 1 - sum over what follows of P Q / (beta P + (1 - beta) Q),

which is concave in beta, so that a tangent beyond its top bounds it. c = 1 always serves; noise makes it less.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array
from rhoplan.planning.certified.pointbased.compiled import Compiled, Model
from rhoplan.planning.certified.pointbased.machine import compiled

MOST_WORK = 2e6
"""Products P Q that are looked at, at most: a few milliseconds. In larger problems c = 1."""

MARGIN = 1e-3
"""By how much c may be more than needed."""

HALVINGS = 30
"""Times that the interval around the top of the curve is halved: its width is then below MARGIN by far."""


def least_share(problem: Compiled, discount: float) -> float:
    """The least c in (0, 1], up to MARGIN, for which V - c w H is shown to be convex."""
    model = problem.model
    if not problem.pairs or float(len(model.chance)) * float(problem.sizes.max()) > MOST_WORK:
        return 1.0
    widest = int(np.bincount(problem.entries.source).max())
    return float(largest_share(model, discount, np.zeros(int(problem.sizes.max())), np.zeros((2, 2, widest + 1))))


@compiled
def largest_share(model: Model, discount: float, row: Array, both: Array) -> float:
    """c, over all actions and all pairs of states. row: zeros, as long as the largest class. both: room for P and Q."""
    share = MARGIN
    for pair in range(len(model.pair_class)):
        home = model.pair_class[pair]
        size = model.class_state[home + 1] - model.class_state[home]
        for x in range(size):
            for y in range(x):
                share = raised(model, discount, pair, x, y, share, row, both)
                if share >= 1.0:
                    return 1.0
    return share


@compiled
def raised(model: Model, discount: float, pair: int, x: int, y: int, share: float, row: Array, both: Array) -> float:
    """The least c from `share` on that serves for the two states x and y."""
    count, outcomes = 0, 0
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        begin, one, other = model.branch_row[branch], 0.0, 0.0
        for place in range(model.row[begin + x], model.row[begin + x + 1]):
            row[model.column[place]] += model.chance[place]
            one += model.chance[place]
        for place in range(model.row[begin + y], model.row[begin + y + 1]):
            other += model.chance[place]
            if row[model.column[place]] > 0.0:
                both[0, 0, count], both[0, 1, count] = row[model.column[place]], model.chance[place]
                count += 1
        for place in range(model.row[begin + x], model.row[begin + x + 1]):
            row[model.column[place]] = 0.0
        if one > 0.0 and other > 0.0:
            both[1, 0, outcomes], both[1, 1, outcomes] = one, other
            outcomes += 1
    while share < 1.0:
        low, high = 0.0, 1.0
        kept = discount * share
        for _ in range(HALVINGS):
            beta = 0.5 * (low + high)
            after, tilt_after = keeps(both[0], count, beta)
            told, tilt_told = keeps(both[1], outcomes, beta)
            worth = kept * after + (1.0 - kept) * told
            tilt = kept * tilt_after + (1.0 - kept) * tilt_told
            if worth > share:
                break
            if worth + (tilt * (high - beta) if tilt > 0.0 else tilt * (low - beta)) <= share:
                return share
            if tilt > 0.0:
                low = beta
            else:
                high = beta
        share = max(share, told / max(1.0 - discount * (after - told), 1e-300)) + MARGIN
    return 1.0


@compiled
def keeps(both: Array, count: int, beta: float) -> tuple[float, float]:
    """chi2(X) / chi2(S) at `beta`, and its slope."""
    lost, slope = 0.0, 0.0
    for place in range(count):
        mean = beta * both[0, place] + (1.0 - beta) * both[1, place]
        part = both[0, place] * both[1, place] / mean
        lost += part
        slope += part * (both[0, place] - both[1, place]) / mean
    return 1.0 - lost, slope

"""A Markov decision problem given by sparse rows, and its best values by policy iteration.

Points are worth what their best action is, and each child is a mixture of points; the vectors of a plan are worth what
they pay and what they go on with. Both are rows `known + share @ x` with few shares each. The values of one choice of
rows are a linear system, solved by BiCGSTAB (van der Vorst 1992), its rows scaled to a diagonal of ones: a step costs
no more than a sweep, and a discount near 1 needs some dozen steps where sweeps need thousands. Nothing that is claimed
rests on how well this converges: what one sweep finds missing at the end is paid for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.machine import compiled, sparse_dot
from rhoplan.planning.machine import handed

SETTLED = 1e-15
"""An action is better than another by more than this share of the largest value; less is rounding."""

MOST_ROUNDS = 30
"""Rounds of policy iteration; a handful is the rule, and after any number the values are made to hold."""

MOST_STEPS, MOST_STARTS = 200, 6
"""Steps of BiCGSTAB after which what is left over is worked out anew, and how often it is at most."""

WEIGHED = 1e-6
"""What may be left over of each equation of weights, of which the largest is 1 or more."""

TINY = 1e-300
"""Products below this are taken for zero: the method begins anew."""


@handed
class Rows(NamedTuple):
    """Row k is worth min(known[k] + sum of share[i] x[member[i]], most[k]), i from begin[k] to begin[k + 1]. Member m
    has the rows from first[m] to first[m + 1]."""

    first: Ids
    begin: Ids
    member: Ids
    share: Array
    known: Array
    most: Array


def empty_rows(first: Ids, shares: int) -> Rows:
    """Room for the rows of members that have them from `first` (n + 1,) on, with so many shares at most."""
    rows = int(first[-1])
    begin, member = np.empty(rows + 1, dtype=np.int64), np.empty(shares, dtype=np.int64)
    return Rows(first.astype(np.int64), begin, member, np.empty(shares), np.empty(rows), np.empty(rows))


def best_values(
    values: Array,
    rows: Rows,
    lasting: Array,
    *,
    rounding: float,
    exact: float,
    more: float = 0.0,
    deadline: float = np.inf,
) -> tuple[Array, Ids]:
    """What the members (n,) are worth at most, from the guess `values`, and the row that is best for each.

    lasting (n,): more than the shares of each row make of it, or nothing is known. rounding: what sums lose, as a share
    of what is added up. more: what a row may be worth more. exact: what may be left over of each equation. After the
    deadline they are what they are: worth less, but they hold.
    """
    members = len(values)
    chosen, space = np.full(members, np.iinfo(np.int64).min), np.empty((8, members))
    values = values.copy()
    for _ in range(MOST_ROUNDS):
        if not choose(rows, values, chosen) or clock.now() > deadline:
            break
        solve_chosen(rows, chosen, values, space, exact)
    values += lasting * missing(rows, values, lasting, rounding, more)
    return values, np.where(chosen < 0, -1 - chosen, chosen)


def plan_values(values: Array, rows: Rows, exact: float) -> Array:
    """What the members are worth that have one row each, nearly: what is left over is at most `exact` if all goes well.

    values: a guess.
    """
    result = values.copy()
    solve_chosen(rows, np.arange(len(values)), result, np.empty((8, len(values))), exact)
    return result


def weights_of(rows: Rows, chosen: Ids, member: int) -> Array:
    """How much what each member is worth counts for what `member` is, where these rows are taken: nearly.

    Weights are values too, of the same rows read backwards: a member counts for itself, and for all that it is in.
    """
    members, count = len(chosen), rows.begin[chosen + 1] - rows.begin[chosen]
    source = np.repeat(np.arange(members), count)
    places = np.arange(len(source)) + np.repeat(rows.begin[chosen] - np.cumsum(count) + count, count)
    order = np.argsort(rows.member[places], kind="stable")
    begin = np.searchsorted(rows.member[places[order]], np.arange(members + 1))
    known, most = np.zeros(members), np.full(members, np.inf)
    known[member] = 1.0
    backwards = Rows(np.arange(members + 1), begin, source[order], rows.share[places[order]], known, most)
    return plan_values(known, backwards, WEIGHED)


@compiled
def worth(rows: Rows, row: int, values: Array) -> float:
    """What `row` is worth if nothing limits it."""
    return float(rows.known[row] + shares(rows, row, values))


@compiled
def shares(rows: Rows, row: int, values: Array) -> float:
    """What `row` has of the values of others."""
    begin, end = rows.begin[row], rows.begin[row + 1]
    return sparse_dot(values, 0, rows.member, begin, rows.share, begin, end - begin)


@compiled
def choose(rows: Rows, values: Array, chosen: Ids) -> bool:
    """Take the best row of each member, -1 - row where `most` limits it; whether any is another one than before."""
    scale, changed = 0.0, False
    for i in range(len(values)):
        scale = max(scale, abs(values[i]))
    for i in range(len(values)):
        before = chosen[i]
        held, top = max(before, -1 - before), -np.inf
        if held < rows.first[i + 1]:
            top = min(worth(rows, held, values), rows.most[held]) + SETTLED * scale
        for row in range(rows.first[i], rows.first[i + 1]):
            value = min(worth(rows, row, values), rows.most[row])
            if value > top:
                top, held = value, row
        limited = worth(rows, held, values) > rows.most[held]
        chosen[i] = -1 - held if limited else held
        changed = changed or chosen[i] != before
    return changed


@compiled
def sweep_in_order(rows: Rows, order: Ids, values: Array) -> float:
    """One sweep over the members, which have one row each, in this order, each worth what those before it are by now;
    the largest change."""
    change = 0.0
    for place in range(len(order)):
        i = order[place]
        total, own = rows.known[i], 0.0
        for entry in range(rows.begin[i], rows.begin[i + 1]):
            if rows.member[entry] == i:
                own += rows.share[entry]
            else:
                total += rows.share[entry] * values[rows.member[entry]]
        total /= 1.0 - own
        change = max(change, abs(total - values[i]))
        values[i] = total
    return change


@compiled
def apply(rows: Rows, chosen: Ids, diagonal: Array, values: Array, out: Array) -> None:
    """out = the scaled system's matrix times `values`."""
    for i in range(len(values)):
        total = values[i]
        if chosen[i] >= 0:
            total -= shares(rows, chosen[i], values)
        out[i] = total / diagonal[i]


@compiled
def left_over(rows: Rows, chosen: Ids, diagonal: Array, values: Array, out: Array) -> float:
    """out = what the scaled equations leave over at `values`; the largest, whatever its sign, of those not scaled."""
    apply(rows, chosen, diagonal, values, out)
    most = 0.0
    for i in range(len(values)):
        out[i] = (rows.known[chosen[i]] if chosen[i] >= 0 else rows.most[-1 - chosen[i]]) / diagonal[i] - out[i]
        most = max(most, abs(out[i]) * diagonal[i])
    return most


@compiled
def times(left: Array, right: Array) -> float:
    """Inner product."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@compiled
def solve_chosen(rows: Rows, chosen: Ids, values: Array, space: Array, exact: float) -> None:
    """Bring `values` near the solution of the equations of the rows chosen. space (8, n): scratch."""
    diagonal, rest, shadow, along, moved, ahead, best, turned = (
        space[0], space[1], space[2], space[3], space[4], space[5], space[6], space[7]
    )  # fmt: skip
    n = len(values)
    for i in range(n):
        diagonal[i] = 1.0
        if chosen[i] >= 0:
            for place in range(rows.begin[chosen[i]], rows.begin[chosen[i] + 1]):
                if rows.member[place] == i:
                    diagonal[i] -= rows.share[place]
    left = left_over(rows, chosen, diagonal, values, rest)
    for _ in range(MOST_STARTS):
        if left <= exact:
            return
        for i in range(n):
            best[i], shadow[i], along[i], moved[i] = values[i], rest[i], 0.0, 0.0
        before = alpha = omega = 1.0
        for _ in range(MOST_STEPS):
            now = times(shadow, rest)
            if abs(now) < TINY or abs(before * omega) < TINY:
                break
            beta = now / before * alpha / omega
            for i in range(n):
                along[i] = rest[i] + beta * (along[i] - omega * moved[i])
            apply(rows, chosen, diagonal, along, moved)
            met = times(shadow, moved)
            if abs(met) < TINY:
                break
            alpha = now / met
            for i in range(n):
                ahead[i] = rest[i] - alpha * moved[i]
            apply(rows, chosen, diagonal, ahead, turned)
            size = times(turned, turned)
            omega = times(turned, ahead) / size if size > TINY else 0.0
            most = 0.0
            for i in range(n):
                values[i] += alpha * along[i] + omega * ahead[i]
                rest[i] = ahead[i] - omega * turned[i]
                most = max(most, abs(rest[i]) * diagonal[i])
            before = now
            if most <= 0.1 * exact:
                break
        after = left_over(rows, chosen, diagonal, values, rest)
        if not after < left:
            for i in range(n):
                values[i] = best[i]
            return
        left = after


@compiled
def missing(rows: Rows, values: Array, lasting: Array, rounding: float, more: float) -> float:
    """The least number m >= 0 for which no row is worth more than its member at `values` + m `lasting`, with rounding
    and `more`; infinite where there is none, as a row makes as much of `lasting` as its member has."""
    most = 0.0
    for i in range(len(values)):
        for row in range(rows.first[i], rows.first[i + 1]):
            total = size = later = 0.0
            for place in range(rows.begin[row], rows.begin[row + 1]):
                part = rows.share[place] * values[rows.member[place]]
                total += part
                size += abs(part)
                later += rows.share[place] * lasting[rows.member[place]]
            total = min(rows.known[row] + total, rows.most[row]) + rounding * (abs(rows.known[row]) + size) + more
            spent = lasting[i] - (1.0 + rounding) * later
            if spent <= 0.0:
                return np.inf
            most = max(most, (total - values[i]) / spent)
    return most

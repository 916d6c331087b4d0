"""Upper bounds on what tests to come can bring, from problems with two states: solved once, looked up everywhere.

Write U = V - w H, with V the best value of reward + w * information. With discount 1, U is the value of optimal
stopping with payoff "best commit - w H"; below 1 each test adds -w (1 - discount) E[H after it]. These are convex in
the belief, so U is, and knowing more never hurts. Three steps make a bound that can be looked up:

    pairs    A helper who says which pair of states {s, t} holds the true one can only help. Whatever the pairs are, as
             long as no state is in two: U(b) <= sum over pairs of b(pair) * U_pair(b given the pair).
    prices   With two states, the kinds of tests that matter most are counted: how many of each are left is part of the
             state of the relaxed problem. Let all others be repeatable, at a price raised by mu >= 0. A plan that runs
             kind k at most n_k times pays at most sum n_k mu_k more than before, so U_pair <= U_mu + sum n_k mu_k. The
             sum is over what is left, and of a group whose first price is not yet paid only what its part has above
             that price counts: whoever runs one of its tests does pay it, and not after the raised price. A cap of m
             further tests bounds the sum by m times the largest mu. The mu that make the bound at one belief smallest
             are found by subgradients (`pricing`).
    grid     U_mu is a function of one number, so value iteration from above on a grid, with chords between its points,
             is an upper bound after every sweep: a convex function lies below its chords.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.many.machine import compiled, copy

SPAN = 16.0
"""Log odds at the ends of the grid; beyond, a state has a probability below 2e-7 and one chord goes on to certainty."""


class Pair(NamedTuple):
    """A problem with two states on a grid of N beliefs, where tests (C kinds, Q outcomes in all) can be repeated.

    share (N,): of the first state. stop (N,): the payoff of stopping. doubt (N, C): what w (1 - discount) E[H] takes.
    chance, place, part (N, Q): discounted probability of an outcome, and where it leads: the point, and the share of
    the way to the next.
    """

    first: Ids
    share: Array
    stop: Array
    doubt: Array
    chance: Array
    place: Ids
    part: Array


def grid(points: int) -> Array:
    """Shares of the first state, from 0 to 1, evenly spaced in log odds between -SPAN and SPAN."""
    odds = np.linspace(-SPAN, SPAN, points - 2)
    return np.concatenate([[0.0], 1 / (1 + np.exp(-odds)), [1.0]])


def make_pair(first: Ids, rows: Array, payoff: Array, *, points: int, weight: float, discount: float) -> Pair:
    """The problem of two states with likelihood rows (Q, 2) and rewards (E, 2) of commits."""
    share = grid(points)
    both = np.stack([share, 1 - share], axis=1)
    joint = both[:, None, :] * rows
    chance = joint.sum(axis=2)
    after = np.divide(joint[..., 0], chance, out=np.zeros_like(chance), where=chance > 0)
    place = np.clip(np.searchsorted(share, after, side="right") - 1, 0, points - 2)
    part = np.clip((after - share[place]) / (share[place + 1] - share[place]), 0.0, 1.0)
    stop = (both @ payoff.T).max(axis=1) - weight * _entropy(share)
    doubts = weight * (1 - discount) * chance * _entropy(after)
    doubt = np.add.reduceat(doubts, first[:-1], axis=1) if len(first) > 1 else np.zeros((points, 0))
    return Pair(first, share, stop, doubt, discount * chance, place, part)


def _entropy(share: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(p > 0, -p * np.log(p), 0.0) for p in (share, 1 - share)]
    result: Array = parts[0] + parts[1]
    return result


@compiled
def worth_of(pair: Pair, kind: int, price: float, value: Array, point: int) -> float:
    """What one test of `kind` is worth at a point of the grid where `value` (N,) bounds what comes after it."""
    worth = -price - float(pair.doubt[point, kind])
    for q in range(pair.first[kind], pair.first[kind + 1]):
        at = pair.place[point, q]
        worth += pair.chance[point, q] * (value[at] + pair.part[point, q] * (value[at + 1] - value[at]))
    return float(worth)


@compiled
def sweep(pair: Pair, price: Array, value: Array, choice: Ids) -> float:
    """One backup of `value` (N,) from above, with prices (C,), inf for a kind that is not there; the largest change.

    choice (N,): the best kind of test at each point, -1 to stop.
    """
    change = 0.0
    for i in range(len(value)):
        best, chosen = pair.stop[i], -1
        for kind in range(len(price)):
            if price[kind] < np.inf:
                worth = worth_of(pair, kind, price[kind], value, i)
                if worth > best:
                    best, chosen = worth, kind
        if best < value[i]:
            change = max(change, value[i] - best)
            value[i] = best
        choice[i] = chosen
    return change


@compiled
def settle(pair: Pair, price: Array, value: Array, choice: Ids, little: float, sweeps: int) -> None:
    """Sweeps until one changes by no more than `little`, or until there were `sweeps` of them."""
    for _ in range(sweeps):
        if sweep(pair, price, value, choice) <= little:
            return


@compiled
def expected_runs(
    pair: Pair, choice: Ids, start: int, part: float, mass: Array, later: Array, runs: Array, steps: int
) -> None:
    """Expected runs (C,) of each kind where `choice` is followed from between two points; mass, later (N,): scratch."""
    mass[:], runs[:] = 0.0, 0.0
    mass[start], mass[start + 1] = 1.0 - part, part
    for _ in range(steps):
        later[:] = 0.0
        moving = 0.0
        for i in range(len(mass)):
            if mass[i] <= 1e-9 or choice[i] < 0:
                continue
            runs[choice[i]] += mass[i]
            moving += mass[i]
            for q in range(pair.first[choice[i]], pair.first[choice[i] + 1]):
                at, goes = pair.place[i, q], mass[i] * pair.chance[i, q]
                later[at] += goes * (1 - pair.part[i, q])
                later[at + 1] += goes * pair.part[i, q]
        if moving <= 1e-6:
            return
        copy(later, mass)

"""Tuning parameters of the search, and what its kernels know of a problem."""

from __future__ import annotations

from typing import NamedTuple


class SearchSettings(NamedTuple):
    """How the search spends its time. Halving or doubling most of these moves the median gap by about one per cent.

    aims: gaps that trials leave at the start, as shares of the gap there, in turn. planned: every so many-th trial
    follows the policy of the lower bound and leaves the share planned_aim. hopeful: chance that one of these that looks
    at all actions takes the one of the largest upper bound. long_trial: steps after which the next trial begins where
    this one ended, without states that together are worth the share left_out of the gap there. If that leaves more
    than the share pays of that gap, some trials begin at the root first.

    point_share, vector_share: a point or a vector is kept if it moves the bound at its node by this share of the gap at
    the root. slack: share of point_share that an interpolation may miss. worth_a_hull: a child is interpolated if its
    gap, weighed by its probability, is so many times what makes a point. hull_states: largest class whose upper bound
    is a convex hull. mix: share of the uniform belief in the belief at which a vector is made. Where the discount is
    near 1, point_share, vector_share and mix should be less.

    slice_work, trial_work: numbers touched between two looks at the time, and in one trial. first_refinement, growth:
    backups until the first refinement, and the factor until the next. settled: a refinement ends when it moves the
    bounds by less than this share of the gap. share_of_points: time for solving the points, as a share of that of the
    trials before it; most_points, turns: of them. found: share of new nodes below which beliefs are looked for there.
    """

    aims: tuple[float, float] = (0.9, 0.3)
    planned: int = 6
    planned_aim: float = 0.1
    hopeful: float = 0.15
    long_trial: int = 20
    left_out: float = 0.02
    pays: float = 0.97
    point_share: float = 1e-3
    vector_share: float = 1e-4
    slack: float = 0.1
    worth_a_hull: float = 10.0
    hull_states: int = 20
    mix: float = 1e-7
    slice_work: int = 300_000
    trial_work: int = 1_500_000
    first_refinement: int = 100
    growth: float = 1.5
    settled: float = 1e-3
    share_of_points: float = 1.0
    most_points: int = 4000
    turns: int = 20
    found: float = 0.05


class Parameters(NamedTuple):
    """What the kernels know beside the arrays.

    weight: price per nat of information. convexity: c w, so that V - c w H is convex. gap: where to stop. rounding,
    outward: relative and absolute rounding of a backup. penalty, loss: what a part of a belief that is left over costs
    at most, and where its state is likely. span: how far apart two values can be. most_children, most_numbers: of one
    backup.
    """

    weight: float
    convexity: float
    discount: float
    gap: float
    rounding: float
    outward: float
    penalty: float
    loss: float
    span: float
    most_children: int
    most_numbers: int
    settings: SearchSettings

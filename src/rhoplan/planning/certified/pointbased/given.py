"""What a search is given to solve: a problem of records as arrays, made ready for its discount."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from rhoplan.model.pomdp import POMDP
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.idle import with_stops
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.supports import by_supports

SPLITTING = 0.1
"""Share of the time left, at most, for classes told apart by what is possible in them."""


def given(
    problem: POMDP, *, weight: float, discount: float, memory: float = 4e9, deadline: float = inf
) -> Iterator[Compiled]:
    """`problem` ready for searches, in one way or two: where without a discount one may have to know where one is, with
    classes told apart by what is possible in them, too. Each is made when it is asked for; TimeoutError where it will
    not be before `deadline`."""
    compiled = compile_problem(problem, weight=weight, memory=memory, deadline=deadline)
    if discount < 1:
        yield compiled
        return
    yield with_stops(compiled)
    soon = clock.now() + SPLITTING * (deadline - clock.now())
    apart = by_supports(compiled, weight=weight, deadline=soon)
    if apart is not compiled:
        yield with_stops(apart)

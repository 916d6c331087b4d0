"""What a search is given to solve: a problem of records as arrays, made ready for its discount."""

from __future__ import annotations

from math import inf

from rhoplan.model.problem import Problem
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.idle import with_stops
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.supports import by_supports

SPLITTING = 0.1
"""Share of the time left, at most, for classes told apart by what is possible in them."""


def given(problem: Problem, *, weight: float, discount: float, memory: float = 4e9, deadline: float = inf) -> Compiled:
    """`problem` ready for `solve_general`; TimeoutError where it will not be before `deadline`."""
    compiled = compile_problem(problem, weight=weight, memory=memory, deadline=deadline)
    if discount < 1:
        return compiled
    soon = clock.now() + SPLITTING * (deadline - clock.now())
    return with_stops(by_supports(compiled, weight=weight, deadline=soon))

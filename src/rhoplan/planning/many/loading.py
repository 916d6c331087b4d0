"""A saved plan of a search over evidence, read back for the problem that it was made for."""

from __future__ import annotations

from typing import Any

from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.asked import Asked
from rhoplan.planning.many.evidence import digest_of, kinds_of, remembered
from rhoplan.planning.many.search import anew
from rhoplan.planning.many.solution import ManyPolicy, Step, by_trace


def many_policy(problem: POMDP, told: dict[str, Any], arrays: dict[str, Any]) -> ManyPolicy | None:
    """The policy that `ManyPolicy.save` wrote; None where it was made for another problem."""
    if problem.listed is None:
        return None
    kinds = kinds_of(problem, problem.belief())
    if digest_of(kinds) != told["digest"]:
        return None
    done = [Done(frozenset(run), frozenset(paid), tests, spent) for run, paid, tests, spent in told["done"]]
    rows = zip(arrays["visible"].tolist(), arrays["belief"], arrays["action"].tolist(), arrays["bound"], strict=True)
    steps = [Step(done[at], belief, told["actions"][name], *bound.tolist()) for at, belief, name, bound in rows]
    settings, traces = Asked(told["weight"], told["discount"]), remembered(problem.flat, kinds.members)
    return ManyPolicy(problem, settings, anew(problem, settings), traces, by_trace(steps, traces))

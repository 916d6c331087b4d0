"""A problem with other numbers: prior, costs and rewards as a what-if asks for them, checked like a model's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rhoplan.errors import Field, ProblemError, RhoplanError
from rhoplan.model.diagnostic import Decision
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.model.validate import check_problem


def overridden(
    problem: POMDP,
    *,
    prior: Mapping[str, float] | Sequence[float] | None = None,
    costs: Mapping[str, float] | None = None,
    rewards: Mapping[str, Mapping[str, float]] | None = None,
    first_prices: Mapping[str, float] | None = None,
) -> POMDP:
    """`problem` with these numbers instead of its own; what is not named stays.

    prior: one probability per diagnosis. costs: per test. rewards: per commit and diagnosis. first_prices: per group.
    """
    menu = problem.flat
    _known(("costs",), "test", costs, [test.name for test in menu.tests])
    _known(("rewards",), "commit", rewards, [commit.name for commit in menu.commits])
    _known(("first_prices",), "group", first_prices, list(menu.first_prices))
    tests = tuple(replace(test, cost=float((costs or {}).get(test.name, test.cost))) for test in menu.tests)
    commits = tuple(
        Decision(commit.name, _row(problem, commit, (rewards or {}).get(commit.name, {}))) for commit in menu.commits
    )
    factor = problem.factors[0]
    changed = replace(
        problem,
        factors=(factor if prior is None else replace(factor, prior=_prior(problem, prior)),),
        menu=replace(menu, tests=tests, commits=commits, first_prices={**menu.first_prices, **(first_prices or {})}),
    )
    try:
        check_problem(changed)
    except ProblemError as error:
        raise RhoplanError(error.message, field=_asked(error.field), code=error.code) from None
    return changed


def _asked(field: Field | None) -> Field | None:
    """The field of a what-if that set the field of a model."""
    match field:
        case ("tests", test, "cost"):
            return ("costs", test)
        case ("commits", *cell):
            return ("rewards", *cell)
        case ("groups", group, "first"):
            return ("first_prices", group)
    return field


def _prior(problem: POMDP, prior: Mapping[str, float] | Sequence[float]) -> Array:
    if isinstance(prior, Mapping):
        _known(("prior",), "state", prior, list(problem.diagnoses))
        missing = [state for state in problem.diagnoses if state not in prior]
        if missing:
            rule = "prior must give a probability for each state"
            raise RhoplanError(f"{rule}; '{missing[0]}' is missing", field=("prior",))
        prior = [prior[state] for state in problem.diagnoses]
    chances, factor = np.array(prior, dtype=float), problem.factors[0]
    return factor.spread(chances) if len(chances) == len(factor.diagnoses) else chances  # which is refused


def _row(problem: POMDP, commit: Decision, changes: Mapping[str, float]) -> Array:
    factor = problem.factors[0]
    _known(("rewards", commit.name), "state", changes, list(factor.diagnoses))
    row: Array = commit.reward.copy()
    for state, value in changes.items():
        row[factor.groups == factor.diagnoses.index(state)] = value
    return row


def _known(field: Field, what: str, given: Mapping[str, object] | None, names: list[str]) -> None:
    for name in given or ():
        if name not in names:
            known = ", ".join(names[:20])
            place = ".".join(map(str, field))
            raise RhoplanError(
                f"{place} names the {what} '{name[:40]}', which is not one of {known or 'none'}", field=(*field, name)
            )

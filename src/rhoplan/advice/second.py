"""A second opinion beside the belief, where a learned model carries one and the advice is to end the case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rhoplan.advice.words import counted, likeliest, money, percent
from rhoplan.io.learned import LEARNED
from rhoplan.learning.opinion import NOT_RUN, chances
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Ids


@dataclass(frozen=True)
class Opinion:
    """What gradient boosting makes of the same results: chances, the commit that costs least by them, whether that is
    another one than advised, and that in words (empty where the two agree)."""

    belief: dict[str, float]
    commit: str
    disagrees: bool
    words: str


def has_second(problem: POMDP) -> bool:
    """Whether the model carries a second opinion."""
    return bool(((problem.details.get(LEARNED) or {}).get("second_opinion") or {}).get("model"))


def second_opinion(problem: POMDP, given: Sequence[tuple[str, str]], commit: str) -> Opinion | None:
    """The opinion on a case that is to end with `commit` after `given`; None where the model carries none."""
    learned = problem.details.get(LEARNED) or {}
    found = learned.get("second_opinion") or {}
    kept, start = found.get("model"), problem.start
    if not kept or (isinstance(start, Done) and start.run):  # what was known at the start is not among what it sees
        return None
    factor = problem.factors[0]
    shares = chances(kept, _outcomes(problem, kept["tests"], given)[None, :])[0]
    belief = {name: float(share) for name, share in zip(factor.diagnoses, shares, strict=True)}
    state = factor.spread(shares)
    worth = {one.name: float(state @ one.reward) for one in problem.flat.commits}
    own = max(worth, key=lambda name: worth[name])
    disagrees = worth[commit] < worth[own] - 1e-9 * problem.reward_scale
    return Opinion(
        belief, own if disagrees else commit, disagrees, _words(problem, found, belief, commit, own) * disagrees
    )


def _outcomes(problem: POMDP, tests: Sequence[str], given: Sequence[tuple[str, str]]) -> Ids:
    """The outcomes (T,) of `tests` by their places, NOT_RUN where there is none."""
    menu = problem.flat
    known = {test.name: test for test in (*menu.tests, *menu.parts)}
    found = np.full(len(tests), NOT_RUN)
    places = {name: place for place, name in enumerate(tests)}
    for name, outcome in given:
        test = known.get(name)
        if test is None or outcome not in test.outcomes:
            continue
        shape = [len(known[part].outcomes) for part in test.parts] or [len(test.outcomes)]
        seen = np.unravel_index(test.outcomes.index(outcome), shape)
        for part, place in zip(test.parts or (name,), seen, strict=True):
            if part in places:
                found[places[part]] = int(place)
    return found


def _words(problem: POMDP, found: dict[str, Any], belief: dict[str, float], commit: str, own: str) -> str:
    state, share = likeliest(belief)[0]
    judged = f"says {state} {percent(share)} and would end with {own}"
    told = f"second opinion: gradient boosting, from the same results, {judged}"
    for row in found["rows"]:
        if (row["policy"], row["second"]) == (commit, own):
            losses = (
                f"{commit} lost {money(row['policy_loss'])} and {own} {money(row['second_loss'], problem.unit)} a case"
            )
            return f"{told}; in {counted(row['cases'], 'held-out case')} where the two differed so, {losses}"
    return told

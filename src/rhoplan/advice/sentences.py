"""What advice says in sentences, the same ones in the terminal and in the file that people carry away."""

from __future__ import annotations

from collections.abc import Mapping

from rhoplan.advice.first import Stop
from rhoplan.advice.outlay import Ahead
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import counted, likeliest, money, percent, percents, words_for
from rhoplan.model.pomdp import POMDP

MOST_STATES = 8
"""States whose belief is shown; the others are summed."""


def belief_rows(belief: Mapping[str, float]) -> list[tuple[str, float, str]]:
    """The likeliest states, each with its chance, and that as it is printed; of many the rest in one row."""
    ranked = likeliest(belief)
    shown = ranked if len(ranked) <= MOST_STATES + 1 else ranked[:MOST_STATES]
    if len(shown) < len(ranked):
        shown.append((f"{len(ranked) - len(shown)} other states", sum(share for _, share in ranked[MOST_STATES:])))
    told = percents([share for _, share in shown])
    return [(state, share, chance) for (state, share), chance in zip(shown, told, strict=True)]


def worth_words(problem: POMDP, value: float) -> str:
    """What a commit is expected to bring, as people count it in this model."""
    if counts_losses(problem):
        return f"expected loss {money(-value + 0.0, problem.unit)}"
    return f"worth {money(value, problem.unit)}"


def stop_words(problem: POMDP, stop: Stop) -> str:
    """What stopping now means."""
    cases = words_for(problem)["cases"]
    return f"{stop.commit}, {worth_words(problem, stop.value)}, wrong in {percent(stop.wrong)} of {cases}"


def ahead_words(problem: POMDP, ahead: Ahead) -> str:
    """How many tests are still to come and what they cost, on average and in a bad case."""
    (tests, cost), said = ahead.bad_case(), words_for(problem)
    return (
        f"{ahead.tests:,.1f} {said['tests']}, about {money(ahead.cost, problem.unit)}; "
        f"9 in 10 {said['cases']} need at most {counted(tests, said['test'])}, and at most {money(cost, problem.unit)}"
    )


def closing_words(problem: POMDP, stop: Stop) -> str:
    """What it means that a case was closed so."""
    worth, commit = worth_words(problem, stop.value), words_for(problem)["commit"]
    return (
        f"Chance that another {commit} would have been better: {percent(stop.wrong)}. {worth[:1].upper()}{worth[1:]}."
    )

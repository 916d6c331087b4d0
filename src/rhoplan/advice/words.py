"""Numbers as people read them: percentages that do not round to certainty, money, beliefs, counts in a thousand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rhoplan._old.ties import ranked
from rhoplan.model.horizon import cut_off_worth, horizon_of, is_endless, without_horizon
from rhoplan.model.pomdp import POMDP

HARDLY_EVER = 1e-9
"""Share of cases below which being cut off is not worth a word."""

MOST_STATES = 3
"""How many states of a belief are named; the rest are summed."""

WORTH_NAMING = 5e-3
"""Chance below which a state other than the likeliest is not named but summed with the rest."""

MOST_DIGITS = 3
"""After the point, of percentages that add up to 100% where there are more than two."""

RARE = 1e-3
"""Chances below this are told as `1 in n`."""


GENERAL = "general"
WORDS: dict[str, dict[str, str]] = {
    GENERAL: {"case": "case", "state": "state", "test": "test", "commit": "decision", "act": "act"},
    "medicine": {"case": "patient", "state": "disease", "test": "test", "commit": "decision", "act": "treat"},
    "service": {"case": "job", "state": "fault", "test": "check", "commit": "repair", "act": "repair"},
    "inspection": {"case": "part", "state": "defect", "test": "technique", "commit": "disposition", "act": "reject"},
}
"""What people call things, by their field of work: what a model is about, what may be hidden in it, what is looked at,
what one ends with, and the verb for acting on the positive state."""


def words_of(field: str = "") -> dict[str, str]:
    """The words of a field of work, nouns also in the plural (`tests`); those of no field where it is unknown."""
    words = WORDS.get(field, WORDS[GENERAL])
    return words | {f"{ours}s": f"{theirs}s" for ours, theirs in words.items() if ours != "act"}


def words_for(problem: POMDP) -> dict[str, str]:
    """The words of the field that the model of `problem` names."""
    return words_of(problem.details.get("field") or "")


def parameter_name(kind: str, names: Sequence[str]) -> str:
    """What people call a parameter of this kind (see `variations.Parameter`): `loss of treat in well`."""
    match kind, *names:
        case "likelihood", test, state, outcome:
            return f"P({outcome} | {state}) of {test}"
        case "reward" | "loss", commit, state:
            return f"{kind} of {commit} in {state}"
        case _, name:
            return f"{kind.replace('-', ' ')} of {name}"
    return kind


def percent(share: float) -> str:
    """`share` as a percentage with enough digits that only 0 reads 0% and only 1 reads 100%."""
    away = min(share, 1.0 - share)
    if away <= 1e-12:
        return "100%" if share > 0.5 else "0%"
    digits = 1 if away >= 0.0095 else min(9, 1 - math.floor(math.log10(100 * away)))
    return f"{100 * share:.{digits}f}%"


def percents(shares: Sequence[float]) -> list[str]:
    """`shares` of one whole as percentages that add up to 100% as they are printed.

    Not where a few of many are so rare that all would need more than MOST_DIGITS digits: then each is told by itself.
    """
    told = [percent(share) for share in shares]
    digits = max((len(text.removesuffix("%").partition(".")[2]) for text in told), default=0)
    if abs(sum(shares) - 1.0) > 1e-9 or "100%" in told or (len(told) > 2 and digits > MOST_DIGITS):
        return told
    whole = 10 ** (digits + 2)
    units = [math.floor(share * whole + 1e-6) for share in shares]
    left = [share * whole - unit for share, unit in zip(shares, units, strict=True)]
    for place in sorted(range(len(units)), key=lambda one: -round(left[one], 6))[: whole - sum(units)]:
        units[place] += 1
    return [f"{100 * unit / whole:.{digits}f}%" if unit else "0%" for unit in units]


def stated(share: float) -> str:
    """`share` as a model states it: `percent` without needless zeros."""
    number = percent(share).removesuffix("%")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}%"


def chance(share: float) -> str:
    """`share` as a percentage, or as `1 in n` where it is rare."""
    return one_in(share) if 1e-12 < share < RARE else percent(share)


def one_in(share: float) -> str:
    """`share`, above 0, as `1 in n` with two digits that count."""
    number = 1.0 / share
    size = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    rounded = size * round(number / size)
    return f"1 in {rounded:,.0f}" if rounded < 1e9 else f"1 in {rounded:.2g}"


def money(amount: float, unit: str = "") -> str:
    """`amount` with thousands separated and the digits that matter, then its unit."""
    size = abs(amount)
    if size < 1e-12:
        text = "0"
    elif size >= 1e7 or size < 1e-6:
        text = f"{amount:.3g}"
    elif size < 1e-3:
        text = f"{amount:.{1 - math.floor(math.log10(size))}f}"
    else:
        digits = 0 if size >= 10_000 or abs(amount - round(amount)) < 1e-9 else 2 if size >= 1 else 3
        text = f"{amount:,.{digits}f}"
        text = text[:-1] if digits == 3 and text.endswith("0") else text
    return f"{text} {unit_of(text, unit)}".rstrip()


def unit_of(number: str, unit: str) -> str:
    """What `unit` is called after `number`: 1 point, 2 points. Units that are no plain English plural stay."""
    plural = re.fullmatch(r"[a-z]{2,}[^siu]s", unit)
    return unit[:-1] if plural and number in ("1", "-1") else unit


def amounts(values: Iterable[float | None]) -> list[str]:
    """`values` as a column of money, all with the same decimals; a dash where there is none."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    sizes = [abs(value) for value in known if abs(value) > 1e-12]
    if any(size >= 1e7 or size < 1e-3 for size in sizes):
        return ["–" if value is None else money(value) for value in listed]
    whole = all(abs(value - round(value)) < 1e-9 or abs(value) >= 10_000 for value in known)
    digits = 0 if whole else 3 if sizes and max(sizes) < 1 else 2
    return ["–" if value is None else f"{value + 0.0:,.{digits}f}" for value in listed]


def belief_words(
    belief: Mapping[str, float], looked_for: str = "", *, most: int = MOST_STATES, others: bool = True
) -> str:
    """The chance of the state `looked_for`; without one, the likeliest states and what is left for the others."""
    if looked_for:
        return f"{looked_for} {chance(belief[looked_for])}"
    states = likeliest(belief)
    named = [pair for place, pair in enumerate(states[:most]) if place == 0 or pair[1] >= WORTH_NAMING]
    shown = [f"{state} {percent(share)}" for state, share in named]
    rest = 1.0 - sum(share for _, share in named)
    if others and rest >= WORTH_NAMING / 10:
        left = [state for state, share in states[len(named) :] if share > 0]
        shown.append(f"{left[0] if len(left) == 1 else 'others'} {percent(rest)}")
    return ", ".join(shown)


def likeliest(belief: Mapping[str, float]) -> list[tuple[str, float]]:
    """States and their chances, the likeliest first; equally likely ones in the model's order."""
    states = list(belief.items())
    return [states[place] for place in ranked(np.array(list(belief.values())))]


def in_thousand(share: float) -> str:
    """How many of a thousand cases `share` is; two digits that count below ten, `under 0.001` rather than 0."""
    count = 1000 * share
    if count == 0:
        return "0"
    if count < 0.0005:
        return "under 0.001"
    if count < 0.0995:
        return f"{count:.{1 - math.floor(math.log10(count))}f}"
    return f"{count:.1f}" if count < 9.95 or 1e-9 < 1000 - count < 9.95 else f"{count:,.0f}"


def counted(number: float, what: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{number:g} {what}{'' if number == 1 else 's'}"


def cut_off(problem: POMDP, share: float, cap: int | None = None) -> str:
    """What it means for a mean reward that `share` of cases is cut off at the cap; nothing where hardly any is."""
    if share <= HARDLY_EVER:
        return ""
    ends = [action.reward for action in problem.menu(problem.start) if action.ends_episode]
    steps = problem.cap if cap is None else cap
    told = f"{percent(share)} of cases are cut off at {counted(steps, 'step')}"
    if is_endless(without_horizon(problem)):
        left, horizon = cut_off_worth(problem, share, steps), horizon_of(problem)
        mean = "discounted mean" if problem.discount < 1 else "mean"
        more = "" if math.isnan(left) else f"; what comes later could change the {mean} by {left:.2g} at most"
        why = "for the problem has no end" if horizon is None else f"before all {horizon} of the horizon are taken"
        return f"{told}, {why}{more}"
    if ends and all((reward <= 0).all() for reward in ends):
        return f"{told} and pay no final loss: the mean looks better than it is"
    if not ends or all((reward >= 0).all() for reward in ends):
        return f"{told} and get no final reward: the mean looks worse than it is"
    return f"{told} and pay no final loss, nor get a final reward: the mean leaves out what their end is worth"


def plain(text: str) -> str:
    """`text` with characters that no page or drawing may hold, such as a bell, as spaces."""
    return "".join(character if character.isprintable() else " " for character in text)

"""Targets that people set instead of prices: "miss at most 1 in 1,000", "at least 99% sensitive", "spend at most 40".

A decision is wrong for a state where another one pays more there (`DiagnosticProblem.best_commits`). With that:

    miss of X          X is there and the decision is wrong for it; as a share of all cases
    sensitive for X    1 - P(wrong | X)
    false alarm of X   X is not there and the decision is wrong for what is; as a share of all cases
    specific for X     1 - P(wrong | not X)
    wrong              the decision is wrong, whatever is there; as a share of all cases
    spend              what tests cost, on average over all cases

X is a diagnosis; its subtypes count together. Where nobody names it, it is the model's positive one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rhoplan.errors import ProblemError
from rhoplan.model.limits import LARGEST_REWARD

ABOUT_STATE = ("miss", "sensitive", "false-alarm", "specific")
KINDS = (*ABOUT_STATE, "wrong", "spend")
AT_LEAST = ("sensitive", "specific")
"""Targets that are kept from above: more is better."""

_NUMBER = r"\d[\d,_ ]*(?:\.\d+)?|\.\d+"
_RATIO = re.compile(rf"({_NUMBER})\s*(?:in|of|per|out of|/|:)\s*({_NUMBER})", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """One target; state: the diagnosis it is about, empty for `wrong` and `spend`."""

    kind: str
    value: float
    state: str = ""

    @property
    def is_share(self) -> bool:
        """Whether its value is a share of cases, not an amount."""
        return self.kind != "spend"


def read_share(given: Any) -> float:
    """A share as people write it: 0.001, 0.1%, 1 in 1,000, 1/1000, 3 per 10,000. ValueError where it is none."""
    text = str(given).strip()
    ratio = _RATIO.fullmatch(text)
    try:
        if ratio:
            of, whole = (float(re.sub("[,_ ]", "", part)) for part in ratio.groups())
            value = of / whole if whole else math.nan
        else:
            value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if 1 < value <= 100 and _is_bare(text):
        text = text[:60]
        raise ValueError(f"a share is at most 100%; '{text}' reads as {100 * value:,.10g}%: is {text}% meant?")
    if isinstance(given, bool) or not 0 <= value <= 1:
        raise ValueError(f"a share reads 0.001, 0.1% or 1 in 1,000 and lies between 0 and 1; it reads '{text[:60]}'")
    return value


def read_targets(given: Mapping[str, Any], diagnoses: Sequence[str], positive: str | None) -> tuple[Target, ...]:
    """The targets in `given`: a value for each kind, or for kinds about a state a value for each of several.

    positive: the diagnosis that is meant where none is named. ProblemError names the kind, and the state.
    """
    found = []
    for kind in KINDS:
        value = given.get(kind)
        if value is None:
            continue
        if kind not in ABOUT_STATE:
            found.append(Target(kind, _value(kind, value, (kind,))))
            continue
        named = value if isinstance(value, Mapping) else {_meant(kind, diagnoses, positive): value}
        for state, one in named.items():
            if state not in diagnoses:
                known = ", ".join(diagnoses)
                raise ProblemError(
                    f"{kind} names the state '{state}', which is not one of {known}",
                    field=(kind,),
                    code="unknown-state",
                )
            found.append(Target(kind, _value(kind, one, (kind, state) if named is value else (kind,)), state))
    unknown = [name for name in given if name not in KINDS]
    if unknown:
        raise ProblemError(
            f"there is no target '{unknown[0]}'; there are {', '.join(KINDS)}",
            field=(unknown[0],),
            code="unknown-target",
        )
    return tuple(found)


def as_given(targets: Sequence[Target]) -> dict[str, Any]:
    """`targets` as `read_targets` takes them, every state named."""
    found: dict[str, Any] = {}
    for one in targets:
        if one.state:
            found.setdefault(one.kind, {})[one.state] = one.value
        else:
            found[one.kind] = one.value
    return found


def _meant(kind: str, diagnoses: Sequence[str], positive: str | None) -> str:
    if positive is None:
        raise ProblemError(
            f"{kind} needs the state it is about: name one of {', '.join(diagnoses)}, or give the model the field "
            "positive",
            field=(kind,),
            code="target-without-state",
        )
    return positive


def _value(kind: str, given: Any, field: tuple[str, ...]) -> float:
    try:
        if kind != "spend":
            share, text = read_share(given), str(given).strip()
            if share == 1 and kind not in AT_LEAST and isinstance(given, str) and _is_bare(text):
                raise ValueError(f"'{text}' reads as 100% of cases, which every plan keeps: write {text}% or 100%")
            return share
        value = float(re.sub("[,_ ]", "", str(given)))
    except ValueError as error:
        told = str(error) if kind != "spend" else f"spend must be a number; it is '{str(given)[:60]}'"
        raise ProblemError(
            f"target {kind}: {told}" if kind != "spend" else told, field=field, code="target-range"
        ) from None
    if not 0 <= value <= LARGEST_REWARD:
        raise ProblemError(f"spend must be a number of at least 0; it is {value:g}", field=field, code="target-range")
    return value


def _is_bare(text: str) -> bool:
    """Whether a share that `text` writes is a number alone, without a percent sign and no ratio."""
    return not text.endswith("%") and not _RATIO.fullmatch(text)

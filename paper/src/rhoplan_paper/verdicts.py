"""What follows for a claim from whether it holds: as a whole, by unit of information, or part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rhoplan_paper.context import Result
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, IN_PART, NO_DIFFERENCE, ONLY_BITS, ONLY_NATS, Part, Verdict

SAME = 1e-9
"""Exact scores closer than this are the same score: what is left is the arithmetic of floats."""


def by_unit(holds: Mapping[str, bool]) -> Verdict:
    """The verdict on a claim that holds or not in bits and in nats, or (one entry) without a unit."""
    units = [unit for unit, true in holds.items() if true]
    if len(holds) > 1 and len(units) == 1:
        return Verdict(ONLY_BITS if units[0] == "bits" else ONLY_NATS, units[0])
    unit = "either" if len(holds) > 1 else next(iter(holds))
    return Verdict(CONFIRMED if units else CONTRADICTED, unit)


def by_parts(parts: Mapping[str, Mapping[str, bool] | bool], core: Iterable[str] = ()) -> Verdict:
    """The verdict on a claim that says several things, each of which holds or not, maybe by unit.

    All of them together are a claim like any other. Where they do not all hold, the claim holds in part if something of
    it does and its core, the parts without which the rest says nothing, is among that.
    """
    central = set(core)
    units = next((tuple(one) for one in parts.values() if isinstance(one, Mapping)), ("",))
    holds = {words: one if isinstance(one, Mapping) else dict.fromkeys(units, one) for words, one in parts.items()}
    told = tuple(Part(words, _where(each), words in central) for words, each in holds.items())
    verdict = by_unit({u: all(each[u] for each in holds.values()) for u in units})
    if verdict.word == CONTRADICTED:
        stands = {u: any(e[u] for e in holds.values()) and all(holds[words][u] for words in central) for u in units}
        if any(stands.values()):
            verdict = Verdict(IN_PART, by_unit(stands).unit)
    return replace(verdict, parts=told)


def _where(holds: Mapping[str, bool]) -> str:
    units = [unit for unit, true in holds.items() if true]
    return "no" if not units else "yes" if len(units) == len(holds) else f"in {units[0]}"


def by_unit_more(gaps: Mapping[str, Iterable[float]]) -> Verdict:
    """The verdict on a claimed lead, from exact gaps by unit, zero where two policies score the same.

    Positive everywhere is a lead. Zero everywhere in each unit that has none means that the claimed difference is not
    there; anything else contradicts it.
    """
    found = {unit: list(values) for unit, values in gaps.items()}
    leading = {unit: all(gap > 0 for gap in values) for unit, values in found.items()}
    if not any(leading.values()) and all(gap == 0 for values in found.values() for gap in values):
        return Verdict(NO_DIFFERENCE, "either" if len(found) > 1 else next(iter(found)))
    return by_unit(leading)


def same(one: Result, other: Result, columns: Iterable[str] = ("reward", "tests", "success")) -> bool:
    """Whether two exact scores are the same to the last digit."""
    return all(abs(float(one[name]) - float(other[name])) <= SAME for name in columns if one.get(name) is not None)

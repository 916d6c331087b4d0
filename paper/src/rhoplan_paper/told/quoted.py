"""Every number of the running text that belongs to no study of its own, judged in the first way that fits it.

It repeats a number that stands elsewhere (`repeats`); it can be computed (`checks`); it bounds what a claim
says, and stands or falls with it; or it sets something, and the computation here uses the same (`settings`).
What is left over was announced and never used.
"""

from __future__ import annotations

from functools import partial

from rhoplan_paper.context import Context, at_once
from rhoplan_paper.published import Cell, Quote, published, quotes_of
from rhoplan_paper.registry import claims, study
from rhoplan_paper.study import CONTRADICTED, REPEATED, SETTING, UNCHECKED, Finding, Outcome, Verdict
from rhoplan_paper.told.checks import computed
from rhoplan_paper.told.findings import disagreement, told
from rhoplan_paper.told.results import numbered
from rhoplan_paper.told.settings import used

ELSEWHERE = ("foraging",)
"""Sections whose numbers are judged with a figure; results told in the text and figures have studies of their own."""

BOUNDS = ("bound", "tractable", "unit")
"""Row keys of numbers that say between which limits, or in which unit, something holds."""


def quotes_here() -> list[Quote]:
    """The quotes of sections, in the paper's order."""
    parts = [part.id for part in published().parts.values() if part.kind == "section" and part.id not in ELSEWHERE]
    return [quote for part in parts for quote in quotes_of(part)]


def build_quoted(context: Context) -> Outcome:
    """A finding for every number; Pending with the jobs that all of them miss together."""
    cells = [(quote, cell) for quote in quotes_here() for cell in quote.cells]
    return Outcome(findings=numbered(at_once(*(partial(judged, quote, cell, context) for quote, cell in cells))))


def judged(quote: Quote, cell: Cell, context: Context) -> Finding:
    """The finding on one number."""
    if cell.repeats:
        return _again(quote, cell)
    if found := computed(quote, cell, context):
        return found
    every = published().claims.values()
    resting = [claim for claim in every if any(ref.split()[0] == quote.id for ref in claim.rests_on)]
    if resting and (cell.relation or any(key in cell.row for key in BOUNDS)):
        nearest = min(resting, key=lambda claim: len(claim.rests_on)).id  # on the fewest other numbers beside these
        of_claim = claims()[nearest](context)
        reason = f"stands or falls with the claim '{nearest}': {of_claim.reason}"
        return told(quote, cell, Verdict(of_claim.verdict, of_claim.unit), reason, exact=of_claim.exact)
    if what := used(quote, cell):
        return told(quote, cell, SETTING, f"the one used here: {what}", exact=f"{cell.value:g}")
    return told(quote, cell, UNCHECKED, "announced, but no number that the paper prints was made with it")


def _again(quote: Quote, cell: Cell) -> Finding:
    if differs := disagreement(cell):
        return told(quote, cell, CONTRADICTED, f"meant to be the number of '{cell.repeats}', but {differs}")
    what = "the difference of two printed numbers" if " - " in cell.repeats else "the number"
    return told(quote, cell, REPEATED, f"{what} of '{cell.repeats}', judged there")


study("quoted", build_quoted)

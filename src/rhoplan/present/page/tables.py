"""The report's sections on when to stop, on other ways of deciding, and on what would change the first action."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rhoplan.advice.compare import Row, alike
from rhoplan.advice.sensitivity import Edge, Flip
from rhoplan.advice.thresholds import merged
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import amounts, chance, in_thousand, money, percent, stated
from rhoplan.present.page.parts import NONE, mark, safe, table

if TYPE_CHECKING:
    from rhoplan.present.content import Report

FURTHEST = 1e-5
"""The most certain belief that the figure of bands has room for."""

NEAREST = 20
"""Flips that stand in the table; those further away follow in two columns."""

FAR = {"probability": math.log(20), "money": 1.0, "weight": math.inf}
"""Distance (see `Flip.nearest`) beyond which flips that are not among the nearest are only counted."""

KINDS = {
    "prior": "prior",
    "weight": "weight",
    "cost": "price of a test",
    "first-price": "first price of a group",
    "reward": "reward",
    "loss": "loss",
    "likelihood": "chance of a result",
}
"""What kinds of parameters are called, one of them."""


def stopping(report: Report) -> str:
    """When to stop: the bands of a two-state model, and how sure the plan of any model is when it stops."""
    bands = f"<div class='keep'>{_band_figure(report)}{_band_table(report)}</div>" if report.bands else ""
    limits = merged(report.problem, report.bands)
    bands = (
        f"<p class='lead thresholds'>{safe(limits.words[:1].upper() + limits.words[1:])}.</p>{bands}" if limits else ""
    )
    rows = [
        [safe(one.commit), in_thousand(one.share), *map(chance, (one.lowest, one.mean, one.highest))]
        for one in report.stops
    ]
    heads = ["final action", "in&nbsp;1,000", "least sure", "on average", "most sure"]
    note = "How sure the plan is when it stops: the chance, then, that the final action is a best one."
    return f"{mark(report, 'pathway')}<p class='lead'>{note}</p>{table(heads, rows)}{bands or _no_bands(report)}"


def _no_bands(report: Report) -> str:
    """Why there are no bands, where a model of two states or of two diagnoses should have some."""
    about = safe(report.pathway.looked_for)
    if about and report.problem.factors[0].diagnosis_of:
        return (
            f"<p class='soft note'>There are no thresholds on the chance of {about}: what to do next also depends on "
            "which subtypes the results point to.</p>"
        )
    missing = mark(report, "stop") if len(report.problem.states) == 2 else ""
    return f"<p class='lead'>What to do first, by the chance of {about}:</p>{missing}" if missing else ""


def _band_table(report: Report) -> str:
    about = report.pathway.looked_for
    does = [f"{'stop' if band.stops else 'test'}: <b>{safe(band.action)}</b>" for band in report.bands]
    ranges = [f"{chance(band.lower)} to {chance(band.upper)}" for band in report.bands]
    rows = list(zip(ranges, does, strict=True))
    here = report.advice.belief[about]
    mine = next(k for k, band in enumerate(report.bands) if here <= band.upper)
    note = (
        f"<p class='soft note'>Before any test is run, with all tests to be had; the prior of {stated(here)} lies in "
        "the marked band. After a test fewer are left, and the bands are others.</p>"
    )
    return table([f"chance of {safe(about)}", "what to do first"], rows, numbers=9, marked=mine) + note


def _band_figure(report: Report) -> str:
    """The bands on a scale of log odds, so that small probabilities have room; the prior marked."""
    width, left, about = 680.0, 6.0, report.pathway.looked_for

    def place(share: float) -> float:
        limited = min(max(share, FURTHEST), 1 - FURTHEST)
        odds = math.log(limited / (1 - limited)) / math.log(1 / FURTHEST - 1)
        return left + (width - 2 * left) * (0.5 + odds / 2)

    parts = []
    for band in report.bands:
        x, end = place(band.lower) if band.lower else left, place(band.upper) if band.upper < 1 else width - left
        fill, ink = ("#fbe9dd", "#9c3d00") if band.stops else ("#e3f0f8", "#00507d")
        parts.append(f"<rect x='{x:.1f}' y='20' width='{end - x:.1f}' height='24' fill='{fill}' stroke='{ink}'/>")
        if end - x > 6.2 * len(band.action) + 6:
            middle = f"x='{(x + end) / 2:.1f}' y='36' text-anchor='middle'"
            parts.append(f"<text {middle} fill='{ink}' font-weight='700'>{safe(band.action)}</text>")
    for tick in (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999):
        x = place(tick)
        parts.append(f"<path d='M{x:.1f},44 V49' stroke='#59636e'/>")
        parts.append(f"<text x='{x:.1f}' y='60' text-anchor='middle' fill='#1b1f24'>{100 * tick:g}%</text>")
    here = report.advice.belief[about]
    x = place(here)
    anchor, shift = ("start", 7) if x < width / 2 else ("end", -7)
    parts.append(f"<path d='M{x - 5:.1f},11 h10 l-5,8 z' fill='#1b1f24'/>")
    parts.append(f"<text x='{x + shift:.1f}' y='14' dy='2' text-anchor='{anchor}'>prior {stated(here)}</text>")
    caption = f"What to do first, by the chance of {safe(about)} (a scale of odds, so that small chances have room)."
    return (
        f"<figure><svg viewBox='0 0 {width:.0f} 64' width='{width:.0f}' role='img' font-size='10' "
        f"font-family='Helvetica, Arial, sans-serif'><title>{caption}</title>{''.join(parts)}</svg>"
        f"<figcaption>{caption}</figcaption></figure>"
    )


def comparison(report: Report) -> str:
    """The rows of `compare`, the plan of this report marked."""
    unit, losses = safe(report.problem.unit), counts_losses(report.problem)
    worth = amounts(row.loss if losses else row.reward for row in report.rows)
    spent, most = amounts(row.cost for row in report.rows), amounts(row.cost_90 for row in report.rows)
    rows = [
        [
            f"{safe(row.label)}{'<br><span class=soft>' + safe(row.note) + '</span>' if row.note else ''}",
            safe(row.first) or NONE,
            worth[place] if row.reward is not None else _bounds(row, losses),
            NONE if row.tests is None else f"{row.tests:.2f}",
            spent[place],
            most[place],
            NONE if row.errors is None else percent(row.errors),
        ]
        for place, row in enumerate(report.rows)
    ]
    heads = [
        "way of deciding", "first", f"expected {'loss' if losses else 'reward'}, {unit}", "tests",
        f"cost of tests, {unit}", "nine in ten at most", "wrong",
    ]  # fmt: skip
    mine = next(k for k, row in enumerate(report.rows) if row.key == "asked")
    note = (
        f"<p class='soft note'>The marked line is the plan of this report. Expected {'loss' if losses else 'reward'}: "
        "final action and tests together. Wrong: share of cases whose final action is not a best one for the true "
        "state; a plan may be wrong more often and still cost less.</p>"
    )
    return f"{table(heads, rows, numbers=2, marked=mine, kind='ways')}{note}"


def against_best(report: Report) -> tuple[str, str]:
    """How far the plan is from the best there is, as far as that is known: in two words, and why."""
    rows = {row.key: row for row in report.rows}
    mine, best, unit = rows["asked"].reward, rows["optimum"], safe(report.problem.unit)
    if mine is None or best.upper is None:
        return "not known", "no bound was found in time"
    if rows["asked"].is_cut:
        return "not known", "cases that are cut off pay no final loss"
    if best.upper <= mine or alike(best.upper, mine):
        return "as good", "it reaches the certified optimum"
    if best.reward is None or best.reward <= mine or alike(best.reward, mine):
        return f"within {money(best.upper - mine, unit)}", "no plan is better by more than that"
    return f"worse by {money(best.reward - mine, unit)}", "per case, than the certified optimum"


def _bounds(row: Row, losses: bool) -> str:
    if row.lower is None or row.upper is None:
        return NONE
    low, high = (-row.upper, -row.lower) if losses else (row.lower, row.upper)
    return f"{money(low)} to {money(high)}"


def sensitivity(report: Report) -> str:
    """Parameters whose flip is nearest first; those that do not flip are counted below."""
    moving = sorted((flip for flip in report.flips if flip.nearest < math.inf), key=_near)
    still = [flip for flip in report.flips if flip.nearest == math.inf and flip.is_examined]
    open_ = [flip for flip in report.flips if not flip.is_examined]
    far = [flip for flip in moving[NEAREST:] if flip.nearest > FAR[flip.quantity]]
    rows = [
        [safe(f.parameter), _shown(f, f.value, report), _edge(f, f.down, report), _edge(f, f.up, report)]
        for f in moving
        if f not in far
    ]
    marked = mark(report, "flips")
    if marked and not report.flips:
        return marked
    parts = [
        marked,
        f"<p class='lead'>Each number is moved alone (a chance takes its room from the others in proportion) until the "
        f"first action is no longer <b>{safe(report.advice.do)}</b>, which was computed on both sides of every change. "
        f"Money in {safe(report.problem.unit)}; P(result | state): chance of a result in that state.</p>",
    ]
    if rows:
        parts.append(table(["number", "now", "changes below", "changes above"], rows[:NEAREST], kind="flips tight"))
        if len(rows) > NEAREST:
            lines = "".join(
                f"<p>{name}: {now}; below {low}, above {high}</p>" for name, now, low, high in rows[NEAREST:]
            )
            parts.append(f"<p class='lead'>Further away:</p><div class='columns'>{lines}</div>")
        if any(edge.value is not None and not edge.is_nearest for flip in moving for edge in (flip.down, flip.up)):
            parts.append(
                "<p class='soft note'>* a change, but perhaps not the nearest: a short stretch with another first "
                "action may lie before it.</p>"
            )
    if far:
        parts.append(
            f"<p>These change it only far from their values (odds more than {math.exp(FAR['probability']):.0f}-fold, "
            f"money by more than {100 * FAR['money']:.0f}%): {_listed(far, report.flips)}.</p>"
        )
    if still:
        whole = "" if rows or open_ else "No number changes it. "
        parts.append(f"<p>{whole}No change was found anywhere in their range for {_listed(still, report.flips)}.</p>")
    if open_:
        done = len(report.flips) - len(open_)
        limit = "within a fixed amount of work" if report.budget is None else f"in {report.budget:g} s"
        parts.append(
            f"<p class='soft'>{done} of {len(report.flips)} numbers were examined {limit}, those whose change looked "
            f"nearest first. Not or not fully examined: {_listed(open_, report.flips)}.</p>"
        )
    return "".join(parts)


def _near(flip: Flip) -> float:
    """How far away a flip is; what differs by less than flips are closed in on stays in the model's order."""
    return round(flip.nearest, 5)


def _listed(chosen: Sequence[Flip], everything: Sequence[Flip]) -> str:
    """Parameters by kind: named where they are few, else counted."""
    parts = []
    for kind, word in KINDS.items():
        names = [flip.parameter for flip in chosen if flip.kind == kind]
        total = sum(flip.kind == kind for flip in everything)
        if not names:
            continue
        if len(names) == total and total > 1:
            parts.append(f"every {word} ({total})")
        elif len(names) <= 4:
            parts.append(f"the {', the '.join(map(safe, names))}")
        else:
            parts.append(f"{word}: {len(names)} of {total}")
    return "; ".join(parts)


def _edge(flip: Flip, edge: Edge, report: Report) -> str:
    if edge.status != "flips" or edge.value is None:
        return f"<span class='soft'>{'not examined' if edge.status == 'not examined' else 'no change'}</span>"
    return f"{_shown(flip, edge.value, report)} → {safe(edge.then or '')}{'' if edge.is_nearest else ' *'}"


def _shown(flip: Flip, value: float, report: Report) -> str:
    if flip.quantity == "probability":
        return chance(value)
    shown = 0.0 if abs(value) < 1e-6 * abs(flip.value) else value
    if flip.quantity == "money":
        return money(shown)
    return f"{shown:.4g} {safe(report.problem.unit)} per {report.agent.unit.removesuffix('s')}"

"""Tables and the band figure of the report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.advice.compare import Row
from rhoplan.advice.sensitivity import Edge, Flip
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import money, percent
from rhoplan.menu import Test
from rhoplan.problem import Array, Problem

if TYPE_CHECKING:
    from rhoplan.advice.report import Report

NONE = "<span class='soft'>–</span>"


def table(heads: list[str], rows: list[list[str]], *, numbers: int = 1, marked: int = -1) -> str:
    """An HTML table of ready cells; columns from `numbers` on are right-aligned, row `marked` stands out."""
    top = "".join(f"<th{_n(k >= numbers)}>{head}</th>" for k, head in enumerate(heads))
    body = "".join(
        f"<tr{' class=mine' if place == marked else ''}>"
        + "".join(f"<td{_n(k >= numbers)}>{cell}</td>" for k, cell in enumerate(row))
        + "</tr>"
        for place, row in enumerate(rows)
    )
    return f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _n(right: bool) -> str:
    return " class='n'" if right else ""


def tests_table(problem: Problem) -> str:
    """Every test: price, group, order, and what it tells; likelihood ratios where there are two states."""
    menu, unit, two = problem.flat, escape(problem.unit), len(problem.states) == 2
    rows = []
    for test in menu.tests:
        rules = [f"group {escape(test.group)}"] if test.group else []
        if extra := menu.first_prices.get(test.group):
            rules.append(f"first of it +{money(extra)}")
        rules += [f"after {escape(', '.join(test.after))}"] if test.after else []
        rules += ["can be repeated"] if test.repeatable else []
        lead = [escape(test.name), money(test.cost), "; ".join(rules) or NONE]
        if not two:
            rows.append([*lead, _tells(problem, test)])
            continue
        for column, outcome in enumerate(test.outcomes):
            without, with_it = (float(test.likelihood[place, column]) for place in (0, 1))
            numbers = [percent(without), percent(with_it), ratio(with_it, without), _after(problem, test, column)]
            rows.append([*(lead if column == 0 else ["", "", ""]), escape(outcome), *numbers])
    if not two:
        note = "<p class='soft'>The likeliest result in each state, with its probability.</p>"
        return table(["test", f"price, {unit}", "rules", "results"], rows, numbers=9) + note
    first, second = map(escape, problem.states)
    heads = ["test", f"price, {unit}", "rules", "result", f"if {first}", f"if {second}", "likelihood ratio"]
    note = f"Likelihood ratio: how much likelier the result is if {second} than if {first}."
    note += " Of a test with a positive and a negative result these are LR+ and LR-."
    named = _accuracy(problem) if "positive" in problem.details else ""
    return table([*heads, f"{second} after it"], rows, numbers=4) + f"<p class='soft'>{note}</p>" + named


def _accuracy(problem: Problem) -> str:
    """Sensitivity and specificity of tests whose second result speaks for the second state.

    A third result that is equally likely in both states says nothing; rates are then those of the other two.
    """
    parts = []
    for test in problem.flat.tests:
        rows = test.likelihood
        if rows.shape[1] == 3 and abs(rows[0, 2] - rows[1, 2]) < 1e-12 and rows[0, 2] < 1:
            rows = rows[:, :2] / (1 - rows[0, 2])
        if rows.shape[1] == 2 and rows[1, 1] >= rows[0, 1]:
            (spec, false_alarm), (miss, sens) = rows.tolist()
            rates = f"sensitivity {percent(sens)}, specificity {percent(spec)}"
            ratios = f"LR+ {ratio(sens, false_alarm)}, LR- {ratio(miss, spec)}"
            readable = "" if test.likelihood.shape[1] == 2 else " when it can be read"
            parts.append(f"<b>{escape(test.name)}</b> {rates}, {ratios}{readable}")
    return f"<p>{'; '.join(parts)}.</p>" if parts else ""


def ratio(top: float, bottom: float) -> str:
    if bottom == 0:
        return "∞" if top else NONE
    return f"{top / bottom:.3g}"


def _after(problem: Problem, test: Test, column: int) -> str:
    joint: Array = problem.prior * test.likelihood[:, column]
    return percent(float(joint[1] / joint.sum())) if joint.sum() > 0 else NONE


def _tells(problem: Problem, test: Test) -> str:
    """States by their likeliest result: `result: state 92%, state 85%`."""
    by_result: dict[int, list[str]] = {}
    for place, state in enumerate(problem.states):
        column = int(np.argmax(test.likelihood[place]))
        shown = f"{escape(state)} {percent(float(test.likelihood[place, column]))}"
        by_result.setdefault(column, []).append(shown)
    return "<br>".join(f"<b>{escape(test.outcomes[k])}</b>: {', '.join(v)}" for k, v in sorted(by_result.items()))


def band_table(report: Report) -> str:
    """The bands as a table, with the odds as one in n."""
    second = escape(report.problem.states[1])
    rows = [
        [f"{percent(band.lower)} to {percent(band.upper)}", "stop" if band.stops else "test", escape(band.action)]
        for band in report.bands
    ]
    here = float(report.problem.prior[1])
    mine = next(k for k, band in enumerate(report.bands) if here <= band.upper)
    note = (
        f"<p class='soft'>Before any test is run, with all tests to be had; the prior of {percent(here)} lies in the "
        "marked band. After a test fewer are left, and the bands are others.</p>"
    )
    return table([f"probability of {second}", "", "what to do first"], rows, numbers=9, marked=mine) + note


def band_figure(report: Report) -> str:
    """The bands on a scale of log odds, so that small probabilities have room; the prior marked."""
    width, height, left = 700.0, 64.0, 4.0

    def place(share: float) -> float:
        limited = min(max(share, 1e-5), 1 - 1e-5)
        return left + (width - 2 * left) * (0.5 + float(np.log(limited / (1 - limited))) / (2 * float(np.log(99999))))

    parts = []
    for band in report.bands:
        x, end = place(band.lower) if band.lower else left, place(band.upper) if band.upper < 1 else width - left
        fill, ink = ("#fbe9dd", "#9c3d00") if band.stops else ("#e3f0f8", "#00507d")
        parts.append(f"<rect x='{x:.1f}' y='8' width='{end - x:.1f}' height='24' fill='{fill}' stroke='{ink}'/>")
        if end - x > 6.5 * len(band.action):
            label = escape(band.action)
            parts.append(f"<text x='{(x + end) / 2:.1f}' y='24' text-anchor='middle' fill='{ink}'>{label}</text>")
    for tick in (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999):
        x = place(tick)
        parts.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='32' y2='37' stroke='#59636e'/>")
        parts.append(f"<text x='{x:.1f}' y='48' text-anchor='middle' fill='#59636e'>{100 * tick:g}%</text>")
    here = place(float(report.problem.prior[1]))
    parts.append(f"<path d='M{here - 5:.1f},0 L{here + 5:.1f},0 L{here:.1f},8 Z' fill='#1b1f24'/>")
    caption = (
        f"What to do first, by the probability of {escape(report.problem.states[1])} (scale of log odds); ▼ prior."
    )
    return (
        f"<figure><svg viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' role='img' font-size='11' "
        f"font-family='system-ui, Helvetica, Arial, sans-serif'><title>{caption}</title>{''.join(parts)}</svg>"
        f"<figcaption>{caption}</figcaption></figure>"
    )


def comparison(report: Report) -> str:
    """The rows of `compare`, the plan of this report marked."""
    unit = escape(report.problem.unit)
    losses = counts_losses(report.problem)
    rows = [
        [
            f"{escape(row.label)}<br><span class='soft' style='font-weight:400'>{escape(row.note)}</span>",
            escape(row.first) or NONE,
            _bounded(row, losses),
            *(NONE if value is None else f"{value:.2f}" for value in (row.tests,)),
            *(NONE if value is None else money(value) for value in (row.cost, row.cost_90)),
            *(NONE if value is None else percent(value) for value in (row.errors,)),
        ]
        for row in report.rows
    ]
    heads = [
        "way of deciding", "first", f"expected {'loss' if losses else 'reward'}, {unit}", "tests",
        f"cost of tests, {unit}", "nine in ten at most", "wrong",
    ]  # fmt: skip
    mine = next(k for k, row in enumerate(report.rows) if row.key == "asked")
    note = (
        f"<p class='soft'>Expected {'loss' if losses else 'reward'}: final action and tests together. Wrong: share of "
        "cases whose final action is not a best one for the true state; a plan may be wrong more often and still cost "
        "less.</p>"
    )
    return table(heads, rows, numbers=2, marked=mine) + note


def _bounded(row: Row, losses: bool) -> str:
    value = row.loss if losses else row.reward
    if value is not None:
        return money(value)
    if row.lower is None or row.upper is None:
        return NONE
    low, high = (-row.upper, -row.lower) if losses else (row.lower, row.upper)
    return f"{money(low)} to {money(high)}"


def sensitivity(report: Report) -> str:
    """Parameters whose flip is nearest first; those that do not flip are named below."""
    unit = report.problem.unit
    moving = sorted((flip for flip in report.flips if flip.nearest < np.inf), key=lambda flip: flip.nearest)
    still = [flip for flip in report.flips if flip.nearest == np.inf and flip.is_examined]
    open_ = [flip for flip in report.flips if not flip.is_examined]
    rows = [
        [
            escape(flip.parameter),
            _shown(flip, flip.value, unit),
            _edge(flip, flip.down, unit),
            _edge(flip, flip.up, unit),
        ]
        for flip in moving
    ]
    parts = [
        f"<p>Each number is moved alone (a probability takes its room from the others in proportion) until the first "
        f"action is no longer <b>{escape(report.advice.do)}</b>. Both sides of every flip were computed.</p>"
    ]
    if rows:
        parts.append(table(["parameter", "now", "flips below", "flips above"], rows))
        if any(edge.value is not None and not edge.is_nearest for flip in moving for edge in (flip.down, flip.up)):
            text = "* a flip, but perhaps not the nearest: a short stretch with another first action may lie before it."
            parts.append(f"<p class='soft'>{text}</p>")
    if still:
        names = ", ".join(escape(flip.parameter) for flip in still)
        parts.append(f"<p>No flip was found within their range, each on its own: {names}.</p>")
    if open_:
        names = ", ".join(escape(flip.parameter) for flip in open_)
        parts.append(f"<p class='soft'>Not (fully) examined in {report.budget:g} s: {names}.</p>")
    return "".join(parts)


def _edge(flip: Flip, edge: Edge, unit: str) -> str:
    if edge.status != "flips" or edge.value is None:
        return f"<span class='soft'>{'not examined' if edge.status == 'not examined' else 'does not flip'}</span>"
    return f"{_shown(flip, edge.value, unit)} → {escape(edge.then or '')}{'' if edge.is_nearest else ' *'}"


def _shown(flip: Flip, value: float, unit: str) -> str:
    if flip.quantity == "probability":
        return percent(value)
    shown = 0.0 if abs(value) < 1e-6 * abs(flip.value) else value
    return money(shown) if flip.quantity == "money" else f"{shown:.4g} {escape(unit)}"

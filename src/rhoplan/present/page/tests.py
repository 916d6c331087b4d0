"""The report's table of tests: what each costs, when it may run, and how well it tells states apart."""

from __future__ import annotations

import numpy as np

from rhoplan.advice.notes import note_in
from rhoplan.advice.pathway import looked_for
from rhoplan.advice.words import chance, money, stated, words_for
from rhoplan.model.diagnostic import Test
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.present.page.parts import MANY, NONE, grouped, safe, table

UNREADABLE = 1e-12
"""How close the chances of a result in two states must be for it to say nothing."""


def tests_section(problem: POMDP) -> str:
    """Every test with its price, rules and accuracy."""
    if not problem.flat.tests:
        return f"<p>The model has no {words_for(problem)['tests']}.</p>"
    by_state = _matrix(problem) if len(problem.states) <= MANY else _likeliest(problem)
    if len(problem.diagnoses) == 2:
        return _two_states(problem) + (by_state if problem.factors[0].diagnosis_of else "") + _notes(problem)
    return by_state + _notes(problem)


def _notes(problem: POMDP) -> str:
    """What the model says of its tests beyond numbers."""
    lines = []
    for test, notes in (problem.details.get("test_info") or {}).items():
        kept = notes if isinstance(notes, dict) else {"note": notes}
        told = [safe(kept[key]) for key in ("about", "note") if kept.get(key)]
        told += [f"source: {safe(kept['source'])}"] if kept.get("source") else []
        told += ["illustrative"] if kept.get("illustrative") else []
        found = note_in(kept)
        told += [f"<a href='{safe(found.link)}'>{safe(found.link)}</a>"] if found.link else []
        if found.picture.startswith("data:"):
            told.append(f"<img class='shown' src='{safe(found.picture)}' alt='{safe(test)}'>")
        elif found.picture:
            told.append(f"picture: <a href='{safe(found.picture)}'>{safe(found.picture)}</a>")
        lines.append(f"<b>{safe(test)}</b>: {'; '.join(told)}.")
    return f"<p>{' '.join(lines)}</p>" if lines else ""


def _rules(problem: POMDP, test: Test) -> str:
    rules = [f"panel of {safe(', '.join(test.parts))}"] if test.parts else []
    rules += [f"after {safe(', '.join(test.after))}"] if test.after else []
    if test.group:
        first = problem.flat.first_prices.get(test.group)
        shared = f", whose first test costs {money(first)} more" if first else ""
        rules.append(f"group {safe(test.group)}{shared}")
    rules += ["can be repeated"] if test.repeatable else []
    return "; ".join(rules) or NONE


def _two_states(problem: POMDP) -> str:
    """Sensitivity, specificity and likelihood ratios of tests with two results that tell; the others by result."""
    place, factor = problem.diagnoses.index(looked_for(problem)), problem.factors[0]
    state, other = safe(problem.diagnoses[place]), safe(problem.diagnoses[1 - place])
    unit, two, more = safe(problem.unit), [], []
    for test in problem.flat.tests:
        lead = [safe(test.name), money(test.cost), _rules(problem, test)]
        with_it, without = factor.results(test.likelihood)[[place, 1 - place]]
        telling = np.flatnonzero(np.abs(with_it - without) > UNREADABLE)
        if len(telling) == 2:
            positive, negative = sorted(telling.tolist(), key=lambda k: float(without[k] - with_it[k]))
            read = float(with_it[[positive, negative]].sum())
            sens, spec = float(with_it[positive]) / read, float(without[negative]) / read
            results = f"{safe(test.outcomes[positive])} / {safe(test.outcomes[negative])}"
            if read < 1 - UNREADABLE:
                results += f"<br><span class='soft'>{stated(1 - read)} cannot be read</span>"
            ratios = [ratio(sens, 1 - spec), ratio(1 - sens, spec)]
            later = [_after(problem, test, column, place) for column in (positive, negative)]
            two.append([*lead, results, stated(sens), stated(spec), *ratios, *later])
        else:
            cells = []
            for column, outcome in enumerate(test.outcomes):
                chances = (float(with_it[column]), float(without[column]))
                after = _after(problem, test, column, place)
                cells.append([safe(outcome), *map(stated, chances), ratio(*chances), after])
            more.append((lead, cells))
    parts = []
    if two:
        heads = [
            words_for(problem)["test"],
            f"price, {unit}",
            "rules",
            "positive / negative",
            "sensi&shy;tivity",
            "speci&shy;ficity",
        ]
        heads += ["LR+", "LR−", f"{state} if positive", f"{state} if negative"]
        parts.append(table(heads, two, numbers=4))
        parts.append(
            f"<p class='soft note'>Sensitivity: chance of a positive result if {state}. Specificity: chance of a "
            f"negative result if {other}. LR+ and LR−, the likelihood ratios: how much likelier a positive, a negative "
            f"result is if {state} than if {other}. The last two columns: chance of {state} after it alone.</p>"
        )
    if factor.diagnosis_of:
        parts.append("<p class='soft note'>These are means over subtypes as they are before any test.</p>")
    if more:
        heads = [
            words_for(problem)["test"],
            f"price, {unit}",
            "rules",
            "result",
            f"chance if {state}",
            f"chance if {other}",
        ]
        parts.append(grouped([*heads, "likelihood ratio", f"{state} after it"], more, numbers=4, kind="grouped"))
    return "".join(parts)


def _matrix(problem: POMDP) -> str:
    """The chance of every result in every state."""
    groups = []
    for test in problem.flat.tests:
        rules, shares = _rules(problem, test), test.likelihood.T.tolist()
        below = "" if rules == NONE else f"<br><span class='soft'>{rules}</span>"
        rows = [[safe(outcome), *map(stated, row)] for outcome, row in zip(test.outcomes, shares, strict=True)]
        groups.append(([f"{safe(test.name)}{below}", money(test.cost)], rows))
    heads = [words_for(problem)["test"], f"price, {safe(problem.unit)}", "result", *map(safe, problem.states)]
    note = "<p class='soft note'>Chance of each result in each state.</p>"
    kind = "dense grouped" if len(problem.states) > 5 else "grouped"
    return grouped(heads, groups, numbers=3, kind=kind) + note


def _likeliest(problem: POMDP) -> str:
    """Of models with many states: how many have each result as their likeliest, and how likely it is then."""
    rows = []
    for test in problem.flat.tests:
        likeliest = test.likelihood.argmax(axis=1)
        told = []
        for column, outcome in enumerate(test.outcomes):
            chances: Array = test.likelihood[likeliest == column, column]
            if chances.size:
                low, high = stated(float(chances.min())), stated(float(chances.max()))
                told.append(f"{safe(outcome)}: {chances.size} states, {low if low == high else f'{low} to {high}'}")
        rows.append([safe(test.name), money(test.cost), _rules(problem, test), "<br>".join(told)])
    note = "<p class='soft note'>The likeliest result: in how many states, and how likely it is there.</p>"
    heads = [words_for(problem)["test"], f"price, {safe(problem.unit)}", "rules", "likeliest result"]
    return table(heads, rows, numbers=9) + note


def ratio(top: float, bottom: float) -> str:
    """A likelihood ratio to three digits."""
    if bottom <= 1e-15:
        return "∞" if top > 1e-15 else NONE
    return f"{top / bottom:.3g}"


def _after(problem: POMDP, test: Test, column: int, place: int) -> str:
    joint = problem.factors[0].fold(problem.prior * test.likelihood[:, column])
    return chance(float(joint[place] / joint.sum())) if joint.sum() > 0 else NONE

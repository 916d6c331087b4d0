"""Sections of the report on learning: what held-out cases show of the policy, and what the table shows of its tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rhoplan.advice.words import counted, money, percent
from rhoplan.learning.bill import Bill, depth_sentence
from rhoplan.model.pomdp import POMDP
from rhoplan.present.page.bill import planned_words
from rhoplan.present.page.chart import BLUE, GREY, ORANGE, Chart
from rhoplan.present.page.parts import NONE, safe, table

Learned = Mapping[str, Any]

ENOUGH_EVENTS = 10
"""Cases of the rarest diagnosis per number that was learned, below which shrinkage has to do the work."""


def planned_section(learned: Learned) -> str:
    """Planned against held-out cost, split by split."""
    bill, unit = Bill.of(learned), str(learned["unit"])
    folds = learned["folds"]
    points = [(float(fold["planned"]), float(fold["cost"])) for fold in folds]
    every = [value for point in points for value in point]
    low, high = min(every), max(every)
    chart = Chart("Planned and held-out cost of each split", f"planned, {unit} a case", f"held out, {unit} a case",
                  (low, high), (low, high))  # fmt: skip
    ends = max(chart.x[0], chart.y[0]), min(chart.x[1], chart.y[1])
    chart.line([(end, end) for end in ends], GREY, "as planned", dash="5 4")
    chart.dots(points, BLUE, "a split")
    caption = "Above the line: cases cost more than the model of that split expected. Single splits vary by chance."
    words = (
        f"The models of the splits expected {money(bill.planned, unit)} a case; their policies cost "
        f"{money(bill.heldout.mean, unit)}. Planned is {planned_words(bill)}; the held-out figure is the one to "
        "believe."
    )
    if bill.planned < bill.heldout.mean:
        words += (
            " Models expect too little where tests depend on one another more than they know, and where the best of "
            "many plans is picked."
        )
    if "depth" in learned:
        words += f" {depth_sentence(learned['depth'], unit)}"
    return f"<p class='lead'>{safe(words)}</p>{_pair(chart.svg(caption), _choices(learned))}"


def _choices(learned: Learned) -> str:
    """What was chosen on all cases, and how often the splits chose the same."""
    names = {
        "outcomes": "outcomes of a number, at most", "subtypes": "subtypes of a diagnosis", "shrinkage": "shrinkage",
        "tempering": "tempering of likelihoods", "horizon": "tests looked ahead", "about": "information is about",
        "weight": f"weight, {safe(learned['unit'])} per nat",
    }  # fmt: skip
    folds = learned["folds"]
    rows = []
    for name, value in learned["choice"].items():
        same = sum(fold["choice"].get(name) == value for fold in folds)
        shown = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else safe(value)
        rows.append([names.get(name, safe(name.replace("_", " "))), shown, f"{same} of {len(folds)}"])
    note = "<p class='soft note'>Chosen by the cost of policies on folds inside the training cases.</p>"
    return table(["chosen", "on all cases", "splits that chose it"], rows, kind="tight") + note


def calibration_section(learned: Learned) -> str:
    """Whether the policy is as sure as it should be where it stops."""
    found = learned["calibration"]
    points, about = found["points"], found.get("about")
    what = f"chance of {about}" if about else "chance of the likeliest diagnosis"
    seen = f"share that had {about}" if about else "share that had it"
    chart = Chart("Calibration where the policy stops", f"{what} it believed", seen, (0, 1), (0, 1),
                  x_percent=True, y_percent=True)  # fmt: skip
    chart.line([(0, 0), (1, 1)], GREY, "as sure as it should be", dash="5 4")
    chart.whiskers([(p["said"], p["low"], p["high"]) for p in points], BLUE)
    chart.dots([(p["said"], p["seen"]) for p in points], BLUE, "cases not seen, with 95% intervals")
    rows = [
        [percent(p["said"]), percent(p["seen"]), f"{percent(p['low'])} to {percent(p['high'])}", f"{p['cases']:,}"]
        for p in points
    ]
    missed = [p for p in points if not p["low"] <= p["said"] <= p["high"]]
    words = (
        f"On average it believed {percent(found['said'])} and {percent(found['seen'])} was so; group by group the two "
        f"differ by {percent(found['apart'])} on average. "
    ) + (
        f"{len(missed)} of {len(points)} groups lie outside their interval."
        if missed
        else "Every group lies inside its interval."
    )
    cells = table(["believed", "was so", "95% interval", "cases"], rows, numbers=0, kind="tight")
    caption = "Groups of equal size, by what was believed; intervals are Wilson's."
    return f"<p class='lead'>{safe(words)}</p>{_pair(chart.svg(caption), cells)}"


def decision_section(learned: Learned) -> str:
    """Net benefit over thresholds; empty where there are more than two diagnoses."""
    found = learned.get("decision_curve")
    if not found:
        return (
            "<p>With more than two diagnoses there is no one threshold: see the cost of every policy in the first "
            "box.</p>"
        )
    points, about = found["points"], found["about"]
    top = max(max(p["policy"], p["all"]) for p in points)
    chart = Chart(f"Decision curve for {about}", f"threshold: treat from this chance of {about} on",
                  "net benefit per case", (0, 1), (-0.15 * top, top), x_percent=True)  # fmt: skip
    floor = chart.y[0]
    every = [(p["threshold"], p["all"]) for p in points if p["all"] > floor]
    chart.line([(0, 0), (1, 0)], GREY, "treat nobody", dash="2 3")
    chart.line(every, ORANGE, "treat everybody", dash="6 3")
    chart.line([(p["threshold"], p["policy"]) for p in points], BLUE, "act on the belief where the policy stopped")
    if "own" in found:
        chart.upright(found["own"], f"your losses: {found['own']:.0%}")
    better = sum(p["policy"] > max(p["all"], 0.0) + 1e-12 for p in points)
    words = (
        f"Acting on the belief is of more use than treating everybody or nobody at {better} of {len(points)} "
        f"thresholds from {points[0]['threshold']:.0%} to {points[-1]['threshold']:.0%}."
    )
    if "own" in found:
        here = min(points, key=lambda p: abs(p["threshold"] - found["own"]))
        words += (
            f" At the threshold that your losses ask for, {found['own']:.0%}, its net benefit is {here['policy']:.2f}; "
            f"treating everybody has {here['all']:.2f}, treating nobody 0."
        )
    note = (
        "<p>Net benefit counts those rightly treated, less those wrongly treated times the odds of the threshold. "
        "What tests cost is not in it: that is in the bill.</p><p>The policy stops for the threshold of your losses; "
        "far from it a policy made for other losses would have tested differently.</p>"
    )
    caption = "Held-out cases; higher is better."
    return f"<p class='lead'>{safe(words)}</p>{_pair(chart.svg(caption), note)}"


def caps_section(learned: Learned) -> str:
    """What a case costs where fewer tests, or less money, are to be had."""
    unit, caps = str(learned["unit"]), learned["caps"]
    drawn = []
    for kind, title, label in (
        ("tests", "Cost against the number of tests", "tests, at most"),
        ("spend", "Cost against the budget", f"spent on tests, at most, {unit}"),
    ):
        points = caps[kind]
        if not points:
            continue
        names = [money(p["most"]) if "most" in p else "no cap" for p in points]
        high, low = max(p["high"] for p in points), min(p["low"] for p in points)
        low = 0.0 if low < 0.5 * high else low
        chart = Chart(title, label, f"{unit} a case", (0, len(points) - 1), (low, high), categories=names)
        chart.line([(k, p["cost"]) for k, p in enumerate(points)], BLUE, marker="round")
        chart.whiskers([(k, p["low"], p["high"]) for k, p in enumerate(points)], BLUE)
        drawn.append(chart.svg("The same models, planning under each cap; held-out cases, with 95% intervals."))
    if not drawn:
        return "<p>There is one test: no cap could be tried.</p>"
    tests = caps["tests"]
    enough = next((p for p in tests if p["cost"] <= tests[-1]["cost"] + 0.05 * abs(tests[-1]["cost"])), tests[-1])
    words = ""
    if "most" in enough:
        words = f"With at most {counted(enough['most'], 'test')} a case costs within 5% of what it costs with no cap."
    return f"<p class='lead'>{safe(words)}</p><div class='charts'>{''.join(drawn)}</div>"


def tests_section(learned: Learned, problem: POMDP) -> str:
    """Every test: price, how often it was run, what it settles alone, blanks."""
    unit, use, blanks = safe(learned["unit"]), learned["use"]["tests"], learned["blanks"]
    tests = {test.name: test for test in problem.flat.tests}
    first = problem.flat.first_prices
    rows = []
    for name in sorted(use, key=lambda one: -use[one]):
        price = NONE
        if name in tests:
            extra = first.get(tests[name].group, 0.0)
            price = money(tests[name].cost) + (f" <span class='soft'>+ {money(extra)} first</span>" if extra else "")
        alone = learned["alone"].get(name)
        flag = " <b class='commit'>suspect</b>" if name in learned["suspects"] else ""
        rows.append(
            [
                safe(name) + flag,
                price,
                _bar(use[name]),
                NONE if alone is None else f"{max(alone, 0.0):.0%}",
                _blank(blanks.get(name)),
            ]
        )
    never = [name for name, share in use.items() if share == 0]
    numbers = learned["use"]["numbers"]
    counts = ", ".join(
        f"{counted(k, 'test')}{' or more' if k == len(numbers) - 1 and k > 0 else ''} in {percent(share)}"
        for k, share in enumerate(numbers)
        if share > 0
    )
    words = f"Of held-out cases the policy ran {counts}."
    words += f" Never run: {', '.join(never)}." if never else ""
    heads = ["test", f"price, {unit}", "run in this share of cases", "settles alone", "blank"]
    note = (
        "<p class='soft note'>Settles alone: share of the doubt about the diagnosis that this test by itself takes "
        "away in the table. First: paid once for all tests of its group.</p>"
    )
    return (
        f"<p class='lead'>{safe(words)}</p>{table(heads, rows, kind='used')}{note}{_leaks(learned)}{_telling(learned)}"
    )


def _bar(share: float) -> str:
    words = percent(share) if share else "never"
    return f"<span class='bar'><i style='width:{100 * share:.1f}%'></i></span> {words}"


def _blank(found: Learned | None) -> str:
    if not found:
        return NONE
    if "fewer_than" in found:
        return f"fewer than {found['fewer_than']}"
    parts = ", ".join(f"{safe(name)} {percent(share)}" for name, share in found["by_diagnosis"].items())
    return f"{percent(found['share'])} <span class='soft'>({parts})</span>"


def _leaks(learned: Learned) -> str:
    suspects = learned["suspects"]
    if not suspects:
        return (
            "<p>No column settles nearly all doubt by itself: none looks as if it was recorded after the diagnosis. "
            "A column that was can still be among them: you know how each came about.</p>"
        )
    names = safe(", ".join(suspects))
    return (
        f"<div class='warn'><b>Leakage suspected.</b> {names} alone settles nearly all doubt: was it recorded after "
        "the diagnosis? Then take it out of the plan and learn again.</div>"
    )


def _telling(learned: Learned) -> str:
    telling = [name for name, found in learned["blanks"].items() if found.get("goes_with_diagnosis")]
    if not learned["blanks"]:
        return "<p>No test has blanks.</p>"
    if not telling:
        return "<p>Blanks do not go together with the diagnosis beyond chance. A blank counts as a test not run.</p>"
    return (
        f"<div class='warn'><b>Blanks go with the diagnosis.</b> {safe(', '.join(telling))}: who was tested tells "
        "something that the model does not use, and cases with blanks are not like the others.</div>"
    )


def dependence_section(learned: Learned) -> str:
    """Tests that depend on one another within a diagnosis, and the subtypes that take it up."""
    found = learned["dependence"]
    words = (
        f"{found['found']} of {counted(found['looked'], 'pair')} of tests depend on one another though the diagnosis "
        "is known (G test, chance 5% shared among all pairs)."
    )
    parts = [f"<p class='lead'>{safe(words)}</p>"]
    if found["pairs"]:
        rows = [
            [safe(" and ".join(pair["tests"])), f"{pair['told']:.0%}", f"{pair['model']:.0%}"]
            for pair in found["pairs"]
        ]
        parts.append(table(["pair", "one tells of the other", "the same in the model"], rows, kind="tight"))
        parts.append(
            "<p class='soft note'>One tells of the other: share of its doubt within a diagnosis that is gone once the "
            "other is known, beyond chance. In the model tests depend on one another through subtypes only.</p>"
        )
    parts.append(_subtypes(learned["subtypes"]))
    return "".join(parts)


def _subtypes(found: Sequence[Learned]) -> str:
    if not found:
        return "<p>The model has no subtypes: within a diagnosis its tests are independent.</p>"
    rows = []
    for one in found:
        marks = "; ".join(
            f"{safe(mark['test'])} {safe(mark['result'])} ({mark['here']:.0%}, in all of it {mark['within']:.0%})"
            for mark in one["marks"]
        )
        rows.append([safe(one["name"]), percent(one["share"]), marks or NONE])
    return "<h3>Subtypes</h3>" + table(["subtype", "share of its diagnosis", "marked by"], rows, numbers=9)


def second_section(learned: Learned) -> str:
    """Where gradient boosting, on what the policy acquired, would have ended otherwise; empty where nobody asked."""
    found = learned.get("second_opinion")
    if not found:
        return ""
    unit, less = str(learned["unit"]), found["less"]
    better = "surely less" if less["low"] > 0 else "surely more" if less["high"] < 0 else "not surely more or less"
    words = (
        "Gradient boosting was fitted to what the policy had acquired, and asked where the policy stopped. It would "
        f"have ended otherwise in {percent(found['disagree'])} of held-out cases. A case that follows it costs "
        f"{money(found['cost']['cost'], unit)}: {better} than the policy (gain {money(less['mean'])}; 95%: "
        f"{money(less['low'])} to {money(less['high'])})."
    )
    rows = [
        [
            safe(row["policy"]),
            safe(row["second"]),
            f"{row['cases']:,}",
            *map(money, (row["policy_loss"], row["second_loss"])),
        ]
        for row in found["rows"]
    ]
    heads = ["policy ends with", "second opinion", "cases", "loss of the policy there", "loss of the second opinion"]
    cells = table(heads, rows, numbers=2, kind="tight") if rows else ""
    note = (
        "The second opinion takes no part in planning. The model file carries one made of all cases: where a case is "
        "to end and it would end it in another way, advice says so."
    )
    return f"<h2>Second opinion</h2><p class='lead'>{safe(words)}</p>{cells}<p class='soft note'>{note}</p>"


def size_section(learned: Learned) -> str:
    """Cases, diagnoses, and how many there are for each number that was learned."""
    counts, events = learned["diagnoses"], learned["events_per_parameter"]
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    words = (
        f"{learned['table']['cases']:,} cases with a known diagnosis: {told}. The rarest diagnosis has "
        f"{events:.2g} cases for each number that was learned. "
    )
    words += (
        "That is few: without shrinkage the likelihoods would be noise, and more cases would help."
        if events < ENOUGH_EVENTS
        else "That is enough for likelihoods to speak for themselves."
    )
    warned = "".join(f"<li>{safe(one)}</li>" for one in learned["warnings"])
    digest = f"<p class='soft note'>SHA-256 of the table: <code>{safe(learned['table']['sha256'])}</code></p>"
    return f"<p>{safe(words)}</p>" + (f"<ul class='keep'>{warned}</ul>" if warned else "") + digest


def _pair(figure: str, beside: str) -> str:
    return f"<div class='pair wide'>{figure}<div>{beside}</div></div>"


def split_words(learned: Learned) -> str:
    """How cases were split, in words."""
    split = learned["split"]
    if split.get("by") == "time":
        return (
            f"in the order of '{split['column']}': each of {split['folds']} later blocks is scored by what was learned "
            "from all before it"
        )
    again = f", {split['repeats']} times" if split["repeats"] > 1 else ""
    kept = f", no value of '{split['column']}' on both sides" if split.get("by") == "group" else ""
    return f"on {split['folds']} folds stratified by diagnosis{again}{kept}"

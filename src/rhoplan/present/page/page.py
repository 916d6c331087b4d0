"""The report as one HTML page that needs nothing else, no network and no script, and prints on A4."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from rhoplan.advice.doubts import Caution
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import amounts, counted, in_thousand, money, percent, stated, words_for
from rhoplan.belief_math.information import per_nat
from rhoplan.files import write_text
from rhoplan.io.learned import LEARNED
from rhoplan.model.diagnostic import Decision
from rhoplan.model.pomdp import POMDP
from rhoplan.present.content import Report
from rhoplan.present.drawing import Drawing
from rhoplan.present.origin import DISCLAIMER, Origin, origin_of
from rhoplan.present.page.bill import bill_box
from rhoplan.present.page.parts import MANY, mark, safe, table
from rhoplan.present.page.pathway import pathway_section, thousand
from rhoplan.present.page.tables import against_best, comparison, sensitivity, stopping
from rhoplan.present.page.targets import targets_section
from rhoplan.present.page.tests import tests_section
from rhoplan.present.page.uncertain import uncertain_section
from rhoplan.present.page.weight import weight_section
from rhoplan.present.signed import signed
from rhoplan.present.telling import as_mermaid, as_text
from rhoplan.version import __version__

FIRST = ("reversed test", "beaten decision", "cut off", "cost-only better", "dominant weight", "short horizon")
"""Warnings that stand at the top of the report."""


def page(report: Report, origin: Origin | None = None) -> str:
    """The whole page. origin: who made it, when and how; without it, the page tells of the model alone."""
    name = safe(report.problem.name)
    steps, at_the_end = pathway_section(report)
    made, said = origin or origin_of(report.problem), words_for(report.problem)
    whose = "".join(f" {safe(one)}." for one in (made.author, made.date) if one)
    body = [
        f"<header><h1>{safe(made.title)}</h1><p class='soft'>What to test, when to stop, what to do. Model {name}; "
        f"rhoplan {safe(__version__)}.{whose}</p><p class='note'>{safe(DISCLAIMER)}</p></header>",
        *_bill(report),
        _question(report),
        _first(report),
        *(_warning([one]) for one in report.cautions if one.kind in FIRST),
        "<h2>States and final actions</h2>",
        _states(report),
        f"<h2>{_capital(said['tests'])}</h2>",
        tests_section(report.problem),
        "<h2>Recommended pathway</h2>",
        mark(report, "pathway"),
        steps,
        f"<h2>What becomes of 1,000 {said['cases']}</h2>",
        mark(report, "pathway"),
        thousand(report),
        "<h2>When to stop</h2>",
        stopping(report),
        "<h2>Compared with other ways of deciding</h2>",
        mark(report, "comparison"),
        comparison(report),
        *(["<h2>Targets instead of prices</h2>", targets_section(report)] if report.edges else []),
        *_weight(report),
        "<h2>What would change the first action</h2>",
        sensitivity(report),
        *_uncertain(report),
        "<h2>Assumptions and warnings</h2>",
        _assumptions(report),
        "<h2>About this report</h2>",
        table(["what", "is"], [[safe(fact), f"<code>{safe(value)}</code>"] for fact, value in made.facts], numbers=9),
        at_the_end,
    ]
    style = files("rhoplan.present.page").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{name}: recommended pathway</title><style>{style}</style>"
    text = f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"
    return signed(text, report.problem, report.agent.settings)


def _bill(report: Report) -> list[str]:
    """The box with the bill of a learned model, and whether this report is on the policy that was scored."""
    learned = report.problem.details.get(LEARNED)
    if not learned:
        return []
    choice, agent = learned["choice"], report.agent
    scored = agent.horizon == choice["horizon"] and math.isclose(agent.weight_per_nat, choice["weight"])
    other = (
        f"<p class='soft'>The bill is that of the policy that was scored: horizon {choice['horizon']}, weight "
        f"{choice['weight']:g} per nat, which a report without other settings is about. What follows is another.</p>"
    )
    return [bill_box(learned), "" if scored else other]


def _weight(report: Report) -> list[str]:
    """The section on the weight; none for agents that have no weight."""
    if report.frontier is None and "weight" not in report.marks:
        return []
    told = weight_section(report, report.frontier) if report.frontier else mark(report, "weight")
    return ["<h2>What the weight does</h2>", told]


def _uncertain(report: Report) -> list[str]:
    """The section on uncertain numbers; none for models that state none."""
    if report.uncertainty is None and "uncertainty" not in report.marks:
        return []
    found = report.uncertainty
    told = mark(report, "uncertainty") if found is None else uncertain_section(report.problem, found)
    return ["<h2>What uncertain numbers mean</h2>", told]


def write_report(report: Report, out: Path, origin: Origin | None = None) -> tuple[Path, ...]:
    """Write the page to `out` and the pathway beside it as .svg, .mmd and .txt; the paths written."""
    texts = {out: page(report, origin), out.with_suffix(".svg"): Drawing(report.pathway).svg()}
    texts |= {out.with_suffix(".mmd"): as_mermaid(report.pathway), out.with_suffix(".txt"): as_text(report.pathway)}
    for path, text in texts.items():
        write_text(path, text)
    return tuple(texts)


def _question(report: Report) -> str:
    problem = report.problem
    info = problem.details.get("info", {})
    info = info if isinstance(info, dict) else {"note": info}
    text = _whole(str(info.get("about", "") or problem.note))
    asked = f"<p><b>Question.</b> {safe(text)}</p>" if text else ""
    note = _whole(str(info.get("note", "")))
    asked += f"<p>{safe(note)}</p>" if note else ""
    if info.get("illustrative"):
        asked += "<p class='soft'>Illustrative: the numbers of this model are made up.</p>"
    if info.get("source"):
        asked += f"<p class='soft'>Source: {safe(_whole(str(info['source'])))}</p>"
    return asked


def _whole(text: str) -> str:
    """`text` as a sentence: with a capital, and a stop unless it ends with a mark of its own."""
    words = text.strip()
    return _capital(words) + ("" if not words or words[-1] in ".?!" else ".")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _first(report: Report) -> str:
    advice, unit, ahead = report.advice, safe(report.problem.unit), report.pathway.ahead
    (tests, cost), said = ahead.bad_case(), words_for(report.problem)
    losses = counts_losses(report.problem)
    word, sign = ("loss", -1) if losses else ("reward", 1)
    stop = f"{word} {money(sign * advice.stop.value + 0.0, unit)}, wrong in {percent(advice.stop.wrong)}"
    most = f"nine {said['cases']} in ten: at most"
    facts = [
        (f"expected {word}, {said['tests']} included", money(sign * ahead.reward + 0.0, unit), f"per {said['case']}"),
        ("right final action", percent(ahead.right), f"of {said['cases']}"),
        (f"spent on {said['tests']}, on average", money(ahead.cost, unit), f"{most} {money(cost, unit)}"),
        (f"number of {said['tests']}, on average", f"{ahead.tests:.2f}", f"{most} {tests}"),
        ("if you stopped now", safe(advice.stop.commit), stop),
        ("against the best possible plan", *against_best(report)),
    ]
    items = "".join(f"<li><span>{name}</span><b>{value}</b><span>{more}</span></li>" for name, value, more in facts)
    return (
        f"<div class='first'><p class='do'>First: {'run' if advice.is_test else 'stop and commit to'} "
        f"<strong>{safe(advice.do)}</strong></p><p>because {safe(advice.reason)}.</p>"
        f"<p class='beside'>{safe(_whole(advice.beside))}</p><ul class='facts'>{items}</ul>"
        f"{mark(report, 'first')}<p class='soft'>{_plan(report)}</p></div>"
    )


def _plan(report: Report) -> str:
    """What the plan of this report counts, and how far it looks."""
    agent, unit, said = report.agent, safe(report.problem.unit), words_for(report.problem)
    if not agent.planner.plans:
        return f"This plan follows the rule {safe(agent.name)}."
    per = agent.unit.removesuffix("s")
    far = f"looking {counted(agent.horizon, said['test'])} ahead at every step"
    if agent.planner.is_bounded:
        far = f"found by branch and bound, with no limit to the number of {said['tests']}"
    if not agent.commits_count:
        return f"This plan counts the cost of {said['tests']} and information only ({safe(agent.name)}), {far}."
    if agent.weight == 0:
        return f"This plan counts costs and nothing else, {far}."
    if not agent.objective.is_information:
        what = f"utility {safe(agent.utility.name)} with weight {agent.weight:g}"
        return f"This plan counts costs, and {what} ({safe(agent.name)}), {far}."
    name = "EFE, expected free energy" if agent.name == "efe" else safe(agent.name)
    return f"This plan counts costs, and each {per} of information as {agent.weight:g} {unit} ({name}), {far}."


def _warning(cautions: Sequence[Caution]) -> str:
    """Warnings of one kind; tests of which the same is said are named together."""
    kind, told = cautions[0].kind, dict[str, list[str]]()
    for one in cautions:
        told.setdefault(one.text.removeprefix(one.about), []).append(one.about)
    text = " ".join(f"{safe(', '.join(names))}{safe(words)}" for words, names in told.items())
    return f"<div class='warn'><b>{safe(_capital(kind))}.</b> {text}</div>"


def _states(report: Report) -> str:
    problem, losses = report.problem, counts_losses(report.problem)
    commits: Sequence[Decision] = problem.flat.commits
    what, sign = ("Loss", -1) if losses else ("Reward", 1)
    factor = problem.factors[0]
    if len(factor.diagnoses) > MANY:
        return _many_states(report, what.lower(), sign)
    columns = [amounts(sign * value for value in factor.by_diagnosis(commit.reward).tolist()) for commit in commits]
    rows = [
        [safe(state), stated(share), in_thousand(share), *(column[place] for column in columns)]
        for place, (state, share) in enumerate(zip(factor.diagnoses, factor.fold(factor.prior).tolist(), strict=True))
    ]
    heads = ["state", "prior", "in&nbsp;1,000", *(safe(commit.name) for commit in commits)]
    lead = f"<p class='lead'>{what} of each final action in each state, in {safe(problem.unit)}. "
    lead += f"Prior: the chance of each state before any {words_for(problem)['test']}.</p>"
    return lead + table(heads, rows, kind="dense" if len(commits) > 6 else "") + _subtypes(problem)


def _subtypes(problem: POMDP) -> str:
    """What each diagnosis is made of, where some have subtypes."""
    factor = problem.factors[0]
    told = []
    for diagnosis, names in factor.subtypes.items():
        shares = factor.within[factor.places[diagnosis]].tolist()
        parts = ", ".join(f"{safe(name)} {stated(share)}" for name, share in zip(names, shares, strict=True))
        told.append(f"{safe(diagnosis)}: {parts}")
    return f"<p class='soft note'>Subtypes, which tests may tell apart: {'; '.join(told)}.</p>" if told else ""


def _many_states(report: Report, what: str, sign: int) -> str:
    """Of models with many states: how large chances and losses are, in a few lines."""
    problem, factor = report.problem, report.problem.factors[0]
    prior = factor.fold(factor.prior)
    low, high = (stated(float(end)) for end in (prior.min(), prior.max()))
    chances = f"each with a prior of {low}" if low == high else f"with priors from {low} to {high}"
    rows = []
    for commit in problem.flat.commits[:MANY]:
        rewards = factor.by_diagnosis(commit.reward)
        values = sorted({round(sign * float(value) + 0.0, 9) for value in rewards})
        told = ", ".join(f"{money(value)} in {int((abs(sign * rewards - value) < 1e-9).sum())}" for value in values[:6])
        rows.append([safe(commit.name), told + (", ..." if len(values) > 6 else "")])
    left = len(problem.flat.commits) - len(rows)
    more = f"<p class='soft note'>And {left} more final actions.</p>" if left > 0 else ""
    heads = ["final action", f"{what}, {safe(problem.unit)}, and in how many states"]
    return f"<p class='lead'>{len(prior)} states, {chances}.</p>{table(heads, rows, numbers=9)}{more}"


def _assumptions(report: Report) -> str:
    problem, menu, said = report.problem, report.problem.flat, words_for(report.problem)
    points = [f"Results of different {said['tests']} are independent of each other once the true state is known."]
    again = [test.name for test in menu.tests if test.repeatable]
    if again:
        points.append(f"Repeats of a {said['test']} are independent of each other: {', '.join(again)}.")
    if len(again) < len(menu.tests):
        points.append(f"Every {'other ' if again else ''}{said['test']} runs at most once.")
    points.append(f"No {said['test']} changes the state, and the state does not change while testing.")
    if menu.most_tests is not None:
        points.append(f"At most {counted(menu.most_tests, said['test'])} may be run.")
    if menu.budget is not None:
        points.append(f"At most {money(menu.budget, problem.unit)} may be spent on {said['tests']}.")
    exact = "All numbers are exact for this model, not simulated; they are as good as the model."
    if report.marks:
        exact = (
            "No number is simulated. What is not exact for this model says what it is; all are as good as the model."
        )
    points.append(exact)
    if report.agent.weight or report.frontier:
        points.append(
            f"Information is counted in {report.agent.unit}: the toss of a fair coin tells "
            f"{math.log(2) * per_nat(1.0, report.agent.unit):.2f}."
        )
        if problem.factors[0].diagnosis_of:
            about = "the diagnosis" if problem.factors[0].about_diagnosis else "the state: subtypes count too"
            points.append(f"Information is about {about}.")
    listed = "".join(f"<li>{safe(point)}</li>" for point in points)
    kinds = list(dict.fromkeys(one.kind for one in report.cautions if one.kind not in FIRST))
    warned = "".join(_warning([one for one in report.cautions if one.kind == kind]) for kind in kinds)
    above = list(dict.fromkeys(one.kind for one in report.cautions if one.kind in FIRST))
    if above:
        warned += f"<p class='soft told'>Told at the top of this report: {', '.join(above)}.</p>"
    return f"<ul class='keep'>{listed}</ul>{warned or '<p>No warnings.</p>'}"

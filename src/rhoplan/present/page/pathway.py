"""The report's sections on the pathway: drawings that fit on a page, the steps as a table, what becomes of 1,000."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from rhoplan.advice.branches import Leaf, Node
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import amounts, belief_words, chance, counted, in_thousand, money, one_in, percent
from rhoplan.present.page.parts import MANY, NONE, SCROLLED, safe, table
from rhoplan.present.sheets import Sheet, sheets
from rhoplan.present.telling import folded_words, goes_on, outcomes_of

if TYPE_CHECKING:
    from rhoplan.advice.branches import Pathway
    from rhoplan.model.pomdp import POMDP
    from rhoplan.present.content import Report


SMALL = 560.0
"""Height in CSS pixels up to which the first drawing stands in the text; others have pages of their own at the end."""


class Drawn(Protocol):
    """A model with the pathway that is drawn of it."""

    @property
    def problem(self) -> POMDP: ...

    @property
    def pathway(self) -> Pathway: ...


def pathway_section(report: Drawn) -> tuple[str, str]:
    """The pathway as a tree and step by step, and what of it has pages of its own at the end of the report."""
    found = sheets(report.pathway)
    drawn = [_figure(sheet, first=place == 0) for place, sheet in enumerate(found)]
    here = 1 if found[0].size.height <= SMALL else 0
    words, lead = "".join(drawn[:here]) + ("<h3>Step by step</h3>" if here else ""), ""
    if len(found) == 1 and not here:
        lead = "The same as a tree: at the end of this report."
    elif len(found) > here:
        letters = f"sheet {found[here].letter}" if len(found) - here == 1 else ""
        letters = letters or f"sheets {found[here].letter} to {found[-1].letter}"
        lead = f"{'The rest of the tree' if here else 'The same as a tree'}: {letters}, at the end of this report."
    words += f"<p class='lead'><a href='#tree'>{lead}</a></p>" if lead else ""
    rest = f"<h2 id='tree'>The pathway as a tree</h2>{''.join(drawn[here:])}" if drawn[here:] else ""
    return words + steps_table(report), rest


def _figure(sheet: Sheet, *, first: bool) -> str:
    words = []
    if sheet.seen:
        seen = ", ".join(f"{safe(test)} {safe(outcome)}" for test, outcome in sheet.seen)
        words.append(f"<b>Sheet {sheet.letter}</b>: goes on from step {sheet.root.number}, after {seen}.")
    elif sheet.letter:
        words.append(f"<b>Sheet {sheet.letter}.</b>")
    if first:
        words.append(
            "Blue boxes with corners are tests, orange round ones final actions; above a box stands the result that "
            "leads there and how likely it is. “65/1,000”: so many of 1,000 cases come here; the bar in the box and "
            "the thickness of the line show the same."
        )
        if sheet.folded:
            words.append(f"Branches of less than {percent(sheet.folded)} of cases stand in the table only.")
    return f"<figure class='tree' tabindex='0'>{sheet.svg}<figcaption>{' '.join(words)}</figcaption></figure>"


def steps_table(report: Drawn) -> str:
    """The pathway as numbered lines, one for each step and each end."""
    unit, losses = safe(report.problem.unit), counts_losses(report.problem)
    about = report.pathway.looked_for
    heads = ["step", "in&nbsp;1,000", f"chance of {safe(about)}" if about else "two likeliest states", "right"]
    heads += [f"{'loss' if losses else 'reward'}, {unit}", f"spent, {unit}"]
    kinds = ["", "n", "n" if about else "states", "n", "n", "n"]
    top = "".join(f"<th class='{kind}'>{head}</th>" for kind, head in zip(kinds, heads, strict=True))
    sign = 1.0 if losses else -1.0
    leaves = report.pathway.leaves
    worth = dict(zip([one.number for one in leaves], amounts(sign * one.loss for one in leaves), strict=True))
    spent = dict(zip([one.number for one in leaves], amounts(one.cost for one in leaves), strict=True))
    body = ""
    for node, when, depth in _lines(report.pathway.root, "", 0):
        body += _line(report, node, when, depth, (worth.get(node.number, ""), spent.get(node.number, "")))
    return (
        f"{SCROLLED}<table class='steps'><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
        f"<p class='soft note'>{_steps_note(report)}</p>"
    )


def _lines(node: Node, when: str, depth: int) -> Iterator[tuple[Node, str, int]]:
    yield node, when, depth
    for outcome, chances in outcomes_of(node):
        yield from _lines(outcome.child, f"{safe(outcome.outcome)} ({chances}): ", depth + 1)


def _line(report: Drawn, node: Node, when: str, depth: int, ended: tuple[str, str]) -> str:
    about = report.pathway.looked_for
    believed = chance(node.belief[about]) if about else safe(belief_words(node.belief, most=2, others=False))
    cells = [("n", in_thousand(node.share)), ("n" if about else "states", believed)]
    if isinstance(node, Leaf):
        done = f"<span class='commit'>{safe(node.action)}</span>" if node.kind == "commit" else safe(goes_on(node))
        cells.append(("n", chance(node.right)))
    else:
        done = f"run <span class='test'>{safe(node.action)}</span>, {money(node.cost, safe(report.problem.unit))}"
        cells.append(("n", ""))
    cells += [("n", text) for text in ended]
    shown = "".join(f"<td class='{kind}'>{text}</td>" for kind, text in cells)
    rails = "<i></i>" * depth
    return f"<tr><td><div class='line'>{rails}<span>{node.number}. {when}{done}</span></div></td>{shown}</tr>"


def _steps_note(report: Drawn) -> str:
    told = ["In brackets: how likely the result is there. Spent: on tests."]
    two = _screening(report)
    if two:
        rule_in, rule_out = two
        told.append(
            f"Right: share of these cases for whom it is a best action; for {safe(rule_in)} that is the positive "
            f"predictive value (PPV), for {safe(rule_out)} the negative one (NPV)."
        )
    else:
        told.append("Right: share of these cases for whom it is a best action.")
    if any(leaf.kind != "commit" for leaf in report.pathway.leaves):
        told.append("Where a case goes on, right, loss or reward and spending are what to expect in the end.")
    told.append(safe(folded_words(report.pathway)))
    return " ".join(filter(None, told))


def _screening(report: Drawn) -> tuple[str, str] | None:
    """The final action for each of two states, where there is exactly one best action for each, and they differ."""
    problem, about = report.problem, report.pathway.looked_for
    if not about or "positive" not in problem.details:
        return None
    place, best_for = problem.diagnoses.index(about), problem.factors[0].by_diagnosis(problem.flat.right)
    best = [
        [commit.name for commit, right in zip(problem.flat.commits, best_for[:, state], strict=True) if right]
        for state in (place, 1 - place)
    ]
    if any(len(names) != 1 for names in best) or best[0] == best[1]:
        return None
    return best[0][0], best[1][0]


def thousand(report: Report) -> str:
    """How a thousand cases end, by final action and true state; what is spent; misses and false alarms."""
    ahead = report.pathway.ahead
    wrong = f" ({one_in(1 - ahead.right)})" if 1e-12 < 1 - ahead.right < 0.1 else ""
    cut = f" {ahead.cut_off}." if ahead.cut_off else ""
    return (
        f"{_endings(report)}<p>{in_thousand(ahead.right)} of 1,000 get a best action for their true state, "
        f"{in_thousand(1 - ahead.right)} do not{wrong}.{cut} {_screened(report)}</p><p>{_spend(report)}</p>"
    )


def _endings(report: Report) -> str:
    problem, factor = report.problem, report.problem.factors[0]
    ends, names = factor.fold(report.ends), factor.diagnoses
    chosen = [place for place in range(len(ends)) if ends[place].sum() > 0]
    few = len(names) <= MANY
    right = (ends * factor.by_diagnosis(problem.flat.right)).sum(axis=1)
    rows = [
        [
            safe(problem.flat.commits[place].name),
            *(_count(float(share)) for share in (ends[place] if few else ())),
            _count(float(ends[place].sum())),
            chance(float(right[place] / ends[place].sum())),
        ]
        for place in chosen
    ]
    rows.append(["all", *(_count(float(s)) for s in (ends.sum(axis=0) if few else ())), _count(float(ends.sum())), ""])
    rows[-1][-1] = chance(float(right.sum() / ends.sum())) if chosen else NONE  # a plan that never ends
    heads = ["final action", *(map(safe, names) if few else ()), "all", "right"]
    return table(heads, rows, kind="dense" if few and len(names) > 6 else "", marked=len(rows) - 1)


def _count(share: float) -> str:
    """Cases in a thousand to one decimal, small numbers to two digits that count."""
    count = 1000 * share
    return f"{count:,.1f}" if count >= 0.0995 or count == 0 else in_thousand(share)


def _screened(report: Report) -> str:
    """Of a screening model: misses, false alarms, and the accuracy of the whole pathway."""
    two = _screening(report)
    if two is None:
        return ""
    problem = report.problem
    names = [commit.name for commit in problem.flat.commits]
    rule_in, rule_out = (names.index(name) for name in two)
    place, ends = problem.diagnoses.index(report.pathway.looked_for), problem.factors[0].fold(report.ends)
    hit, miss = (float(ends[row, place]) for row in (rule_in, rule_out))
    alarm, clear = (float(ends[row, 1 - place]) for row in (rule_in, rule_out))
    ill, well = safe(problem.diagnoses[place]), safe(problem.diagnoses[1 - place])
    parts = [f"Misses ({ill}, {safe(two[1])}): {in_thousand(miss)} of 1,000"]
    parts.append(f"false alarms ({well}, {safe(two[0])}): {in_thousand(alarm)} of 1,000")
    values = []
    if hit + alarm > 0:
        values.append(f"PPV {chance(hit / (hit + alarm))}")
    if clear + miss > 0:
        values.append(f"NPV {chance(clear / (clear + miss))}")
    if hit + miss > 0 and clear + alarm > 0:
        values.append(f"sensitivity {chance(hit / (hit + miss))}, specificity {chance(clear / (clear + alarm))}")
    return f"{'; '.join(parts)}. The pathway as a whole: {', '.join(values)}."


def _spend(report: Report) -> str:
    ahead, unit, said = report.pathway.ahead, safe(report.problem.unit), report.pathway.said
    tests, cost = ahead.bad_case()
    if any(test.repeatable for test in report.problem.flat.tests):
        dear = f"999 in 1,000 spend at most {money(ahead.bad_case(0.999)[1], unit)}"
    else:
        dear = f"the dearest {said['case']} spends {money(max(spent for spent, _ in ahead.by_cost), unit)}"
    return (
        f"{said['tests'].capitalize()} cost {money(ahead.cost, unit)} per {said['case']} on average, "
        f"{money(1000 * ahead.cost, unit)} for 1,000; nine {said['cases']} in ten (the 90th percentile) spend at most "
        f"{money(cost, unit)} and need at most {counted(tests, said['test'])}; {dear}."
    )

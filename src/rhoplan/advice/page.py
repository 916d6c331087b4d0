"""The report as one HTML page that needs nothing else, no network and no script, and prints on A4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from rhoplan.advice.branches import Leaf, Node, Step
from rhoplan.advice.page_tables import band_figure, band_table, comparison, sensitivity, tests_table
from rhoplan.advice.pathway import as_svg
from rhoplan.advice.report import Report
from rhoplan.advice.telling import agent_words, goes_on
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import belief_words, in_thousand, money, percent
from rhoplan.menu import Commit
from rhoplan.version import __version__


def page(report: Report) -> str:
    """The whole page."""
    problem = report.problem
    body = [
        f"<h1>{escape(problem.name)}: what to test, when to stop</h1>",
        f"<p class='soft'>{escape(agent_words(report.pathway))}; rhoplan {escape(__version__)}</p>",
        _question(report),
        _first(report),
        *(_warning(c.kind, c.text) for c in report.cautions if c.kind in ("cost-only better", "dominant weight")),
        "<h2>States, actions and what they cost</h2>",
        _states(report),
        "<h2>Tests</h2>",
        tests_table(problem),
        "<h2>Recommended pathway</h2>",
        _figure(report),
        "<h3>In words</h3>",
        f"<ol class='tree'>{_item(report.pathway.root, '', problem.unit)}</ol>",
        "<h2>What happens to 1,000 cases</h2>",
        _thousand(report),
        *(["<h2>Stopping bands</h2>", band_figure(report), band_table(report)] if report.bands else []),
        "<h2>Compared with other ways of deciding</h2>",
        comparison(report),
        "<h2>What would change the first action</h2>",
        sensitivity(report),
        "<h2>Assumptions and warnings</h2>",
        _assumptions(report),
        "<h2>Sources</h2>",
        _sources(report),
    ]
    style = files("rhoplan.advice").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{escape(problem.name)}: recommended pathway</title><style>{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _info(report: Report) -> dict[str, Any]:
    info = report.problem.details.get("info", {})
    return info if isinstance(info, dict) else {"note": info}


def _question(report: Report) -> str:
    info, problem = _info(report), report.problem
    text = str(info.get("about", "") or problem.note)
    asked = f"<p><b>Question.</b> {escape(text[:1].upper() + text[1:])}.</p>" if text else ""
    note = str(info.get("note", ""))
    if note:
        asked += f"<p>{escape(note)}</p>"
    if info.get("illustrative"):
        asked += "<p class='soft'>Illustrative: the numbers of this model are made up.</p>"
    return asked


def _first(report: Report) -> str:
    advice, unit, ahead = report.advice, report.problem.unit, report.pathway.ahead
    tests, cost = ahead.bad_case()
    verb = "run" if advice.is_test else "commit to"
    stop = f"{escape(advice.stop.commit)}, wrong in {percent(advice.stop.wrong)}"
    facts = [
        ("expected cost of tests", money(ahead.cost, unit)),
        ("nine cases in ten spend at most", money(cost, unit)),
        ("expected number of tests", f"{ahead.tests:.2f} (nine in ten: at most {tests})"),
        ("right commit", percent(ahead.right)),
        (_worth_name(report), money(-ahead.reward if counts_losses(report.problem) else ahead.reward, unit)),
        ("if you stopped now", stop),
    ]
    items = "".join(f"<li><span>{name}</span><b>{value}</b></li>" for name, value in facts)
    return (
        f"<div class='first'><strong>First: {verb} {escape(advice.do)}</strong><br>because {escape(advice.reason)}."
        f"<ul class='facts'>{items}</ul></div>"
    )


def _worth_name(report: Report) -> str:
    return "expected total loss" if counts_losses(report.problem) else "expected total reward"


def _warning(kind: str, text: str) -> str:
    return f"<div class='warn'><b>{escape(kind[:1].upper() + kind[1:])}.</b> {escape(text)}</div>"


def _states(report: Report) -> str:
    problem = report.problem
    commits: Sequence[Commit] = problem.flat.commits
    losses = counts_losses(problem)
    heads = "".join(f"<th class='n'>{escape(commit.name)}</th>" for commit in commits)
    rows = []
    for place, (state, share) in enumerate(zip(problem.states, problem.prior.tolist(), strict=True)):
        sign = -1 if losses else 1
        cells = "".join(f"<td class='n'>{money(sign * float(c.reward[place]) + 0.0)}</td>" for c in commits)
        rows.append(
            f"<tr><td>{escape(state)}</td><td class='n'>{percent(share)}</td>"
            f"<td class='n'>{in_thousand(share)}</td>{cells}</tr>"
        )
    what = "Loss" if losses else "Reward"
    dense = " class='dense'" if len(commits) > 6 else ""
    return (
        f"<p>{what} of each final action in each state, in {escape(problem.unit)}.</p>"
        f"<div class='scroll'><table{dense}>"
        f"<thead><tr><th>state</th><th class='n'>prior</th><th class='n'>in 1,000</th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _figure(report: Report) -> str:
    shown = report.figure
    folded = ""
    if shown is not report.pathway:
        folded = f" Branches below {percent(shown.smallest)} of cases are folded here; the text below has them."
    return (
        f"<figure>{as_svg(shown)}<figcaption>Boxes with corners are tests, round ones final actions. The bar in a box "
        f"and the thickness of a line show the share of all cases.{folded}</figcaption></figure>"
    )


def _item(node: Node, when: str, unit: str) -> str:
    who = f"{percent(node.share)} of cases; {escape(belief_words(node.belief))}"
    if isinstance(node, Step):
        below = "".join(
            _item(o.child, f"if {escape(o.outcome)} ({percent(o.probability)}): ", unit) for o in node.outcomes
        )
        done = f"<span class='test'>run {escape(node.action)}</span> for {money(node.cost, unit)}"
        return f"<li>{node.number}. {when}{done} <span class='k'>[{who}]</span><ol>{below}</ol></li>"
    done = f"<span class='commit'>{escape(node.action)}</span>" if node.kind == "commit" else escape(goes_on(node))
    return f"<li>{node.number}. {when}{done} <span class='k'>[{who}; {_ends(node, unit)}]</span></li>"


def _ends(leaf: Leaf, unit: str) -> str:
    worth = f"gain {money(-leaf.loss, unit)}" if leaf.loss < 0 else f"loss {money(leaf.loss, unit)}"
    later = "" if leaf.kind == "commit" else "in the end "
    return f"{later}right {percent(leaf.right)}, {worth}, tests {money(leaf.cost, unit)}"


def _thousand(report: Report) -> str:
    """How a thousand cases end: by final action and true state, from the leaves."""
    problem = report.problem
    states: list[str] = list(problem.states)
    table = _ending_shares(report)
    heads = "".join(f"<th class='n'>{escape(state)}</th>" for state in states)
    rows = []
    for commit in problem.flat.commits:
        shares = [table[commit.name, state] for state in states]
        if sum(shares) > 0:
            cells = "".join(f"<td class='n'>{in_thousand(share)}</td>" for share in shares)
            rows.append(f"<tr><td>{escape(commit.name)}</td>{cells}<td class='n'>{in_thousand(sum(shares))}</td></tr>")
    ahead = report.pathway.ahead
    spend = _spend(report)
    dense = " class='dense'" if len(states) > 6 else ""
    cut = f" {percent(ahead.cut)} are cut off after {problem.cap} steps." if ahead.cut > 1e-9 else ""
    return (
        f"<div class='scroll'><table{dense}><thead><tr><th>final action</th>"
        f"{heads}<th class='n'>all</th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"<p>{in_thousand(ahead.right)} of 1,000 get a best action for their true state, "
        f"{in_thousand(1 - ahead.right)} do not.{cut} {spend}</p>"
    )


def _ending_shares(report: Report) -> Counter[tuple[str, str]]:
    """Share of all cases per final action and true state, following the plan to its end."""
    from rhoplan.advice.outlay import endings
    from rhoplan.planning.graph import shared_graph
    from rhoplan.policy import Policy

    graph = shared_graph(report.problem)
    shares = endings(Policy(graph, report.agent), graph.root, cap=report.problem.cap)
    found: Counter[tuple[str, str]] = Counter()
    for commit, row in zip(report.problem.flat.commits, shares.tolist(), strict=True):
        for state, share in zip(report.problem.states, row, strict=True):
            found[commit.name, state] = share
    return found


def _spend(report: Report) -> str:
    ahead, unit = report.pathway.ahead, report.problem.unit
    tests, cost = ahead.bad_case()
    return (
        f"Tests cost {money(ahead.cost, unit)} per case on average, {money(1000 * ahead.cost, unit)} per 1,000; "
        f"nine cases in ten spend at most {money(cost, unit)} and need at most {tests} "
        f"{'test' if tests == 1 else 'tests'}; the dearest case spends {money(ahead.by_cost[-1][0], unit)}."
    )


def _assumptions(report: Report) -> str:
    problem, menu = report.problem, report.problem.flat
    points = ["Results of different tests are independent of each other once the true state is known."]
    if any(test.repeatable for test in menu.tests):
        again = ", ".join(test.name for test in menu.tests if test.repeatable)
        points.append(f"Repeats of these tests are independent of each other: {again}.")
    if any(not test.repeatable for test in menu.tests):
        points.append(
            "Other tests run at most once." if any(t.repeatable for t in menu.tests) else "Each test runs once."
        )
    points.append("Tests do not change the state, and the state does not change while testing.")
    if menu.most_tests is not None:
        points.append(f"At most {menu.most_tests} tests are run.")
    if menu.budget is not None:
        points.append(f"At most {money(menu.budget, problem.unit)} is spent on tests.")
    per = report.agent.unit.removesuffix("s")
    points.append(
        f"A {per} of information counts for {report.agent.weight:g} {problem.unit}; the plan looks "
        f"{report.agent.horizon} actions ahead at every step. All numbers are exact for this model, not simulated."
    )
    listed = "".join(f"<li>{escape(point)}</li>" for point in points)
    warned = "".join(_warning(c.kind, c.text) for c in report.cautions)
    return f"<ul>{listed}</ul>{warned or '<p>No warnings.</p>'}"


def _sources(report: Report) -> str:
    info = _info(report)
    lines = [f"<b>{escape(str(key))}</b>: {_yes(value)}" for key, value in _flat(info)]
    for test, notes in (report.problem.details.get("test_info") or {}).items():
        lines += [f"{escape(str(test))}, <b>{escape(str(k))}</b>: {_yes(v)}" for k, v in _flat(notes)]
    listed = "".join(f"<li>{line}</li>" for line in lines)
    return f"<ul>{listed}</ul>" if listed else "<p>The model names no source.</p>"


def _flat(info: Any) -> Iterable[tuple[str, Any]]:
    if not isinstance(info, dict):
        return [("note", info)] if info else []
    return [(key, value) for key, value in info.items() if key not in ("about", "note" if "about" in info else "")]


def _yes(value: Any) -> str:
    return "yes" if value is True else "no" if value is False else escape(str(value))

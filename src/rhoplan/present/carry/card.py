"""The plan as a card: one page of A4 in large type, for the wall or the pocket; no nats, small print at its foot."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from rhoplan.advice.branches import Leaf, Node, Pathway
from rhoplan.advice.case import Adviser
from rhoplan.advice.pathway import pathway
from rhoplan.advice.start import FRESH, Standing, started
from rhoplan.advice.thresholds import Thresholds, thresholds
from rhoplan.advice.words import belief_words, counted, in_thousand, money, percent
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import POMDP
from rhoplan.present.origin import DISCLAIMER, Origin
from rhoplan.present.page.parts import safe
from rhoplan.present.signed import signed
from rhoplan.present.telling import outcomes_of

LINES, LETTERS = 26, 62
"""Lines of steps that fit the page with room to spare, and letters of one line at no indent."""

INDENT = 3
"""Letters that one level takes."""

SHORT = 160
"""Letters of a note, a name or a command beyond which it is cut short."""


@dataclass(frozen=True)
class Card:
    """What a card says. limits: None where the model has no thresholds. start: what it starts from, in sentences."""

    problem: POMDP
    pathway: Pathway
    limits: Thresholds | None
    start: tuple[str, ...] = ()


def make_card(problem: POMDP, agent: BoundAgent, *, standing: Standing = FRESH, seconds: float = 5.0) -> Card:
    """The card of what `agent` recommends from where a case of `problem` stands: as much of the pathway as one page
    holds, the rest folded.

    Not covered: what `pathway` does not cover.
    """
    model, start = problem, tuple(map(_cut, standing.words(problem)))
    problem, given, left = started(problem, standing.prior, standing.known), standing.given, standing.unavailable
    adviser = Adviser(problem, agent, given, unavailable=left)
    adviser.part("first")
    agent, plans = adviser.agent, adviser.plans
    limits = None
    if not agent.planner.is_bounded:
        try:
            limits = thresholds(adviser.model, agent, done=adviser.situation.observable, seconds=seconds)
        except LimitError:
            limits = None
    room = LINES - (len(limits.stretches) if limits else 0) - sum(math.ceil(len(words) / LETTERS) for words in start)
    for most in range(room, 0, -1):
        drawn = pathway(problem, agent, given, unavailable=left, plans=plans, most_nodes=most)
        if most == 1 or sum(_height(drawn, *line) for line in _lines(drawn.root, "", 0)) <= room:
            return Card(model, drawn, limits, start)
    raise AssertionError("a page holds one step")


def card_page(card: Card, origin: Origin) -> str:
    """The card as HTML that prints on one page of A4."""
    style = files("rhoplan.present.carry").joinpath("card.css").read_text(encoding="utf-8")
    drawn, problem = card.pathway, card.problem
    ahead, (tests, cost) = drawn.ahead, drawn.ahead.bad_case()
    unit, said = problem.unit, drawn.said
    expected = (
        f"On average {ahead.tests:.1f} {said['tests']} for {money(ahead.cost, unit)}; nine {said['cases']} in ten need "
        f"at most {counted(tests, said['test'])} and {money(cost, unit)}. Right in {percent(ahead.right)} of "
        f"{said['cases']}."
    )
    steps = "".join(_row(drawn, node, when, depth) for node, when, depth in _lines(drawn.root, "", 0))
    info = problem.details.get("info")
    made_up = " The numbers of this model are made up." if isinstance(info, dict) and info.get("illustrative") else ""
    begins = "".join(f"<p class='expect'>{safe(words[:1].upper() + words[1:])}.</p>" for words in card.start)
    facts = "; ".join(f"{name.lower()} {_cut(value)}" for name, value in origin.facts)
    text = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{safe(origin.title)}: card</title><style>{style}</style></head><body>"
        f"<h1>{safe(_cut(origin.title, LETTERS))}</h1>{begins}{_limits(card)}<ul class='steps'>{steps}</ul>"
        f"<p class='expect'>{safe(expected)}</p><footer><p><b>{safe(DISCLAIMER)}</b>{made_up}</p>"
        f"<p>{safe(facts)}.</p></footer></body></html>\n"
    )
    return signed(text, problem)


def _lines(node: Node, when: str, depth: int) -> Iterator[tuple[Node, str, int]]:
    yield node, when, depth
    for outcome, chances in outcomes_of(node):
        yield from _lines(outcome.child, f"{_cut(outcome.outcome, LETTERS)} ({chances}): ", depth + 1)


def _height(drawn: Pathway, node: Node, when: str, depth: int) -> int:
    """How many lines a step takes on the page."""
    return math.ceil(len(when + "".join(_says(drawn, node))) / max(LETTERS - INDENT * depth, 12))


def _says(drawn: Pathway, node: Node) -> tuple[str, str]:
    """What is done at a step, and what is told beside it."""
    if isinstance(node, Leaf):
        if node.kind == "commit":
            return _cut(node.action, LETTERS), f" {belief_words(node.belief, drawn.looked_for, most=1, others=False)}"
        back = f"as at step {node.back_to}" if node.back_to else "and so on"
        return _cut(node.action, LETTERS), f", {back} ({in_thousand(node.share)} of 1,000)"
    return f"{node.number}. {_cut(node.action, LETTERS)}", f" {money(node.cost, drawn.unit)}"


def _row(drawn: Pathway, node: Node, when: str, depth: int) -> str:
    does, beside = _says(drawn, node)
    kind = "end" if isinstance(node, Leaf) and node.kind == "commit" else "test"
    rails = "<i></i>" * depth
    return (
        f"<li>{rails}<span>{safe(when)}<b class='{kind}'>{safe(does)}</b><span class='soft'>{safe(beside)}</span>"
        "</span></li>"
    )


def _limits(card: Card) -> str:
    if card.limits is None:
        return ""
    rows = "".join(f"<tr><td>{safe(where)}</td><td><b>{safe(do)}</b></td></tr>" for where, do in card.limits.rows)
    when = f"before any {card.pathway.said['test']}" if card.limits.fresh else "now"
    return f"<table><caption>Chance of {safe(card.limits.about)} {when}</caption><tbody>{rows}</tbody></table>"


def _cut(text: str, most: int = SHORT) -> str:
    """`text`, cut short where it would fill the page."""
    return text if len(text) <= most else f"{text[: most - 1]}…"

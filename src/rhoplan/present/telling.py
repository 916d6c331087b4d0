"""A pathway in words: a numbered plain-text tree, and a Mermaid flowchart."""

from __future__ import annotations

import re

from rhoplan.advice.branches import Leaf, Node, Outcome, Pathway, Step
from rhoplan.advice.pathway import SMALLEST
from rhoplan.advice.words import belief_words, chance, counted, in_thousand, money, percent, percents, plain
from rhoplan.agents.registry import PLANNERS

COUNTED = 10
"""Ends from which on a folded branch of hardly any cases says how many they are."""


def as_text(pathway: Pathway) -> str:
    """The pathway as numbered plain text, one line per step or leaf, indented by depth."""
    lines = [f"{plain(pathway.problem)}: recommended pathway ({agent_words(pathway)})"]
    if pathway.given:
        seen = ", ".join(f"{test} = {outcome}" for test, outcome in pathway.given)
        lines.append(f"Seen so far: {seen}; spent {money(pathway.spent, pathway.unit)}.")
    if pathway.unavailable:
        lines.append(f"Not available: {', '.join(pathway.unavailable)}.")
    lines += [expectation(pathway), f"First: {pathway.root.action}; {pathway.lead.beside}.", ""]
    _tell(pathway.root, "", 0, pathway, lines)
    lines += ["", words] if (words := folded_words(pathway)) else []
    return "\n".join(lines) + "\n"


def agent_words(pathway: Pathway) -> str:
    per = pathway.information_unit.removesuffix("s")
    is_bounded = getattr(PLANNERS[pathway.planner].load(), "is_bounded", False)
    far = "branch and bound" if is_bounded else f"horizon {pathway.horizon}"
    return f"{pathway.agent}, {far}, weight {pathway.weight:g} {pathway.unit} per {per}"


def expectation(pathway: Pathway) -> str:
    """What to expect, in a sentence."""
    ahead, (tests, cost), said = pathway.ahead, pathway.ahead.bad_case(), pathway.said
    return (
        f"To expect: {ahead.tests:.2f} {said['tests']} costing {money(ahead.cost, pathway.unit)}; nine {said['cases']} "
        f"in ten need at most {counted(tests, said['test'])} and {money(cost, pathway.unit)}; the right "
        f"{said['commit']} in {percent(ahead.right)} of {said['cases']}.{f' {ahead.cut_off}.' if ahead.cut_off else ''}"
    )


def _tell(node: Node, when: str, depth: int, pathway: Pathway, lines: list[str]) -> None:
    lines.append(plain(f"{'   ' * depth}{node.number}. {when}{sentence(node, pathway)}"))
    for outcome, chances in outcomes_of(node):
        _tell(outcome.child, f"If {outcome.outcome} ({chances}): ", depth + 1, pathway, lines)


def outcomes_of(node: Node) -> list[tuple[Outcome, str]]:
    """The outcomes at `node`, each with its chance as it is printed; none at a leaf."""
    outcomes = node.outcomes if isinstance(node, Step) else ()
    return list(zip(outcomes, percents([outcome.probability for outcome in outcomes]), strict=True))


def sentence(node: Node, pathway: Pathway) -> str:
    """What is done at `node`, for how many cases, and how sure one is there."""
    who = f"{in_thousand(node.share)} of 1,000 {pathway.said['cases']}; {belief_words(node.belief, pathway.looked_for)}"
    if isinstance(node, Step):
        return f"run {node.action} for {money(node.cost, pathway.unit)} [{who}]"
    worth = f"gain {money(-node.loss, pathway.unit)}" if node.loss < 0 else f"loss {money(node.loss, pathway.unit)}"
    ends = f"right {chance(node.right)}, {worth}, {pathway.said['tests']} {money(node.cost, pathway.unit)}"
    if node.kind == "commit":
        return f"COMMIT {node.action} [{who}; {ends}]"
    return f"{goes_on(node)} [{who}; in the end {ends}]"


def goes_on(leaf: Leaf) -> str:
    """What happens at a leaf where the case does not end."""
    if leaf.back_to is not None:
        return f"as at step {leaf.back_to} ({leaf.action})"
    if leaf.ends < COUNTED and leaf.share < SMALLEST:
        return f"{leaf.action}, and so on (too few cases to draw)"
    return f"{leaf.action}, and so on: {leaf.ends:,} ends, {leaf.tests:.1f} tests on average"


def folded_words(pathway: Pathway) -> str:
    """What the folded branches stand for together, in a sentence; nothing where they are few."""
    found = pathway.folded
    if found is None or found.ends < COUNTED:
        return ""
    unit = pathway.unit
    worth = f"gain {money(-found.loss, unit)}" if found.loss < 0 else f"loss {money(found.loss, unit)}"
    return (
        f"Folded: {counted(found.branches, 'line')} above for {found.ends:,} ends, "
        f"{in_thousand(found.share)} of 1,000 {pathway.said['cases']}; on average {found.tests:.2f} "
        f"{pathway.said['tests']} for {money(found.cost, unit)}, "
        f"then {worth}, right {chance(found.right)}."
    )


def as_mermaid(pathway: Pathway) -> str:
    """The pathway as a Mermaid flowchart, left to right; names are quoted, so any text is safe in them."""
    lines = ["flowchart LR"]
    for node in pathway.nodes:
        lines.append(f"  n{node.number}{_shape(node, pathway)}")
        for outcome, chances in outcomes_of(node):
            label = _safe(f"{outcome.outcome} {chances}")
            lines.append(f'  n{node.number} -->|"{label}"| n{outcome.child.number}')
        if isinstance(node, Leaf) and node.back_to is not None:
            lines.append(f"  n{node.number} -.-> n{node.back_to}")
    commits = [f"n{leaf.number}" for leaf in pathway.leaves if leaf.kind == "commit"]
    if commits:
        lines += ["  classDef commit fill:#fbe9dd,stroke:#d55e00", f"  class {','.join(commits)} commit"]
    return "\n".join(lines) + "\n"


def _shape(node: Node, pathway: Pathway) -> str:
    cases = f"{in_thousand(node.share)} of 1,000"
    believed = belief_words(node.belief, pathway.looked_for, most=2)
    if isinstance(node, Step):
        words = (f"{node.number}. {node.action}", money(node.cost, pathway.unit), cases, believed)
        return f'["{_lines(words)}"]'
    if node.kind == "commit":
        return f'(["{_lines((f"{node.number}. {node.action}", cases, believed))}"])'
    return f'["{_lines((f"{node.number}. {goes_on(node)}", cases))}"]'


def _lines(words: tuple[str, ...]) -> str:
    return "<br/>".join(map(_safe, words))


def _safe(text: str) -> str:
    """`text` as a line of a label, the characters that Mermaid reads as its own as entities.

    What begins like a list or a heading (`3. listen`) follows a space of no width: some versions refuse to draw lists.
    """
    kept = {"%", " ", ",", ".", "-", "_", "(", ")"}
    safe = "".join(c if c.isalnum() or c in kept else f"#{ord(c)};" for c in plain(text))
    return f"#8203;{safe}" if re.match(r"\s*(\d+[.)]|[-+*#>])", text) else safe

"""A pathway in words: a numbered plain-text tree, and a Mermaid flowchart."""

from __future__ import annotations

from rhoplan.advice.branches import Leaf, Node, Pathway, Step
from rhoplan.advice.words import belief_words, in_thousand, money, percent


def as_text(pathway: Pathway) -> str:
    """The pathway as numbered plain text, one line per step or leaf, indented by depth."""
    lines = [f"{pathway.problem}: recommended pathway ({agent_words(pathway)})"]
    if pathway.given:
        seen = ", ".join(f"{test} = {outcome}" for test, outcome in pathway.given)
        lines.append(f"Seen so far: {seen}; spent {money(pathway.spent, pathway.unit)}.")
    if pathway.unavailable:
        lines.append(f"Not available: {', '.join(pathway.unavailable)}.")
    lines += [expectation(pathway), ""]
    _tell(pathway.root, "", 0, pathway.unit, lines)
    return "\n".join(lines) + "\n"


def agent_words(pathway: Pathway) -> str:
    per = pathway.information_unit.removesuffix("s")
    return f"{pathway.agent}, horizon {pathway.horizon}, weight {pathway.weight:g} {pathway.unit} per {per}"


def expectation(pathway: Pathway) -> str:
    """What to expect, in a sentence."""
    ahead, (tests, cost) = pathway.ahead, pathway.ahead.bad_case()
    number = f"{tests} test" if tests == 1 else f"{tests} tests"
    return (
        f"To expect: {ahead.tests:.2f} tests costing {money(ahead.cost, pathway.unit)}; nine cases in ten need at most "
        f"{number} and {money(cost, pathway.unit)}; the right commit in {percent(ahead.right)} of cases."
    )


def _tell(node: Node, when: str, depth: int, unit: str, lines: list[str]) -> None:
    lines.append(f"{'   ' * depth}{node.number}. {when}{sentence(node, unit)}")
    for outcome in node.outcomes if isinstance(node, Step) else ():
        _tell(outcome.child, f"If {outcome.outcome} ({percent(outcome.probability)}): ", depth + 1, unit, lines)


def sentence(node: Node, unit: str) -> str:
    """What is done at `node`, for how many cases, and how sure one is there."""
    who = f"{percent(node.share)} of cases; {belief_words(node.belief)}"
    if isinstance(node, Step):
        return f"run {node.action} for {money(node.cost, unit)} [{who}]"
    worth = f"gain {money(-node.loss, unit)}" if node.loss < 0 else f"loss {money(node.loss, unit)}"
    ends = f"right {percent(node.right)}, {worth}, tests {money(node.cost, unit)}"
    if node.kind == "commit":
        return f"COMMIT {node.action} [{who}; {ends}; {in_thousand(node.share)} in 1,000]"
    return f"{goes_on(node)} [{who}; in the end {ends}]"


def goes_on(leaf: Leaf) -> str:
    if leaf.back_to is not None:
        return f"back to {leaf.back_to} ({leaf.action} again)"
    return f"goes on with {leaf.action} (too few cases to draw)"


def as_mermaid(pathway: Pathway) -> str:
    """The pathway as a Mermaid flowchart, left to right; names are quoted, so any text is safe in them."""
    lines = ["flowchart LR"]
    for node in pathway.nodes:
        lines.append(f"  n{node.number}{_shape(node, pathway.unit)}")
        for outcome in node.outcomes if isinstance(node, Step) else ():
            label = _safe(f"{outcome.outcome} {percent(outcome.probability)}")
            lines.append(f'  n{node.number} -->|"{label}"| n{outcome.child.number}')
        if isinstance(node, Leaf) and node.back_to is not None:
            lines.append(f"  n{node.number} -.-> n{node.back_to}")
    commits = [f"n{leaf.number}" for leaf in pathway.leaves if leaf.kind == "commit"]
    if commits:
        lines += ["  classDef commit fill:#fbe9dd,stroke:#d55e00", f"  class {','.join(commits)} commit"]
    return "\n".join(lines) + "\n"


def _shape(node: Node, unit: str) -> str:
    believed = belief_words(node.belief, 2)
    if isinstance(node, Step):
        return f'["{_safe(node.action)}<br/>{_safe(money(node.cost, unit))}<br/>{_safe(believed)}"]'
    if node.kind == "commit":
        return f'(["{_safe(node.action)}<br/>{_safe(believed)}<br/>{in_thousand(node.share)} in 1,000"])'
    return f'["{_safe(goes_on(node))}<br/>{in_thousand(node.share)} in 1,000"]'


def _safe(text: str) -> str:
    """`text` without the characters that Mermaid reads as its own, as entities."""
    kept = {"%", " ", ",", ".", "-", "_", "(", ")"}
    return "".join(c if c.isalnum() or c in kept else f"#{ord(c)};" for c in text)

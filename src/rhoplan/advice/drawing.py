"""A pathway as an SVG tree: left to right, one row per leaf, no script, no font or file from elsewhere.

Each box has a bar whose width is the share of all cases that come there, and the line to it is thicker the more cases
take it. Tests are blue boxes, commits orange and rounded, branches that go on dashed: shape and words tell them apart
without colour.
"""

from __future__ import annotations

from html import escape

from rhoplan.advice.branches import Leaf, Node, Pathway, Step
from rhoplan.advice.telling import sentence
from rhoplan.advice.words import in_thousand, money, percent, shortened

BOX, GAP, HEIGHT, ROW = 156, 80, 54, 60
"""Widths of a box and of the space between columns; heights of a box and of a row."""

MARGIN = 6
TEST, COMMIT, OTHER = "#0072b2", "#b34700", "#59636e"
SMALLEST_TITLE = 9.5
"""Font size down to which a long name shrinks before it is cut."""

LETTER = 7.6
"""Width of a letter of 13-pixel bold sans-serif, on the safe side."""


def as_svg(pathway: Pathway) -> str:
    """The tree as a whole SVG document; about 240 pixels per test in a row, 60 per leaf."""
    places: dict[int, tuple[float, float]] = {}
    rows, depth = _lay_out(pathway.root, 0, 0, places)
    width, height = depth * (BOX + GAP) + BOX + 2 * MARGIN, rows * ROW + 2 * MARGIN
    lines: list[str] = []
    boxes: list[str] = []
    for node in pathway.nodes:
        for outcome in node.outcomes if isinstance(node, Step) else ():
            start, end = places[node.number], places[outcome.child.number]
            lines.append(_line(start, end, outcome.outcome, outcome.probability, outcome.child.share))
        boxes.append(_box(node, places[node.number], pathway.unit))
    title = f"Recommended pathway of {pathway.problem}: a tree of tests, results and commits"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' "
        f"height='{height:.0f}' role='img' font-family='system-ui, Helvetica, Arial, sans-serif' font-size='11.5'>"
        f"<title>{escape(title)}</title><rect width='100%' height='100%' fill='white'/>"
        f"{''.join(lines)}{''.join(boxes)}</svg>\n"
    )


def _lay_out(node: Node, depth: int, row: int, places: dict[int, tuple[float, float]]) -> tuple[int, int]:
    """Give `node` and what follows it a place; the next free row, and the deepest column used."""
    x = MARGIN + depth * (BOX + GAP)
    if isinstance(node, Leaf):
        places[node.number] = x, MARGIN + row * ROW + ROW / 2
        return row + 1, depth
    deepest = depth
    for outcome in node.outcomes:
        row, reached = _lay_out(outcome.child, depth + 1, row, places)
        deepest = max(deepest, reached)
    first, last = (places[node.outcomes[end].child.number][1] for end in (0, -1))
    places[node.number] = x, (first + last) / 2
    return row, deepest


def _line(start: tuple[float, float], end: tuple[float, float], name: str, chance: float, share: float) -> str:
    x1, y1, x2, y2 = start[0] + BOX, start[1], *end
    turn = x1 + 14
    path = f"M{x1:.1f},{y1:.1f} C{turn + 6:.1f},{y1:.1f} {x1:.1f},{y2:.1f} {turn + 8:.1f},{y2:.1f} L{x2:.1f},{y2:.1f}"
    label = escape(shortened(name, 11))
    return (
        f"<path d='{path}' fill='none' stroke='#9aa5b1' stroke-width='{0.8 + 5 * share:.2f}'/>"
        f"<text x='{x2 - 5:.1f}' y='{y2 - 5:.1f}' text-anchor='end' stroke='white' stroke-width='3' "
        f"paint-order='stroke'>{label}</text>"
        f"<text x='{x2 - 5:.1f}' y='{y2 + 13:.1f}' text-anchor='end' fill='{OTHER}'>{percent(chance)}</text>"
    )


def _box(node: Node, place: tuple[float, float], unit: str) -> str:
    x, y = place[0], place[1] - HEIGHT / 2
    colour, corner, dashed, first, second, third = _words(node, unit)
    most, letters = int((BOX - 12) / LETTER), int((BOX - 12) / LETTER * 13 / SMALLEST_TITLE)
    size = max(SMALLEST_TITLE, min(13.0, 13 * most / max(len(first), 1)))
    return (
        f"<g><title>{escape(f'{node.number}. {sentence(node, unit)}')}</title>"
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{BOX}' height='{HEIGHT}' rx='{corner}' fill='white' stroke='{colour}' "
        f"stroke-width='1.4'{dashed}/>"
        f"<rect x='{x + 6:.1f}' y='{y + HEIGHT - 6:.1f}' width='{BOX - 12}' height='3' fill='#e4e8ec'/>"
        f"<rect x='{x + 6:.1f}' y='{y + HEIGHT - 6:.1f}' width='{(BOX - 12) * node.share:.2f}' height='3' "
        f"fill='{colour}'/>"
        f"<text x='{x + 6:.1f}' y='{y + 15:.1f}' font-size='{size:.1f}' font-weight='600' fill='{colour}'>"
        f"{escape(shortened(first, letters))}</text>"
        f"<text x='{x + 6:.1f}' y='{y + 28:.1f}'>{escape(shortened(second, most + 4))}</text>"
        f"<text x='{x + 6:.1f}' y='{y + 42:.1f}' fill='{OTHER}'>{escape(shortened(third, most + 4))}</text></g>"
    )


def _words(node: Node, unit: str) -> tuple[str, int, str, str, str, str]:
    """Colour, corners and border of a box, and its three lines."""
    cases = f"{in_thousand(node.share)}/1,000"
    if isinstance(node, Step):
        return TEST, 3, "", f"{node.number}. {node.action}", f"{money(node.cost, unit)}; {cases}", _top(node)
    if node.kind == "commit":
        second = f"{cases}; right {percent(node.right)}"
        return COMMIT, 16, "", f"{node.number}. {node.action}", second, _top(node)
    words = f"goes on: {node.action}" if node.back_to is None else f"back to {node.back_to}"
    return OTHER, 3, " stroke-dasharray='4 3'", f"{node.number}. {words}", cases, _top(node)


def _top(node: Node) -> str:
    """The likeliest state; of a two-state model the second one, which is the one looked for."""
    belief = list(node.belief.items())
    state, share = belief[1] if len(belief) == 2 else max(belief, key=lambda pair: pair[1])
    return f"{state} {percent(share)}"

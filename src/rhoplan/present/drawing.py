"""A pathway as an SVG tree: left to right, no script, no font or file from elsewhere.

Each box has a bar whose width is the share of all cases that come there, and the line to it is thicker the more cases
take it. Tests are blue boxes, commits orange and rounded, branches that go on dashed: shape and words tell them apart
without colour. Columns are as wide as their words need, or as there is room for; long words then go on in the next
line, so that nothing is cut and nothing shrinks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate

from rhoplan.advice.branches import Node, Pathway, Step
from rhoplan.advice.words import belief_words, in_thousand, money, plain
from rhoplan.present.telling import outcomes_of, sentence

TITLE, TEXT = 11.0, 9.5
"""Sizes of letters, in CSS pixels of 3/4 point: the smaller one is 7.1 points on paper."""

LINE, PADDING, BAR = 11.6, 4.0, 3.0
"""Height of a line, space around the words of a box, thickness of its bar."""

GAP, SPACE, MARGIN = 20.0, 5.5, 3.0
"""Room between columns, between boxes, and around the tree."""

WIDEST, NARROWEST = 210.0, 64.0
"""Widths of a column that has all the room it asks for."""

CRAMPED = 92.0
"""Width of the widest column below which names are broken too often to be read with ease."""

TEST, COMMIT, OTHER = "#0072b2", "#b34700", "#59636e"


@dataclass(frozen=True)
class _Box:
    """A node ready to be drawn: words that stand above it and in it, broken into lines, and what comes after it."""

    node: Node
    above: tuple[str, ...]
    title: tuple[str, ...]
    lines: tuple[str, ...]
    kind: str
    after: tuple[_Box, ...]
    tall: float

    @property
    def inside(self) -> float:
        return LINE * (len(self.title) + len(self.lines)) + PADDING + BAR + 4.0

    @property
    def outside(self) -> float:
        return self.inside + LINE * len(self.above) + SPACE


@dataclass(frozen=True)
class Size:
    """What a tree takes, in CSS pixels, and whether its columns are too narrow to be read with ease."""

    width: float
    height: float
    is_cramped: bool


class Drawing:
    """The tree from `root` on, or all of it, laid out. folded: steps drawn as ends, with what to say of them.

    width: at most.
    """

    def __init__(
        self,
        pathway: Pathway,
        root: Node | None = None,
        *,
        folded: Mapping[int, str] | None = None,
        width: float | None = None,
    ) -> None:
        self.pathway, self.ends = pathway, folded or {}
        top = root if root is not None else pathway.root
        asked: list[float] = []
        self._ask(top, "", 0, asked)
        self.columns = asked if width is None else _narrowed(asked, width)
        self.box = self._boxed(top, "", 0)
        self.size = Size(
            sum(self.columns) + GAP * (len(self.columns) - 1) + 2 * MARGIN,
            self.box.tall - SPACE + 2 * MARGIN,
            self.columns != asked and max(self.columns) < CRAMPED,
        )

    def svg(self) -> str:
        """The tree as a whole SVG document."""
        lines: list[tuple[float, str]] = []
        boxes: list[str] = []
        starts = list(accumulate(self.columns, lambda start, column: start + column + GAP, initial=MARGIN))
        self._place(self.box, 0, MARGIN, starts, lines, boxes)
        wide, high = starts[-1] - GAP + MARGIN, self.size.height
        title = f"Recommended pathway of {self.pathway.problem}: a tree of tests, results and commits"
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide:.0f} {high:.0f}' width='{wide:.0f}' "
            f"height='{high:.0f}' role='img' font-family='Helvetica, Arial, sans-serif' font-size='{TEXT}'>"
            f"<title>{_safe(title)}</title><rect width='100%' height='100%' fill='white'/>"
            f"{''.join(line for _, line in sorted(lines, reverse=True))}{''.join(boxes)}</svg>\n"
        )

    def _after(self, node: Node) -> Iterator[tuple[Node, str]]:
        """What is drawn after `node`, and the words that stand above it."""
        for outcome, chances in outcomes_of(node) if node.number not in self.ends else ():
            yield outcome.child, f"{outcome.outcome} {chances}"

    def _ask(self, node: Node, label: str, depth: int, asked: list[float]) -> None:
        """Make each column in `asked` as wide as its words would have it, from `node` on."""
        title, facts, _ = self._words(node)
        need = [_long(label, TEXT) + 1, _long(title, TITLE, bold=True) + 2 * PADDING]
        need.append(_long(", ".join(facts[:2]), TEXT) + 2 * PADDING)
        asked.extend([NARROWEST] * (depth + 1 - len(asked)))
        asked[depth] = max(asked[depth], min(max(need), WIDEST))
        for child, above in self._after(node):
            self._ask(child, above, depth + 1, asked)

    def _boxed(self, node: Node, label: str, depth: int) -> _Box:
        title, facts, kind = self._words(node)
        room = self.columns[depth] - 2 * PADDING
        above = _broken(label, self.columns[depth] - 1, TEXT) if label else ()
        after = tuple(self._boxed(child, words, depth + 1) for child, words in self._after(node))
        lines: list[str] = []
        for fact in facts:
            joined = f"{lines[-1]}, {fact}" if lines else fact
            if lines and _long(joined, TEXT) <= room:
                lines[-1] = joined
            else:
                lines += _broken(fact, room, TEXT)
        box = _Box(node, above, _broken(title, room, TITLE, bold=True), tuple(lines), kind, after, 0.0)
        return replace(box, tall=max(box.outside, sum(one.tall for one in after)))

    def _place(
        self, box: _Box, depth: int, top: float, starts: list[float], lines: list[tuple[float, str]], boxes: list[str]
    ) -> float:
        """Draw `box` and what comes after it between `top` and `top` + its tallness; the middle of the box."""
        below = top + (box.tall - sum(one.tall for one in box.after)) / 2
        middles = []
        for one in box.after:
            middles.append(self._place(one, depth + 1, below, starts, lines, boxes))
            below += one.tall
        over = LINE * len(box.above)
        middle = top + over + (box.tall - over - SPACE) / 2
        if middles:
            wanted = (middles[0] + middles[-1]) / 2
            middle = min(max(wanted, top + over + box.inside / 2), top + box.tall - SPACE - box.inside / 2)
        left, right = starts[depth], starts[depth] + self.columns[depth]
        for one, y in zip(box.after, middles, strict=True):
            lines.append((one.node.share, _line(right, middle, starts[depth + 1], y, one.node.share)))
        boxes.append(_drawn(self.pathway, box, left, middle, self.columns[depth]))
        return middle

    def _words(self, node: Node) -> tuple[str, tuple[str, ...], str]:
        """The title of a box, the facts that stand below it, and what kind of box it is.

        In the first box stands also what is about as good.
        """
        title, facts, kind = self._told(node)
        lead = self.pathway.lead
        if node is not self.pathway.root or not lead.about_as_good or kind == "other":
            return title, facts, kind
        return title, (*facts, f"about as good: {lead.runner_up}"), kind

    def _told(self, node: Node) -> tuple[str, tuple[str, ...], str]:
        cases = f"{in_thousand(node.share)}/1,000"
        believed = belief_words(node.belief, self.pathway.looked_for, most=1, others=False)
        title = f"{node.number}. {node.action}"
        if isinstance(node, Step):
            if node.number in self.ends:
                return title, (cases, self.ends[node.number]), "other"
            return title, (cases, money(node.cost, self.pathway.unit), believed), "test"
        if node.kind == "commit":
            return title, (cases, believed), "commit"
        if node.back_to is not None:
            return f"{node.number}. as at step {node.back_to}", (cases,), "other"
        return title, (cases, "and so on"), "other"


def _narrowed(asked: list[float], width: float) -> list[float]:
    """Columns that together take at most `width`: as asked for, the widest made narrower."""
    room = width - 2 * MARGIN - GAP * (len(asked) - 1)
    if sum(asked) <= room:
        return asked
    low, high = 0.0, WIDEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(min(one, middle) for one in asked) <= room else (low, middle)
    return [min(one, low) for one in asked]


def _line(x1: float, y1: float, x2: float, y2: float, share: float) -> str:
    turn, bend = (x1 + x2) / 2, min(6.0, abs(y2 - y1) / 2)
    down = bend if y2 > y1 else -bend
    path = f"M{x1:.1f},{y1:.1f} H{turn - bend:.1f} Q{turn:.1f},{y1:.1f} {turn:.1f},{y1 + down:.1f} V{y2 - down:.1f}"
    path += f" Q{turn:.1f},{y2:.1f} {turn + bend:.1f},{y2:.1f} H{x2:.1f}"
    return f"<path d='{path}' fill='none' stroke='#a9b4bf' stroke-width='{0.9 + 5 * share:.2f}'/>"


def _drawn(pathway: Pathway, box: _Box, x: float, middle: float, width: float) -> str:
    y = middle - box.inside / 2
    colour, corner, dashed = {
        "test": (TEST, 2, ""),
        "commit": (COMMIT, 8, ""),
        "other": (OTHER, 2, " stroke-dasharray='4 3'"),
    }[box.kind]
    parts = [
        f"<g><title>{_safe(f'{box.node.number}. {sentence(box.node, pathway)}')}</title>",
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{box.inside:.1f}' rx='{corner}' fill='white' "
        f"stroke='{colour}' stroke-width='1.2'{dashed}/>",
    ]
    for place, line in enumerate(box.above):
        parts.append(_text(line, x + 1, y - 4 - LINE * (len(box.above) - 1 - place), "#1b1f24"))
    baseline = y + PADDING + LINE - 3.5
    for line in box.title:
        parts.append(_text(line, x + PADDING, baseline, colour, f" font-size='{TITLE}' font-weight='700'"))
        baseline += LINE
    for line in box.lines:
        parts.append(_text(line, x + PADDING, baseline, "#1b1f24"))
        baseline += LINE
    room, bar = width - 2 * PADDING, y + box.inside - BAR - 3.0
    parts.append(f"<rect x='{x + PADDING:.1f}' y='{bar:.1f}' width='{room:.1f}' height='{BAR:g}' fill='#e4e8ec'/>")
    parts.append(
        f"<rect x='{x + PADDING:.1f}' y='{bar:.1f}' width='{room * box.node.share:.2f}' height='{BAR:g}' "
        f"fill='{colour}'/></g>"
    )
    return "".join(parts)


def _text(words: str, x: float, y: float, colour: str, more: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}'{more}>{_safe(words)}</text>"


def _safe(text: str) -> str:
    return escape(plain(text))


def _long(text: str, size: float, *, bold: bool = False) -> float:
    """How long `text` is in the widest of the usual sans-serif fonts, on the safe side."""
    letters = sum(0.4 if c in "iljtfrI.,:;'|!()[]-/ " else 0.98 if c in "mwMW%@" else 0.65 for c in text)
    return letters * size * (1.08 if bold else 1.0)


def _broken(text: str, room: float, size: float, *, bold: bool = False) -> tuple[str, ...]:
    """`text` in lines of at most `room`: broken at spaces and after hyphens, a longer word anywhere."""
    lines = [""]
    for piece in re.findall(r"[^\s\-_/]*(?:[\-_/]+|\s+)|[^\s\-_/]+", text):
        if lines[-1] and _long((lines[-1] + piece).rstrip(), size, bold=bold) > room:
            lines.append("")
        for letter in piece:
            if lines[-1] and _long((lines[-1] + letter).rstrip(), size, bold=bold) > room:
                lines.append("")
            lines[-1] += letter
    return tuple(stripped for line in lines if (stripped := line.strip())) or ("",)

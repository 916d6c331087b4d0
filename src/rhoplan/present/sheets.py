"""A pathway in sheets: as many drawings as it takes for each to fit on a page of A4 in letters that can be read.

Small branches are folded first: they stand in the table of steps. What is then still too tall or too deep for one page
goes on in a drawing of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rhoplan.advice.branches import Node, Pathway, Step
from rhoplan.present.drawing import Drawing, Size

WIDTH, HEIGHT = 680.0, 900.0
"""CSS pixels of A4 (794 x 1123) left for a drawing by margins of 15 mm, a heading and a caption."""

FOLDED = (0.0, 3e-3, 1e-2)
"""Shares of cases below which branches are folded: the first with which one page is enough, else the last."""

IN_TABLE = "see the table"


@dataclass(frozen=True)
class Sheet:
    """One drawing. letter: its name where there are several. seen: the results before its first step, with the tests.

    folded: share of cases below which its branches are folded.
    """

    svg: str
    size: Size
    root: Node
    letter: str
    seen: tuple[tuple[str, str], ...]
    folded: float


def sheets(pathway: Pathway) -> tuple[Sheet, ...]:
    """The drawings of `pathway`, the one with the first step first."""
    for smallest in FOLDED:
        steps = _open(pathway.root, 0, {})
        small = {step.number: IN_TABLE for step, depth in steps if depth and step.share < smallest}
        whole = Drawing(pathway, folded=small, width=WIDTH)
        if _fits(whole.size):
            return (Sheet(whole.svg(), whole.size, pathway.root, "", (), smallest if small else 0.0),)
    return tuple(_several(pathway, small, smallest if small else 0.0))


def _several(pathway: Pathway, small: dict[int, str], smallest: float) -> Iterator[Sheet]:
    """Sheets that go on where another one ends, each cut where that brings it onto a page."""
    waiting: list[tuple[Node, tuple[tuple[str, str], ...]]] = [(pathway.root, ())]
    done = 0
    while waiting:
        root, seen = waiting.pop(0)
        later: list[Step] = []
        while not _fits(size := Drawing(pathway, root, folded=small | _named(later, done), width=WIDTH).size):
            cuts = _cuts(pathway, root, small | _named(later, done), size)
            if not cuts:
                break
            # What was cut before and lies beyond a new cut is for that branch's own sheet to decide.
            beyond = {step.number for cut in cuts for step, _ in _open(cut, 0, small)}
            kept = [step for step in later if step.number not in beyond]
            later = sorted([*kept, *cuts], key=lambda step: step.number)
        ends = small | _named(later, done + len(waiting))
        svg = Drawing(pathway, root, folded=ends, width=WIDTH).svg()
        yield Sheet(svg, size, root, _letter(done), seen, smallest)
        done += 1
        waiting += [(step, _results(root, step.number, seen)) for step in later]


def _named(steps: list[Step], before: int) -> dict[int, str]:
    """On which sheet each of `steps` goes on when `before` sheets were begun earlier, and the one that cuts them."""
    return {step.number: f"sheet {_letter(before + 1 + place)}" for place, step in enumerate(steps)}


def _cuts(pathway: Pathway, root: Node, ends: dict[int, str], size: Size) -> list[Step]:
    """Where to cut: at the branch that leaves two even pages, else at the tallest that fits on a page of its own.

    Where the tree is too deep rather than too tall: at every branch in the deepest columns.
    """
    steps = [(step, depth) for step, depth in _open(root, 0, ends) if depth > 0]
    if not steps:
        return []
    if size.height <= HEIGHT:
        deepest = max(depth for _, depth in steps)
        return [step for step, depth in steps if depth == deepest]
    branches = [(Drawing(pathway, step, folded=ends, width=WIDTH).size, step) for step, _ in steps]
    fitting = [(branch.height, step) for branch, step in branches if _fits(branch)]
    even = []
    for height, step in fitting:
        if size.height - height < HEIGHT:
            rest = Drawing(pathway, root, folded=ends | {step.number: "sheet B"}, width=WIDTH).size
            even += [(max(height, rest.height), step.number, step)] if _fits(rest) else []
    if even:
        return [min(even)[2]]
    tallest = max(fitting, key=lambda pair: pair[0], default=None)
    return [tallest[1] if tallest else steps[0][0]]


def _fits(size: Size) -> bool:
    return size.height <= HEIGHT and not size.is_cramped


def _open(node: Node, depth: int, ends: dict[int, str]) -> Iterator[tuple[Step, int]]:
    """Steps from `node` on that are drawn with what comes after them, and how many columns behind it."""
    if isinstance(node, Step) and node.number not in ends:
        yield node, depth
        for outcome in node.outcomes:
            yield from _open(outcome.child, depth + 1, ends)


def _results(root: Node, number: int, seen: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """What was seen on the way from `root` to the node of this number, after `seen`."""
    if isinstance(root, Step) and root.number != number:
        # Numbers go up in reading order: the last branch that begins at or before it holds it.
        outcome = [one for one in root.outcomes if one.child.number <= number][-1]
        return _results(outcome.child, number, (*seen, (root.action, outcome.outcome)))
    return seen


def _letter(place: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    return (_letter(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)

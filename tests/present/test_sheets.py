"""The drawn tree: it fits on a page, nothing is lost between sheets, and any name is safe in every form of it."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from rhoplan.advice.pathway import Step, pathway
from rhoplan.agents.agent import make_agent
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.present.drawing import TEXT, Drawing, _broken, _long
from rhoplan.present.sheets import HEIGHT, IN_TABLE, WIDTH, sheets
from rhoplan.present.telling import as_mermaid, as_text
from rhoplan.problems.registry import WORKED_MODELS, make

SVG = "{http://www.w3.org/2000/svg}"
MODELS = [*WORKED_MODELS, "tiger", "diagnosis", "testbed", "bandit"]
ODD = (
    'say "aha"',
    "[brackets] {and} (more)",
    "größe ü",
    "a|b --> c;",
    "<b>&amp; #35;",
    "- 1. list",
    "日本 😀",
    "%% `x`",
)


def drawn(name, agent="efe", **settings):
    problem = make(name)
    return pathway(problem, make_agent(agent, problem, **settings))


def odd_problem():
    """A problem all of whose names are odd."""
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    tests = tuple(Test(name, 0.5, (ODD[2], ODD[3]), rows, repeatable=False) for name in (ODD[0], ODD[5]))
    commits = (Decision(ODD[4], np.array([0.0, -40.0])), Decision(ODD[6], np.array([-12.0, 0.0])))
    return DiagnosticProblem(
        name=ODD[7], states=(ODD[1], "bell \x07 rings"), tests=tests, decisions=commits, unit="€ & <x>"
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_sheet_fits_on_a_page(name):
    for sheet in sheets(drawn(name)):
        root = ElementTree.fromstring(sheet.svg)
        assert float(root.get("width")) <= WIDTH
        assert float(root.get("height")) <= HEIGHT
        assert not sheet.size.is_cramped


@pytest.mark.parametrize("name", [*MODELS, "four-diseases weight"])
def test_sheets_together_show_every_step_but_the_folded_ones(name):
    found = drawn(name) if " " not in name else drawn("four-diseases", "planning-ig", weight=5000)
    parts = sheets(found)
    shown = [re.findall(r"<title>(\d+)\. ", sheet.svg) for sheet in parts]
    numbers = [int(number) for sheet in shown for number in sheet]
    letters = [sheet.letter for sheet in parts]
    assert letters == ([""] if len(parts) == 1 else [chr(65 + k) for k in range(len(parts))])
    goes_on = re.findall(r"sheet ([A-Z]+)<", "".join(sheet.svg for sheet in parts))
    assert sorted(goes_on) == letters[1:], "every sheet but the first is named once, where it goes on"
    for sheet in parts[1:]:
        assert numbers.count(sheet.root.number) == 2, "where it begins and where it was left"
    hidden = {node.number for node in found.nodes} - set(numbers)
    folded = [node for node in found.nodes if isinstance(node, Step) and node.share < max(parts[0].folded, 1e-12)]
    below = {one.number for node in folded for one in _below(node)}
    assert hidden <= below
    assert bool(folded) == (IN_TABLE in "".join(sheet.svg for sheet in parts))


def _below(node):
    for outcome in node.outcomes if isinstance(node, Step) else ():
        yield outcome.child
        yield from _below(outcome.child)


def test_a_sheet_says_what_was_seen_before_it():
    found = drawn("diagnosis")
    for sheet in sheets(found)[1:]:
        node = found.root
        for test, outcome in sheet.seen:
            assert node.action == test
            node = next(one.child for one in node.outcomes if one.outcome == outcome)
        assert node.number == sheet.root.number


@pytest.mark.parametrize("width", [None, 680.0, 420.0])
def test_words_stay_in_their_boxes_and_boxes_apart(width):
    found = drawn("bridge")
    drawing = Drawing(found, width=width)
    root = ElementTree.fromstring(drawing.svg())
    size = drawing.size
    assert (float(root.get("width")), float(root.get("height"))) == (round(size.width), round(size.height))
    boxes = []
    for group in root.iter(f"{SVG}g"):
        frame = group.find(f"{SVG}rect")
        x, y, wide, high = (float(frame.get(name)) for name in ("x", "y", "width", "height"))
        texts = group.findall(f"{SVG}text")
        for text in texts:
            size_of = float(text.get("font-size", TEXT))
            assert size_of * 0.75 >= 6.5, "points on paper"
            end = float(text.get("x")) + _long(text.text, size_of, bold=text.get("font-weight") is not None)
            assert end <= x + wide + 0.1  # places are written to a tenth
        above = min(float(text.get("y")) for text in texts) - 8
        boxes.append((x, min(y, above), x + wide, y + high))
    for place, (x1, y1, x2, y2) in enumerate(boxes):
        for a1, b1, a2, b2 in boxes[:place]:
            assert x2 <= a1 or a2 <= x1 or y2 <= b1 or b2 <= y1, "two boxes overlap"


def test_long_words_go_on_in_the_next_line_and_nothing_is_lost():
    text = "ultrasound-of-the-girders and averyverylongwordwithoutanybreakinit"
    lines = _broken(text, 60, TEXT)
    assert all(_long(line, TEXT) <= 60 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert _broken("short", 60, TEXT) == ("short",)


def test_any_name_is_safe_in_the_drawing():
    problem = odd_problem()
    root = ElementTree.fromstring(Drawing(pathway(problem, make_agent("planning", problem))).svg())
    words = "".join(text.text for text in root.iter(f"{SVG}text")).replace(" ", "")
    for name in (ODD[0], ODD[2], ODD[3], ODD[4], ODD[6]):
        assert name.replace(" ", "") in words


def test_any_name_is_safe_in_the_flowchart():
    """The grammar of Mermaid: quoted labels without quotes inside, `#number;` for everything else it could misread."""
    problem = odd_problem()
    found = pathway(problem, make_agent("planning", problem))
    lines = as_mermaid(found).splitlines()
    label = r'"([^"`{}|;<>\[\]&]|#\d+;|<br/>)*"'
    node = rf"  n\d+(\[{label}\]|\(\[{label}\]\))"
    arrow = rf"  n\d+ -->\|{label}\| n\d+|  n\d+ -\.-> n\d+"
    assert lines[0] == "flowchart LR"
    for line in lines[1:]:
        assert re.fullmatch(rf"{node}|{arrow}|  classDef commit [\w:#,]+|  class [n\d,]+ commit", line), line
        for text in re.findall(r'"([^"]*)"', line):
            for part in text.split("<br/>"):
                told = html.unescape(re.sub(r"#(\d+);", r"&#\1;", part))
                assert not re.match(r"\s*(\d+[.)]|[-+*#>])", told), "some versions take this for a list"
    said = html.unescape(re.sub(r"#(\d+);", r"&#\1;", "\n".join(lines)))
    for name in (ODD[0], ODD[2], ODD[3], ODD[4], ODD[6]):
        assert name in said


def test_plain_text_has_one_line_for_each_step():
    problem = odd_problem()
    found = pathway(problem, make_agent("planning", problem))
    lines = as_text(found).splitlines()
    assert len([line for line in lines if re.match(r"\s*\d+\. ", line)]) == len(found.nodes)
    assert "\x07" not in "".join(lines)

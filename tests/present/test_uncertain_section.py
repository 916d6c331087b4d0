"""The report's section on uncertain numbers: there where the model states some, with all of its parts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from rhoplan.advice.uncertain.uncertainty import uncertainty
from rhoplan.agents.agent import make_adviser
from rhoplan.io.model_file import parse_model
from rhoplan.present.content import make_report
from rhoplan.present.page.page import page
from rhoplan.present.page.uncertain import uncertain_section
from rhoplan.problems.registry import make

MODEL = """
name: <unsure>
unit: EUR
states: [well, ill]
prevalence: {ill: 20% (12-30)}
tests:
  smear: {cost: 5, sensitivity: 0.83 (0.70-0.92), specificity: 90% (80-96)}
  "<b>scan": {cost: 12 to 20, tp: 45, fn: 5, fp: 6, tn: 94}
losses:
  leave: {well: 0, ill: 300 to 700}
  treat: {well: 100 (60-150), ill: 10}
horizon: 2
"""


def test_section_stands_where_numbers_are_uncertain() -> None:
    problem = parse_model(MODEL)
    text = page(make_report(problem, make_adviser(problem), budget=0.01))
    for part in ("What uncertain numbers mean", "of what the numbers allow", "Which study is worth making",
                 "One number at a time", "What to begin with over two numbers", "Decision curve"):  # fmt: skip
        assert part in text
    assert "<b>scan" not in text


def test_section_is_sound_markup() -> None:
    problem = parse_model(MODEL)
    found = uncertainty(problem, make_adviser(problem), samples=60)
    section = uncertain_section(problem, found)
    root = ET.fromstring(f"<div>{section.replace(chr(0x2013), '-')}</div>")
    assert len(root.findall(".//svg")) == len(found.tornado) + 2
    assert section.count("</tr>") == 2 + len(found.tornado) + sum(
        one.worth.value > 1e-4 * found.everything.value for one in found.studies
    )


def test_section_is_left_out_where_nothing_is_uncertain() -> None:
    problem = make("screening-cascade")
    assert "What uncertain numbers mean" not in page(make_report(problem, make_adviser(problem), budget=0.01))

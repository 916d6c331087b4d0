"""The report: one screen first, contents in view, claims with their parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rhoplan_paper.published import published
from rhoplan_paper.registry import studies
from rhoplan_paper.report.page import page
from rhoplan_paper.study import CONFIRMED, ONLY_BITS, ONLY_NATS, Finding, Headline, Outcome, Verdict
from rhoplan_paper.verdicts import by_parts

SETTINGS = {"full": False, "unit": "both"}


def number(place: int, verdict: str) -> Finding:
    return Finding(f"tiger/{place}", "", "reward", "1", "", "1", "", verdict, "why")


def claimed(id: str, verdict: Verdict, headline: Headline | None) -> Finding:
    about = published().claims[id]
    return Finding(
        id, about.place, about.gist, "", "", "", verdict.unit, verdict.word, "so", verdict.parts, headline=headline
    )


@pytest.fixture
def html(tmp_path: Path) -> str:
    """A report on all claims, two of them with a headline, and on one table whose numbers came out in several ways."""
    verdict = by_parts({"this part": True, "that part": False, "another": {"bits": True, "nats": False}})
    verdicts_in_words = {"coverage": verdict}
    headlines = {"coverage": Headline("5 of 6", "are <flat>."), "bits-weight": Headline("0.69", "per bit.")}
    claims = tuple(
        claimed(id, verdicts_in_words.get(id, Verdict(CONFIRMED)), headlines.get(id)) for id in published().claims
    )
    verdicts = (CONFIRMED, ONLY_BITS, ONLY_BITS, ONLY_NATS)
    numbers = tuple(number(place, verdict) for place, verdict in enumerate(verdicts))
    outcomes = {name: Outcome() for name in studies()}
    outcomes |= {"claims": Outcome(findings=claims), "tiger": Outcome(findings=numbers)}
    return page(list(studies().values()), outcomes, tmp_path, SETTINGS, {})


def test_the_first_screen_has_bars_and_findings_before_anything_else(html: str) -> None:
    first = html.partition("<h2 id='claims'>")[0]
    assert f"<h3>{len(published().claims)} claims in words</h3>" in first
    assert "<h3>4 printed numbers judged</h3>" in first
    findings = re.findall(r"<li><a href='#([\w-]+)'><strong>(.*?)</strong>.*?<span>(.*?)</span></a>", first)
    assert [row[:2] for row in findings] == [
        ("claim-bits-weight", "2"),
        ("claim-coverage", "5 of 6"),
        ("claim-bits-weight", "0.69"),
    ]
    assert findings[1][2] == "are &lt;flat&gt;."


def test_every_link_leads_somewhere(html: str) -> None:
    wanted = set(re.findall(r"href='#([^']+)'", html))
    ids = re.findall(r" id='([^']+)'", html)
    assert wanted <= set(ids)
    assert len(ids) == len(set(ids))


def test_contents_name_studies_as_people_do_in_the_order_of_the_paper(html: str) -> None:
    contents = re.search(r"<nav>(.*?)</nav>", html)
    assert contents
    listed = re.findall(r"href='#([\w-]+)'>", contents[1])
    assert [name for name in listed if name in studies()] == [*["claims"], *(n for n in studies() if n != "claims")]
    assert all(study.title in contents[1] for study in studies().values())
    assert "position: sticky" in re.search(r"nav \{([^}]*)\}", html)[1]  # type: ignore[index]


def test_a_claim_shows_which_of_its_parts_hold(html: str) -> None:
    article = re.search(r"<article id='claim-coverage'>(.*?)</article>", html)
    assert article
    assert "holds in part" in article[1]
    signs = re.findall(r"<li><span class='mark'[^>]*>(.)</span> (.*?)</li>", article[1])
    assert signs == [("✓", "this part"), ("✗", "that part"), ("b", "another")]

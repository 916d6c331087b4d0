"""No violation of WCAG 2.2 AA that axe can find: every view of the page, what it prints and what is carried away.

    RHOPLAN_AXE=all python -m pytest tests/app/test_axe.py

examines every worked model in every view; without it one model is, and others in one view each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")
axe = pytest.importorskip("axe_playwright_python.base", reason="the rules come with axe-playwright-python")

import serving  # noqa: E402
from bridge import WORKED_MODELS  # noqa: E402
from rhoplan import make  # noqa: E402
from test_carry import carried_file  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
EVERYTHING = os.environ.get("RHOPLAN_AXE") == "all"

VIEWS = ("Case", "Pathway", "What-if", "Uncertainty", "Compare", "Targets", "Model", "Report")
WHOLE = tuple(WORKED_MODELS) if EVERYTHING else ("screening-cascade",)
SAMPLED = tuple(zip((name for name in WORKED_MODELS if name not in WHOLE), VIEWS, strict=False))

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLOUR = ["color-contrast", "link-in-text-block"]
"""Rules that look at colours: the only ones whose findings the dark scheme can change."""

EXAMINE = """(only) => axe.run(document, { runOnly: only, resultTypes: ["violations"] })
  .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`)))"""
SETTLED = """() => !document.querySelector(".waiting, [data-cancel]")
  && !/(looking|Working it out) …/.test(document.body.innerText)"""
"""Whether all parts of a view are there."""


@pytest.fixture(scope="module")
def page(browser: Any, address: str) -> Iterator[Any]:
    """One page for all: colours and width are changed under it."""
    context = browser.new_context(reduced_motion="reduce")
    found = context.new_page()
    found.set_default_timeout(PATIENCE)
    yield found
    context.close()


def faults(page: Any, where: str, sizes: tuple[int, ...] = (1280, 390)) -> list[str]:
    """What axe finds on the page as it is, in light and dark, wide and narrow."""
    page.wait_for_function(SETTLED)
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.AXE_SCRIPT)
    found = []
    for width in sizes:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme, only in (
            ("light", {"type": "tag", "values": RULES}),
            ("dark", {"type": "rule", "values": OF_COLOUR}),
        ):
            page.emulate_media(color_scheme=scheme)
            found += [f"{where}, {width} px, {scheme}: {fault}" for fault in page.evaluate(EXAMINE, only)]
    return found


def show(page: Any, address: str, model: str, view: str) -> None:
    page.goto(f"{address}/#{model}" + ("" if view == "Case" else f"/{view}"))
    page.wait_for_selector(f"main[data-view='{model} {view}'] > :not(.waiting)")
    if view == "Case" and model in WORKED_MODELS and len(make(model).states) == 2:
        page.wait_for_selector(".thresholds:not([hidden])")


@pytest.mark.parametrize("model", WHOLE)
def test_every_view_of_a_model(page: Any, address: str, model: str) -> None:
    found = []
    for view in VIEWS:
        show(page, address, model, view)
        found += faults(page, f"{model} {view}")
    assert found == []


@pytest.mark.skipif(not SAMPLED, reason="every model is examined in every view")
def test_a_view_of_every_other_model(page: Any, address: str) -> None:
    found = []
    for model, view in SAMPLED:
        show(page, address, model, view)
        found += faults(page, f"{model} {view}", sizes=(390,))
    assert found == []


def test_what_needs_no_model(page: Any, address: str) -> None:
    """The gallery with its menu, the tour, a new model, a table of cases."""
    page.goto(f"{address}/#")
    page.wait_for_selector("[data-card]")
    page.click("#menu summary")
    found = faults(page, "gallery")
    page.click("#start-tour")
    page.wait_for_selector("#tour-title")
    found += faults(page, "tour")
    page.keyboard.press("Escape")
    for view, there in (("New", "#form-said"), ("Learn", "main h2")):
        page.goto(f"{address}/#/{view}")
        page.wait_for_selector(there)
        found += faults(page, view)
    assert found == []


def test_a_case_that_goes_on_and_ends(page: Any, address: str) -> None:
    """With results, with an own start, with what was not available; an episode on a map; the advice hidden."""
    show(page, address, "screening-cascade", "Case")
    page.locator("details.start > summary").click()
    page.locator("[data-outcome]").first.click()
    page.wait_for_selector(".log li")
    found = faults(page, "a case under way", sizes=(390,))
    page.locator("[data-commit]:visible, [data-stop]:visible").first.click()
    page.wait_for_selector("[data-closed]")
    found += faults(page, "a closed case", sizes=(390,))
    page.get_by_role("button", name="New case").click()
    page.check("#teach")
    page.get_by_role("heading", name="What would you do next?").wait_for()
    found += faults(page, "advice that is hidden", sizes=(390,))
    page.uncheck("#teach")
    show(page, address, "rocksample", "Case")
    found += faults(page, "an episode", sizes=(390,))
    assert found == []


def test_what_is_printed_and_carried(page: Any, address: str, tmp_path: Path) -> None:
    """The report as the site has it, the card, and the plan in one file at its start and at its end."""
    found = []
    for model in WHOLE:
        page.goto(f"{address}/api/v1/report/{model}")
        found += faults(page, f"report on {model}")
        page.goto(f"{address}/api/v1/carry/{model}?card=true")
        found += faults(page, f"card of {model}")
        path = tmp_path / "plan.html"
        path.write_text(carried_file(model), encoding="utf-8")
        page.goto(path.as_uri())
        found += faults(page, f"plan of {model}")
        while not page.locator("[data-closed]").count():
            page.keyboard.press("1")
        found += faults(page, f"plan of {model}, ended")
    assert found == []


def test_what_a_finding_looks_like(page: Any) -> None:
    """That the rules run at all, in both colours."""
    page.goto("about:blank")
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><p style='color: #888; background: #999'>grey</p>")
    assert [fault.split(":")[1].strip() for fault in faults(page, "x", sizes=(390,))] == ["color-contrast"] * 2

"""The page in a real browser: a case by mouse and by keyboard, undo, a faulty model, a what-if that flips."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

from serving import server  # noqa: E402

CHROMIUM = os.environ.get("RHOPLAN_CHROMIUM", "/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason=f"there is no browser at {CHROMIUM}")
PATIENCE = 60_000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(params=[1280, 360], ids=["wide", "narrow"])
def page(request: pytest.FixtureRequest, address: str, browser: Any) -> Iterator[Any]:
    """A page on which any error, or a request to another host, fails the test."""
    context = browser.new_context(viewport={"width": request.param, "height": 800})
    found, faults = context.new_page(), []
    found.set_default_timeout(PATIENCE)
    found.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on(
        "request",
        lambda one: None if one.url.startswith((address, "blob:", "data:")) else faults.append(f"asked {one.url}"),
    )
    found.goto(f"{address}/#chest-pain")
    found.wait_for_selector("[data-do]")
    yield found
    assert found.evaluate("document.documentElement.scrollWidth") <= request.param
    context.close()
    assert faults == []


def steps(page: Any, count: int) -> None:
    """Wait until the log has `count` entries, and the screen is that of the next step."""
    playwright.expect(page.locator(".log li")).to_have_count(count, timeout=PATIENCE)


def do(page: Any) -> str:
    return str(page.locator("[data-do]").first.get_attribute("data-do"))


def open_model(page: Any, name: str) -> None:
    page.select_option("#model", name)
    page.wait_for_url(f"**/#{name}")
    playwright.expect(page).to_have_title(f"{name} – rhoplan", timeout=PATIENCE)
    page.wait_for_selector(f"main[data-view^='{name} '] [data-do]")


def test_advice_is_there_soon_after_the_command(browser: Any) -> None:
    begin = time.monotonic()
    with server() as fresh:
        page = browser.new_page()
        page.goto(fresh)
        page.wait_for_selector("[data-do]", timeout=PATIENCE)
        page.close()
    assert time.monotonic() - begin < 15  # two seconds on a warm machine; this one may be busy


def test_a_whole_case_by_keyboard_and_undo(page: Any) -> None:
    first = do(page)
    page.keyboard.press("1")
    steps(page, 1)
    second = do(page)
    page.keyboard.press("u")
    steps(page, 0)
    assert do(page) == first
    page.keyboard.press("1")
    steps(page, 1)
    assert do(page) == second
    for count in range(2, 8):
        if page.locator("[data-commit]").count():
            break
        page.keyboard.press("1")
        steps(page, count)
    page.keyboard.press("1")
    page.wait_for_selector("[data-closed]")
    page.keyboard.press("u")
    page.wait_for_selector("[data-commit]")


def test_a_whole_case_by_mouse_with_a_test_that_cannot_be_had(page: Any) -> None:
    first = do(page)
    page.click("[data-missing]")
    steps(page, 1)
    assert do(page) != first
    page.click("#undo")
    steps(page, 0)
    assert do(page) == first
    for count in range(1, 8):
        if page.locator("[data-commit]").count():
            break
        page.locator("[data-outcome]").last.click()
        steps(page, count)
    page.click("[data-commit]")
    page.wait_for_selector("[data-closed]")
    page.get_by_role("button", name="New case").click()
    steps(page, 0)


def test_another_test_s_result_can_be_entered(page: Any) -> None:
    row = page.locator("tr", has_text="vessels")
    row.locator("summary").click()
    row.get_by_role("button", name="several").click()
    steps(page, 1)
    assert "advice was" in page.locator(".log").inner_text()


def test_prediction_comes_before_the_advice(page: Any) -> None:
    page.check("#teach")
    page.get_by_role("heading", name="What would you do next?").wait_for()
    assert page.locator("[data-do]").count() == 0
    page.keyboard.press("1")
    page.wait_for_selector("[data-do]")
    assert "You chose" in page.locator(".verdict").inner_text()


def test_the_price_of_information_changes_the_table(page: Any) -> None:
    before = page.locator("tr.chosen td").nth(3).inner_text()
    page.fill("#weight-number", "100")
    page.keyboard.press("Tab")
    playwright.expect(page.locator("tr.chosen td").nth(3)).not_to_have_text(before, timeout=PATIENCE)


def test_an_edited_model_shows_its_error_and_then_runs(page: Any) -> None:
    page.click("[data-tab='Model']")
    area = page.locator("#model-text")
    text = area.input_value()
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "cost: 102.90" in row)
    area.fill(text.replace("cost: 102.90", "cost: -102.90"))
    playwright.expect(page.locator("#model-said")).to_contain_text(f"line {line}", timeout=PATIENCE)
    assert "must not be negative" in page.locator("#model-said").inner_text()
    assert page.locator(".lines .bad").inner_text().strip() == str(line)
    area.fill(text.replace("cost: 102.90", "cost: 0.5"))
    playwright.expect(page.locator("#model-said")).to_contain_text("✓", timeout=PATIENCE)
    page.fill("#model-name", "cheap scan")
    page.click("#model-use")
    page.wait_for_selector("main[data-view^='cheap scan '] [data-do]")
    with page.expect_download() as found:
        page.click("[data-tab='Model']")
        page.get_by_role("button", name="Download").click()
    assert "cost: 0.5" in Path(found.value.path()).read_text()


def test_a_what_if_flips_the_advice_and_says_where(page: Any) -> None:
    open_model(page, "screening-cascade")
    page.click("[data-tab='What-if']")
    page.wait_for_selector("main [data-do]")
    before = do(page)
    page.wait_for_selector(".flips li")
    assert "becomes" in page.locator(".flips").inner_text()
    page.get_by_label("strip", exact=True).evaluate(
        "(one) => { one.value = one.max; one.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_selector("[data-flipped]")
    assert do(page) != before
    page.get_by_role("button", name="back to the model").click()
    playwright.expect(page.locator("[data-do]")).to_have_attribute("data-do", before, timeout=PATIENCE)


def test_pathway_folds_and_compare_draws(page: Any) -> None:
    open_model(page, "screening-cascade")
    page.click("[data-tab='Pathway']")
    page.wait_for_selector(".tree .leaf")
    page.get_by_role("button", name="fold all").click()
    assert not page.locator(".tree .leaf").first.is_visible()
    page.get_by_role("button", name="open all").click()
    assert page.locator(".tree .leaf").first.is_visible()
    page.click("[data-tab='Compare']")
    page.wait_for_selector("svg.chart .point")
    assert page.locator("tbody tr").count() >= 4
    page.click("[data-tab='Report']")
    page.get_by_role("button", name="Print").wait_for()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="printable report").click()
    opened.value.get_by_role("heading", name="screening-cascade").wait_for(timeout=PATIENCE)


@pytest.mark.parametrize("name", ["tileworld", "rocksample", "inspection", "navigation", "drilling", "tiger"])
def test_problems_of_the_paper_can_be_stepped_through(page: Any, name: str) -> None:
    open_model(page, name)
    if name in ("tileworld", "rocksample", "inspection", "navigation"):
        assert page.locator("svg.map .cell").count() >= 9
    for count in (1, 2):
        page.locator(".next [data-outcome]").last.click()
        steps(page, count)
    page.keyboard.press("u")
    steps(page, 1)

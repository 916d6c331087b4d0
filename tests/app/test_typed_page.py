"""What a person types or presses on the page: numbers with two readings, and keys for results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402
from coded import CODED  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
TESTS = Path(__file__).parents[1]

wide = pytest.mark.parametrize("page", [1280], indirect=True, ids=["wide"])


def rows(name: str) -> list[Any]:
    found: list[Any] = json.loads((TESTS / name).read_text(encoding="utf-8"))
    return found


def expect(found: Any) -> Any:
    return playwright.expect(found)


def type_into(page: Any, place: str, text: str) -> None:
    """Type `text` key by key, as a person does: a browser may leave keys out."""
    field = page.locator(place)
    field.focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    field.press_sequentially(text)


@wide
def test_the_page_reads_typed_numbers_as_the_terminal_does(page: Any) -> None:
    read = """async (rows) => {
      const { readTyped } = await import("/typed.js");
      const read = ([text, where]) => {
        try { return readTyped(text, where); } catch (error) { return error.message; }
      };
      return rows.map(read);
    }"""
    for (text, where, expected), found in zip(
        rows("typed_numbers.json"), page.evaluate(read, rows("typed_numbers.json")), strict=True
    ):
        told = expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-15)
        assert found == told, (text, where)


@wide
def test_the_page_has_the_shortcuts_of_the_terminal(page: Any) -> None:
    given = """async (rows) => {
      const { shortcuts } = await import("/shortcuts.js");
      return rows.map(([outcomes, others]) => shortcuts(outcomes, others));
    }"""
    assert page.evaluate(given, rows("shortcuts.json")) == [expected for _, _, expected in rows("shortcuts.json")]


@wide
def test_results_that_are_numbers_are_entered_by_letters(page: Any, address: str) -> None:
    httpx.post(f"{address}/api/v1/models", json={"name": "coded", "text": CODED}, timeout=serving.PATIENCE)
    page.goto(f"{address}/#coded")
    page.locator("main[data-view='coded Case'] [data-do=sex]").wait_for()
    shown = {one.get_attribute("data-outcome"): one.locator("kbd").inner_text() for one in
             page.locator("[data-outcome]").all()}  # fmt: skip
    assert shown == {"0": "a", "1": "b"}
    page.keyboard.press("1")
    page.keyboard.press("b")
    expect(page.locator(".log li")).to_have_count(1, timeout=PATIENCE)
    expect(page.locator(".log li")).to_contain_text("sex: 1", timeout=PATIENCE)


@wide
def test_an_own_prior_with_a_decimal_comma_is_refused(page: Any) -> None:
    page.click(".start summary")
    type_into(page, "[data-prior=disease]", "0,4")
    page.click("#set-start")
    expect(page.locator("#problem")).to_have_text("disease: '0,4' has a decimal comma: write 0.4.", timeout=PATIENCE)
    expect(page.locator(".own-prior")).to_have_count(0, timeout=PATIENCE)
    type_into(page, "[data-prior=disease]", "0.4")
    page.click("#set-start")
    expect(page.locator(".own-prior")).to_contain_text("disease 0.40%", timeout=PATIENCE)


@wide
def test_settings_refuse_a_number_with_two_readings(page: Any) -> None:
    page.click("#menu summary")
    page.check("#nats")
    page.keyboard.press("Escape")
    before = page.evaluate("import('/state.js').then(({ weight }) => weight())")
    type_into(page, "#weight-number", "20.000")
    page.keyboard.press("Tab")
    told = page.locator("#weight-number").evaluate("one => one.validationMessage")
    assert told == "'20.000' can be 20 or 20,000: write 20 or 20000"
    assert page.evaluate("import('/state.js').then(({ weight }) => weight())") == before
    type_into(page, "#weight-number", "20")
    page.keyboard.press("Tab")
    assert page.evaluate("import('/state.js').then(({ weight }) => weight())") == 20


@wide
@pytest.mark.parametrize(
    ("label", "text", "told"),
    [
        ("If you leave, ill", "20.000", "'20.000' can be 20 or 20,000: write 20 or 20000"),
        ("Price, EUR", "1,000", "'1,000' can be 1 or 1,000: write 1 or 1000"),
        ("Sensitivity", "92", "a probability lies between 0 and 1; this is '92': write 92%"),
        ("How frequent is ill before any test?", "0,4%", "'0,4%' has a decimal comma: write 0.4%"),
    ],
)
def test_the_form_refuses_beside_the_field(page: Any, address: str, label: str, text: str, told: str) -> None:
    page.goto(f"{address}/#/New")
    page.locator("[data-field='form.tests.0']").or_(page.locator("#add-test")).first.wait_for()
    page.locator("[data-field='form.tests.0']").fill("strip")
    field = (page.locator("[data-field='losses.leave.ill']") if label.startswith("If") else
             page.get_by_label(label, exact=True))  # fmt: skip
    field.fill(text)
    expect(page.locator("#fault")).to_have_text(told, timeout=PATIENCE)
    assert field.get_attribute("aria-invalid") == "true"


@wide
def test_a_target_with_two_readings_is_refused(page: Any, address: str) -> None:
    page.goto(f"{address}/#screening-cascade/Targets")
    page.locator("#target-spend").fill("20.000")
    refused = page.locator("[data-refused=spend]")
    expect(refused).to_contain_text("'20.000' can be 20 or 20,000: write 20 or 20000", timeout=PATIENCE)
    page.locator("#target-spend").fill("")
    page.locator("#target-miss").fill("1 in 1,000")
    expect(page.locator("[data-met]")).to_have_count(1, timeout=PATIENCE)

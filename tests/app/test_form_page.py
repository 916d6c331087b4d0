"""Gallery, form, tour and settings in a real browser: a model made by mouse and typing gives the advice of its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402
from bridge import WORKED_MODELS  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
"""Milliseconds that the browser waits for anything."""

MOST_CLICKS = 40

SCREEN = """name: Two-test screening
unit: EUR
states: [well, ill]
prevalence: {ill: 1%}
tests:
  strip: {cost: 4, sensitivity: 92%, specificity: 94%}
  assay: {cost: 60, sensitivity: 95%, specificity: 99%}
losses:
  leave: {well: 0, ill: 12000}
  treat: {well: 900, ill: 0}
"""


wide = pytest.mark.parametrize("page", [1280], indirect=True, ids=["wide"])
"""For what does not depend on the width of the screen."""


def expect(found: Any) -> Any:
    return playwright.expect(found)


@pytest.fixture
def home(page: Any, address: str) -> Any:
    """The page, at the gallery."""
    page.goto(f"{address}/#")
    page.wait_for_selector("[data-card]")
    return page


NAMELESS = """() => {
  const shown = (one) => one.offsetParent !== null || one.classList.contains("unseen");
  const label = (one) => [...(one.labels ?? [])].map((label) => label.textContent).join("");
  const name = (one) => one.getAttribute("aria-label") || label(one) || one.textContent;
  const fields = [...document.querySelectorAll("input, select, textarea, button, summary, a[href]")].filter(shown);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return [...fields.filter((one) => !name(one).trim()).map((one) => one.outerHTML),
    ...ids.filter((id, place) => ids.indexOf(id) !== place),
    ...["aria-labelledby", "aria-describedby"].flatMap((name) => [...document.querySelectorAll(`[${name}]`)]
      .filter((one) => !one.getAttribute(name).split(" ").every((id) => ids.includes(id)))
      .map((one) => one.outerHTML))];
}"""
"""What a screen reader could not name, ids that stand twice, and names that lead nowhere."""


def test_every_control_has_a_name(home: Any) -> None:
    home.click("#menu summary")
    assert home.evaluate(NAMELESS) == []
    home.keyboard.press("Escape")
    home.click("#new-model")
    home.locator("#form-said").wait_for()
    for way in ("rates", "ratios", "counts", "predictive", "groups", "table"):
        home.get_by_label("How good it is, by").select_option(way)
        home.locator(".test-card summary").click()
        assert home.evaluate(NAMELESS) == []
    for way in ("threshold", "utilities", "commits"):
        home.get_by_label("Given by").select_option(way)
        assert home.evaluate(NAMELESS) == []


class Hand:
    """A mouse and a keyboard that count clicks."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0

    def click(self, found: Any) -> None:
        found.click()
        self.clicks += 1

    def type(self, label: str, text: str, place: int = 0) -> None:
        self.click(self.page.get_by_label(label, exact=True).nth(place))
        self.page.keyboard.type(text)


def test_a_screening_model_is_made_in_forty_clicks_and_advises_like_its_file(home: Any, address: str) -> None:
    hand = Hand(home)
    hand.click(home.locator("#new-model"))
    hand.type("Title", f"Two-test screening {home.viewport_size['width']}")
    hand.type("How frequent is ill before any test?", "1 in 100")
    for place, (name, price, sensitivity, specificity) in enumerate([("strip", 4, 92, 94), ("assay", 60, 95, 99)]):
        if place:
            hand.click(home.locator("#add-test"))
        hand.type("Name", name, place)
        hand.type("Price, EUR", str(price), place)
        hand.type("Sensitivity", f"{sensitivity}%", place)
        hand.type("Specificity", f"{specificity}%", place)
    hand.type("leave, if ill", "12000")
    hand.type("treat, if well", "900")
    expect(home.locator("#form-said")).to_contain_text("Complete", timeout=PATIENCE)
    hand.click(home.locator("#form-use"))
    home.wait_for_selector("main[data-view^='Two-test screening'] [data-do]")
    assert hand.clicks <= MOST_CLICKS
    body = {"name": "the same as a file", "text": SCREEN}
    httpx.post(f"{address}/api/v1/models", json=body, timeout=serving.PATIENCE).raise_for_status()
    advice = httpx.post(f"{address}/api/v1/advise", json={"problem": body["name"]}, timeout=serving.PATIENCE).json()
    assert home.locator("[data-do]").get_attribute("data-do") == advice["do"]
    assert f"because {advice['reason']}." == home.locator(".next .reason").inner_text()
    shown = home.evaluate("fetch('/api/v1/models/' + location.hash.slice(1)).then((reply) => reply.json())")
    own = httpx.get(f"{address}/api/v1/models/{body['name']}", timeout=serving.PATIENCE).json()
    assert {**shown["record"], "name": ""} == {**own["record"], "name": ""}


@wide
def test_what_is_wrong_stands_beside_its_field(home: Any) -> None:
    home.click("#new-model")
    home.click("#form-use")
    expect(home.locator(".fld:has(#fault) label").first).to_have_text("Name", timeout=PATIENCE)
    home.keyboard.type("strip")  # the field has the focus
    home.get_by_label("How frequent is ill before any test?", exact=True).fill("120%")
    for label in ("Price, EUR", "Sensitivity", "Specificity", "leave, if ill", "treat, if well"):
        home.get_by_label(label, exact=True).fill("1")
    expect(home.locator("#fault")).to_contain_text("must be a probability between 0 and 1", timeout=PATIENCE)
    wrong = home.locator("[aria-invalid]")
    assert wrong.get_attribute("data-field") == "prevalence"
    wrong.fill("12%")
    expect(home.locator("#fault")).to_have_count(0, timeout=PATIENCE)
    assert home.get_by_label("How frequent is ill before any test?, slider").input_value() == "12"
    home.get_by_label("Sensitivity, slider").evaluate(
        "(one) => { one.value = 80; one.dispatchEvent(new Event('input')); }"
    )
    assert home.get_by_label("Sensitivity", exact=True).input_value() == "80%"
    expect(home.locator("[data-reads]")).to_contain_text(
        "Of 1,000 cases 120 are ill, 96 of them positive", timeout=PATIENCE
    )


@wide
def test_a_check_that_comes_late_leaves_the_fault_where_it_is(home: Any) -> None:
    """The form checks itself when it opens; who is faster is told what is missing, and it stays told."""
    held: list[Any] = []
    home.route("**/form/check", lambda route: route.continue_() if held else held.append(route))
    with home.expect_request("**/form/check"):
        home.click("#new-model")
    home.click("#form-use")
    expect(home.locator("#fault")).to_have_count(1, timeout=PATIENCE)
    with home.expect_event("requestfinished", lambda request: request == held[0].request):
        held[0].continue_()
    home.evaluate("() => new Promise((done) => setTimeout(done, 500))")
    assert home.locator("#fault").count() == 1


@wide
def test_form_and_text_agree(page: Any) -> None:
    page.click("[data-tab='Model']")
    price = page.locator("[data-field='tests.troponin.cost']")
    page.click("#as-text")
    assert page.input_value("#model-text") == WORKED_MODELS["chest-pain"].read_text()
    page.click("#as-form")
    price.fill("9.50")
    page.click("#as-text")  # before the form was checked: nothing of what was typed is lost
    text = page.input_value("#model-text")
    assert "cost: 9.50" in text
    page.fill("#model-text", text.replace("cost: 9.50", "cost: 7.25"))
    page.click("#as-form")
    expect(price).to_have_value("7.25", timeout=PATIENCE)
    page.click("#form-use")
    page.wait_for_selector("main[data-view='my-chest-pain Case'] [data-do]")


def test_several_states_groups_and_other_ways(home: Any) -> None:
    home.click("#new-model")
    home.locator("[data-field='form.tests.0']").fill("wells")
    home.get_by_label("How good it is, by").select_option("groups")
    home.locator("[data-field='tests.wells.cost']").fill("1")
    for place, (group, share, chance) in enumerate(
        [("low", "40%", "5%"), ("moderate", "40%", "20%"), ("high", "20%", "60%")]
    ):
        assert home.get_by_label(f"Name of result {place + 1}").input_value() == group
        home.get_by_label(f"Share of people in {group}").fill(share)
        home.get_by_label(f"Chance of ill in {group}").fill(chance)
    home.click("[data-as-in]")
    home.get_by_label("Given by").select_option("threshold")
    home.get_by_label("Act from a chance of ill of", exact=True).fill("5%")
    home.get_by_label("A false alarm costs, EUR").fill("50")
    expect(home.locator("#form-said")).to_contain_text("treat pays from a chance of 5% on", timeout=PATIENCE)
    prior = home.get_by_label("How frequent is ill before any test?", exact=True)
    assert prior.input_value() == "as in wells"
    assert home.get_by_label("How frequent is ill before any test?, slider").input_value() == "22"
    home.get_by_label("Given by").select_option("losses")
    home.click("#add-state")
    home.get_by_label("State 3", exact=True).fill("worn")
    expect(home.locator("#form-said")).to_contain_text("fill in", timeout=PATIENCE)


@wide
def test_the_tour_has_five_steps_and_comes_once(home: Any) -> None:
    home.click("#take-tour")
    for place in range(1, 6):
        expect(home.locator("#tour-title")).to_contain_text(f"{place} of 5", timeout=PATIENCE)
        assert home.locator(".toured").count() == 1
        home.keyboard.press("Enter")
    expect(home.locator("#tour")).to_have_count(0, timeout=PATIENCE)
    home.click("#home")
    home.wait_for_selector("[data-card]")
    assert not home.locator("#tour-offer").count()
    home.click("#menu summary")
    home.click("#start-tour")
    expect(home.locator("#tour-title")).to_contain_text("1 of 5", timeout=PATIENCE)
    home.keyboard.press("Escape")
    expect(home.locator("#tour")).to_have_count(0, timeout=PATIENCE)


@wide
def test_settings_are_remembered(page: Any) -> None:
    assert not page.get_by_text("Doubt:").is_visible()
    assert page.locator("html").get_attribute("data-theme") == "light"
    light = page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    page.click("#menu summary")
    page.check("#dark")
    page.check("#nats")
    page.select_option("#words", "service")
    expect(page.get_by_role("heading", name="Checks now")).to_be_visible(timeout=PATIENCE)
    page.reload()
    page.get_by_role("heading", name="Checks now").wait_for()
    assert page.get_by_text("Doubt:").is_visible()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor") != light


# -- a folder that is served --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mine")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[str]:
    (folder / "screen.yaml").write_text(SCREEN)
    with serving.server("--workers", "1", str(folder)) as found:
        yield found


def test_a_model_is_saved_to_its_file_from_the_form(served: str, folder: Path, browser: Any) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(served)
    page.click("[data-card=screen]")
    page.wait_for_selector("[data-do]")
    page.click("[data-tab='Model']")
    page.locator("[data-field='tests.strip.cost']").fill("5.5")
    page.get_by_role("button", name="Save to screen.yaml").click()
    expect(page.locator("#notice")).to_contain_text("the old text is in screen.yaml.bak", timeout=PATIENCE)
    assert "cost: 5.5" in (folder / "screen.yaml").read_text()
    assert (folder / "screen.yaml.bak").read_text() == SCREEN
    assert page.locator(".headline .cost").first.inner_text() == "costs 5.50 EUR"
    page.close()

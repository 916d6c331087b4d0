"""The plan to carry away in a real browser, from the file system: by keyboard, by touch; cards on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import serving
from coded import CODED
from rhoplan.advice.carried import carry
from rhoplan.agents.agent import make_adviser
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import POMDP
from rhoplan.present.carry.card import card_page, make_card
from rhoplan.present.carry.page import carried_page
from rhoplan.present.origin import origin_of
from rhoplan.problems.registry import WORKED_MODELS, make
from test_carry import ODD, ODD_MODEL, carried_file

playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

PATIENCE = 1000 * serving.PATIENCE

Open = Callable[..., Any]


@pytest.fixture
def open_plan(browser: Any, tmp_path: Path) -> Any:
    """Opens the text of a plan from a file; any error, or any request but for the file, fails the test."""
    faults: list[str] = []
    contexts = []

    def opened(text: str, **settings: Any) -> Any:
        path = tmp_path / "plan.html"
        path.write_text(text, encoding="utf-8")
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda one: None if one.url == path.as_uri() else faults.append(f"asked {one.url}"))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def do(page: Any) -> str:
    return str(page.locator("[data-do]").get_attribute("data-do"))


def steps(page: Any, count: int) -> None:
    playwright.expect(page.locator(".log li")).to_have_count(count, timeout=PATIENCE)


def test_a_case_by_keyboard_from_the_file_system(open_plan: Open) -> None:
    page = open_plan(carried_file("four-diseases"), color_scheme="dark", viewport={"width": 1280, "height": 800})
    assert do(page) == "listen-to-chest"
    page.keyboard.press("2")
    steps(page, 1)
    assert do(page) == "x-ray"
    playwright.expect(page.locator(".spent")).to_have_text("spent 6 EUR", timeout=PATIENCE)
    page.keyboard.press("n")
    steps(page, 2)
    without = do(page)
    assert without != "x-ray"
    page.keyboard.press("u")
    page.keyboard.press("d")
    steps(page, 2)
    playwright.expect(page.locator(".spent")).to_have_text("spent 51 EUR", timeout=PATIENCE)
    page.keyboard.press("u")
    page.keyboard.press("2")
    steps(page, 2)
    page.keyboard.press("1")
    page.wait_for_selector("[data-closed='hospital']")
    page.reload()
    assert page.locator("[data-closed='hospital']").count() == 1, "the steps stand in the address"
    page.keyboard.press("r")
    steps(page, 0)


def test_results_that_are_numbers_have_letters(open_plan: Open) -> None:
    problem = parse_model(CODED, file="coded")
    page = open_plan(carried_page(carry(problem, make_adviser(problem)), origin_of(problem)))
    assert page.locator(".results kbd").all_inner_texts() == ["a", "b", "d", "n"]
    page.keyboard.press("1")
    page.keyboard.press("b")
    steps(page, 1)
    playwright.expect(page.locator(".log li")).to_contain_text("sex: 1", timeout=PATIENCE)


def test_a_case_by_touch_on_a_telephone_with_any_step_taken_back(open_plan: Open) -> None:
    page = open_plan(
        carried_file("four-diseases"), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True,
    )  # fmt: skip
    page.tap("[data-choice='0']")
    steps(page, 1)
    assert do(page) == "temperature"
    page.tap("[data-choice='1']")
    steps(page, 2)
    third = do(page)
    page.tap("[data-choice='0']")
    steps(page, 3)
    page.tap("[data-undo='1']")
    steps(page, 1)
    assert do(page) == "temperature"
    page.tap("[data-choice='1']")  # the same again: what followed comes back
    steps(page, 3)
    page.tap("[data-undo='1']")
    page.tap("[data-choice='0']")  # another result: the plan goes another way
    steps(page, 2)
    playwright.expect(page.locator("#said")).to_contain_text(f"taken back {third}", timeout=PATIENCE)
    page.tap("[data-choice='s']")
    page.wait_for_selector("[data-closed]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = page.evaluate("[...document.querySelectorAll('button')].map((one) => one.getBoundingClientRect().height)")
    assert min(sizes) >= 24, "large enough for a finger"


def test_what_the_plan_does_not_hold_is_said(open_plan: Open) -> None:
    problem = make("screening-cascade")
    text = carried_page(carry(problem, make_adviser(problem), room=0), origin_of(problem))
    page = open_plan(text, viewport={"width": 360, "height": 700})
    first = do(page)
    page.click("[data-choice='n']")
    playwright.expect(page.locator("#said")).to_contain_text("This leaves the plan", timeout=PATIENCE)
    assert do(page) == first


def test_odd_names_are_text(open_plan: Open) -> None:
    problem = parse_model(ODD_MODEL)
    text = carried_page(carry(problem, make_adviser(problem)), origin_of(problem))
    page = open_plan(text, viewport={"width": 390, "height": 800})
    assert do(page) == "<img src=x onerror=alert(1)>"
    playwright.expect(page.locator(".note")).to_have_text(ODD, timeout=PATIENCE)
    links = page.locator(".next a")
    assert [links.nth(place).get_attribute("href") for place in range(2)] == [
        "https://example.org/?a=1&b=2",
        "sheets/one.png",
    ]


def long_names() -> POMDP:
    """A model whose names fill lines."""
    long = "a rather long name of something that somebody wants to see written out in full on every page"
    tests = "\n".join(
        f"  {long} {place}: {{cost: 1, sensitivity: 8{place}%, specificity: 9{place}%}}" for place in range(5)
    )
    return parse_model(
        f"name: {long}\nunit: {long}\nstates: [well, {long}]\npositive: {long}\nprevalence: 30%\n"
        f"tests:\n{tests}\nlosses:\n  leave: {{well: 0, {long}: 900}}\n  {long}: {{well: 200, {long}: 0}}\nhorizon: 5\n"
    )


def test_a_card_fits_one_page_of_a4(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    for problem in (*map(make, WORKED_MODELS), long_names()):
        command = f"rhoplan carry {problem.name} --card -o card.html"
        made = origin_of(problem, author="Somebody", date="2026-11-16", command=command)
        page.set_content(card_page(make_card(problem, make_adviser(problem)), made))
        printed = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, problem.name
    page.close()

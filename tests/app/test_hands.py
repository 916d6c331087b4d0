"""Everything on the page by keyboard alone, and by mouse alone: from the gallery through a case to what is taken away.

The keyboard goes by Tab from where the focus is; the mouse presses at a point, on whatever is really there. Names and
numbers are typed by either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
MOST_STOPS = 300
"""Times that somebody presses Tab before giving up."""

BEFORE = """(one) => one === document.activeElement ? 0
  : one.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1"""
"""Where something stands beside what has the focus."""

ON_TOP = """(one, [x, y]) => {
  const found = document.elementFromPoint(x, y);
  return found && (one.contains(found) || found.closest("label")?.control === one) ? "" : found?.outerHTML ?? "nothing";
}"""


def expect(found: Any) -> Any:
    return playwright.expect(found)


class Keyboard:
    """Tab, Enter, arrows and letters."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def reach(self, found: Any) -> None:
        found.wait_for()
        for _ in range(MOST_STOPS):
            way = found.evaluate(BEFORE)
            if way == 0:
                assert found.evaluate("(one) => one.matches(':focus-visible')"), "one must see where one is"
                return
            self.page.keyboard.press("Tab" if way > 0 else "Shift+Tab")
        raise AssertionError(f"Tab does not come to {found}")

    def press(self, found: Any) -> None:
        self.reach(found)
        self.page.keyboard.press("Enter")

    def type(self, found: Any, text: str) -> None:
        self.reach(found)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose_next(self, found: Any) -> None:
        self.reach(found)
        self.page.keyboard.press("ArrowDown")

    def slide(self, found: Any) -> None:
        self.reach(found)
        for _ in range(3):
            self.page.keyboard.press("ArrowRight")


class Mouse:
    """Presses of one button, at points."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, found: Any, along: float = 0.5) -> None:
        found.wait_for()
        point, over = list[float](), ""

        def is_still() -> bool:
            """A person waits until what comes later has come: it may move what stands below it."""
            nonlocal point, over
            found.scroll_into_view_if_needed()
            box = found.evaluate("(one) => one.getClientRects()[0].toJSON()")  # of a link in two lines, the first
            before, point = point, [box["x"] + along * box["width"], box["y"] + box["height"] / 2]
            over = found.evaluate(ON_TOP, point)
            return point == before and not over

        assert serving.eventually(is_still), f"something lies over it: {over[:200]}"
        self.page.mouse.click(*point)

    def type(self, found: Any, text: str) -> None:
        self.press(found)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose_next(self, found: Any) -> None:
        """The list that opens is the system's own, and is in no page."""
        self.press(found)
        self.page.keyboard.press("Escape")
        found.select_option(index=1 + int(found.evaluate("(one) => one.selectedIndex")))

    def slide(self, found: Any) -> None:
        self.press(found, along=0.9)


Hand = Keyboard | Mouse


def steps(page: Any, count: int) -> None:
    expect(page.locator(".log li")).to_have_count(count, timeout=PATIENCE)


def view(page: Any, hand: Hand, tab: str) -> None:
    hand.press(page.locator(f"[data-tab='{tab}']"))
    page.wait_for_selector(f"main[data-view='screening-cascade {tab}'] > :not(.waiting)")
    expect(page.locator("nav [aria-current]")).to_be_in_viewport(ratio=0.99, timeout=PATIENCE)  # also where tabs scroll


def a_case(page: Any, hand: Hand) -> None:
    """From the gallery to a closed case, with a step taken back."""
    hand.press(page.locator("[data-card=screening-cascade]"))
    result = page.locator("[data-outcome=positive]").first
    hand.press(result)
    steps(page, 1)
    hand.press(page.locator("#undo"))
    steps(page, 0)
    hand.press(result)
    steps(page, 1)
    hand.press(result)
    steps(page, 2)
    hand.press(page.locator("[data-commit]"))
    page.wait_for_selector("[data-closed]")
    hand.press(page.get_by_role("button", name="New case"))
    steps(page, 0)


def other_views(page: Any, hand: Hand) -> None:
    """Numbers that are others, uncertain ones, targets."""
    view(page, hand, "What-if")
    page.wait_for_selector(".flips li")
    hand.slide(page.locator(".slider input[type=range]").first)
    own = page.locator(".slider .own:visible")
    expect(own).to_have_count(1, timeout=PATIENCE)
    hand.press(own)
    expect(own).to_have_count(0, timeout=PATIENCE)
    view(page, hand, "Uncertainty")
    hand.choose_next(page.locator("#unsure-spread"))
    expect(page.locator("main")).to_contain_text("known to within 20% of itself", timeout=PATIENCE)
    view(page, hand, "Targets")
    page.wait_for_selector("[data-edge=miss] .chart .own")
    hand.type(page.locator("#target-miss"), "1 in 1,000")
    expect(page.locator("[data-met='2']")).to_be_visible(timeout=PATIENCE)
    hand.press(page.locator("[data-met] details > summary").first)
    expect(page.locator("[data-met] details[open]")).to_have_count(1, timeout=PATIENCE)


def taken_away(page: Any, hand: Hand) -> None:
    """The report on a page of its own, and the plan as a file."""
    view(page, hand, "Report")
    with page.context.expect_page() as opened:
        hand.press(page.get_by_role("link", name="printable report"))
    opened.value.get_by_role("heading", name=re.compile("screening.cascade", re.I)).wait_for(timeout=PATIENCE)
    opened.value.close()
    with page.expect_download() as saved:
        hand.press(page.get_by_role("button", name="Save the whole plan"))
    assert saved.value.suggested_filename == "screening-cascade.html"


def a_new_model(page: Any, hand: Hand) -> None:
    """A model with one test, made in the form."""
    hand.press(page.locator("#home"))
    hand.press(page.locator("#new-model"))
    for label, text in (
        ("Title", type(hand).__name__), ("How frequent is ill before any test?", "10%"), ("Name", "strip"),
        ("Price, EUR", "4"), ("Sensitivity", "92%"), ("Specificity", "94%"), ("leave, if ill", "12000"),
        ("treat, if well", "900"),
    ):  # fmt: skip
        hand.type(page.get_by_label(label, exact=True).first, text)
    expect(page.locator("#form-said")).to_contain_text("Complete", timeout=PATIENCE)
    hand.press(page.locator("#form-use"))
    page.wait_for_selector(f"main[data-view='{type(hand).__name__} Case'] [data-do=strip]")


@pytest.mark.parametrize(
    ("page", "make"), [(1280, Keyboard), (360, Mouse)], indirect=["page"], ids=["keyboard, wide", "mouse, narrow"]
)
def test_everything_with_one_hand(page: Any, address: str, make: Callable[[Any], Hand]) -> None:
    hand = make(page)
    page.goto(f"{address}/#")
    a_case(page, hand)
    other_views(page, hand)
    taken_away(page, hand)
    a_new_model(page, hand)

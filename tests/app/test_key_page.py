"""The page of a server that has a key: it comes with the address or is asked for, and stays out of the history."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
sync = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

from serving import PATIENCE, server  # noqa: E402

KEY = "correct/horse battery"


def test_the_page_takes_the_key_from_the_address_or_asks_for_it(browser: Any) -> None:
    with server("--workers", "1", "--key", KEY, "screening-cascade") as address:
        context = browser.new_context(viewport={"width": 360, "height": 800})
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(f"{address}/#key=correct%2Fhorse%20battery")
        page.wait_for_selector("[data-do]")
        assert "horse" not in page.url
        page.reload()
        page.wait_for_selector("[data-do]")
        page.get_by_role("button", name="Report").click()
        with page.expect_download() as saved:
            page.get_by_role("link", name="Open the printable report").click()
        assert saved.value.suggested_filename == "screening-cascade report.html"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        context.close()

        context = browser.new_context(viewport={"width": 360, "height": 800})
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address)
        for given, heading in (("something else that is", "needs a key"), (KEY, "is not this server's")):
            sync.expect(page.get_by_role("dialog")).to_contain_text(heading, timeout=1000 * PATIENCE)
            page.get_by_label("Key", exact=True).fill(given)
            page.get_by_role("button", name="Continue").click()
        page.wait_for_selector("[data-do]")
        context.close()

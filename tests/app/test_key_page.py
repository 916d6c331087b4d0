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
            page.get_by_role("link", name="Save the printable report").click()
        assert saved.value.suggested_filename == "screening-cascade report.html"
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the whole plan").click()
        assert saved.value.suggested_filename == "screening-cascade.html"
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save the card").click()
        assert saved.value.suggested_filename == "screening-cascade card.html"
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


def test_the_printed_address_opens_the_page_for_good(browser: Any) -> None:
    """After a reload, too, and in a tab of a server that was started again."""
    with server("--workers", "1", "screening-cascade", makes_key=True) as address:
        base, _, key = address.partition("/#key=")
        context = browser.new_context()
        page, asked = context.new_page(), []
        page.set_default_timeout(1000 * PATIENCE)
        page.on("request", lambda one: asked.append((one.url, one.headers.get("referer", ""))))
        page.goto(address)
        page.wait_for_selector("[data-do]")
        page.reload()
        page.wait_for_selector("[data-do]")
        page.evaluate("sessionStorage.setItem('key of the server', 'the key of the server before')")
        page.goto(base)
        page.get_by_role("dialog").wait_for()
        page.evaluate("address => { location.href = address }", address)
        page.wait_for_selector("[data-do]")
        sync.expect(page.get_by_role("dialog")).to_have_count(0)
        assert key not in page.url
        assert key not in page.evaluate("document.referrer")
        sent = [text for url, referer in asked for text in (url.partition("#")[0], referer)]
        assert not any(key in text for text in sent)
        context.close()

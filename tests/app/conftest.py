"""What the tests of the page share: a server, a browser and a page that is watched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import PATIENCE, server

WIDTHS = {"wide": 1280, "narrow": 360}
"""Of screens, in pixels."""

CHROMIUM = os.environ.get("RHOPLAN_CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with server() as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no browser at {CHROMIUM}")

    with sync.sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE)
        yield found
        found.close()


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS)
def page(request: pytest.FixtureRequest, address: str, browser: Any) -> Iterator[Any]:
    """A page on which any error, or a request to another host, fails the test; how it ends fits every width."""
    context = browser.new_context(viewport={"width": request.param, "height": 800})
    found, faults = context.new_page(), []
    found.expected = []  # what a test knows that the browser will complain about
    found.set_default_timeout(1000 * PATIENCE)
    found.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on(
        "request",
        lambda one: None if one.url.startswith((address, "blob:", "data:")) else faults.append(f"asked {one.url}"),
    )
    found.goto(f"{address}/#chest-pain")
    found.wait_for_selector("[data-do]")
    yield found
    for width in sorted(WIDTHS.values(), key=lambda one: one != request.param):
        found.set_viewport_size({"width": width, "height": 800})
        assert found.evaluate("document.documentElement.scrollWidth") <= width
    context.close()
    assert [fault for fault in faults if not any(known in fault for known in found.expected)] == []

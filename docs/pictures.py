"""Takes the pictures of the page that the documentation shows, from a server of its own in a real browser.

    python docs/pictures.py

They are written to docs/_static/pictures with few colours, so that they stay small. It needs playwright and a chromium
(RHOPLAN_CHROMIUM, or /usr/bin/chromium).
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "_static" / "pictures"
CHROMIUM = os.environ.get("RHOPLAN_CHROMIUM", "/usr/bin/chromium")
COLOURS = 48


def save(name: str, picture: bytes) -> None:
    """Keep a picture as PNG with a palette."""
    from PIL import Image

    FOLDER.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)


def views(page: Any, address: str) -> None:
    """The page's views of one worked model."""
    page.goto(f"{address}/")
    page.wait_for_selector("text=Worked models", timeout=60_000)
    page.wait_for_timeout(1500)
    save("gallery", page.screenshot())
    page.goto(f"{address}/#chest-pain")
    page.wait_for_selector("[data-do]")
    page.wait_for_timeout(3000)
    save("case", page.screenshot())
    for name, tab in (("uncertainty", "Uncertainty"), ("targets", "Targets"), ("model", "Model")):
        page.get_by_role("button", name=tab, exact=True).first.click()
        page.wait_for_timeout(5000)
        save(name, page.screenshot())


def carried(browser: Any) -> None:
    """The plan to carry, as a telephone shows it in the dark."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.html"
        subprocess.run([sys.executable, "-m", "rhoplan", "carry", "four-diseases", "-o", str(path)], check=True)
        context = browser.new_context(viewport={"width": 390, "height": 760}, color_scheme="dark")
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_timeout(800)
        save("carried", page.screenshot())


def main() -> None:
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "rhoplan", "serve", "--port", "0", "--no-key"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as engine:
        assert server.stdout is not None
        found = re.search(r"http://[^\s/]+", server.stdout.readline())
        assert found
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
        views(context.new_page(), found[0])
        carried(browser)
        browser.close()
        server.terminate()


if __name__ == "__main__":
    main()

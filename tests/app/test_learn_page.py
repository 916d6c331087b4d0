"""Learning on the page, in a real browser: from a file to a verdict and an open model, by mouse and by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
"""Milliseconds that the browser waits for anything."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`scan` tells two diagnoses apart, `toss` does not, `day` is no test."""
    generator = np.random.default_rng(7)
    rows = [
        f"{generator.normal(3 * (n % 2)):.2f},{generator.normal():.2f},2024-05-{n % 28 + 1:02},{('well', 'ill')[n % 2]}"
        for n in range(80)
    ]
    path = tmp_path_factory.mktemp("cases") / "scans.csv"
    path.write_text("\n".join(["scan,toss,day,found", *rows, ""]))
    return path


wide = pytest.mark.parametrize("page", [1280], indirect=True, ids=["wide"])
narrow = pytest.mark.parametrize("page", [360], indirect=True, ids=["narrow"])
"""Each test learns a model or two, which is the same at any width; how a test ends is looked at in both."""


def fill_in(page: Any) -> None:
    """Prices, losses and as few folds as can be."""
    assert page.get_by_label("Price of day").is_disabled()
    page.get_by_label("Price of toss").fill("5")
    for decision, diagnosis in (("call-well", "ill"), ("call-ill", "well")):
        page.get_by_label(f"Loss of {decision} where it is {diagnosis}").fill("40")
    page.locator("#learn-unit").fill("EUR")
    page.locator("#learn-form summary").click()
    page.locator("#learn-folds").fill("2")


@narrow
def test_from_a_table_to_an_open_model_by_mouse(page: Any, table: Path) -> None:
    page.click("#from-table")
    page.set_input_files("#learn-file", table)
    page.wait_for_selector("#learn-about:has-text('80 cases, 4 columns')")
    page.select_option("#learn-target", "found")
    page.wait_for_selector("#learn-form")
    fill_in(page)
    page.get_by_label("toss is a test").click()
    assert page.get_by_label("Price of toss").is_disabled()
    page.get_by_label("toss is a test").click()
    page.locator("#learn-name").fill("scans by mouse")
    page.click("#learn-start")
    verdict = page.locator("#learn-verdict")
    playwright.expect(verdict).to_have_attribute("data-verdict", "carries", timeout=PATIENCE)
    assert verdict.inner_text().startswith("The data carry the model")
    for name in ("the learned policy", "no test", "all tests + logistic"):
        assert page.get_by_role("row", name=name).count() == 1
    with page.expect_download() as saved:
        page.click("#learn-save")
    assert "learned:" in Path(saved.value.path()).read_text()
    with page.expect_popup() as opened:
        page.click("#learn-report")
    opened.value.wait_for_selector("h1:has-text('learned from 80 cases')")
    opened.value.close()
    page.click("#learn-open")
    page.wait_for_selector("main[data-view='scans by mouse Case'] [data-do='scan']")
    page.click("#from-table")
    page.click("#learn-forget")
    page.wait_for_selector("#learn-forgotten")
    assert page.locator("#learn-form").count() == page.locator("#learn-verdict").count() == 0


@wide
def test_from_a_table_to_an_open_model_by_keyboard(page: Any, table: Path) -> None:
    page.on("filechooser", lambda chooser: chooser.set_files(table))  # long before the key, which it would miss
    page.focus("#from-table")
    page.keyboard.press("Enter")
    page.wait_for_selector("#learn-file", state="attached")
    page.focus("#learn-file")
    page.keyboard.press("Enter")
    page.wait_for_selector("#learn-target:focus")
    page.keyboard.type("found")
    page.wait_for_selector("#learn-form")
    fill_in(page)
    page.locator("#learn-name").fill("scans by keyboard")
    page.focus("#learn-start")
    page.keyboard.press("Enter")
    page.wait_for_selector("#learn-verdict:focus")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-view='scans by keyboard Case'] [data-do='scan']")


@narrow
def test_faults_are_told_and_work_can_be_stopped(page: Any, table: Path) -> None:
    page.expected += ["status of 422"]
    page.click("#from-table")
    page.wait_for_selector("#learn-file", state="attached")
    dropped = page.evaluate_handle(
        """text => { const all = new DataTransfer(); all.items.add(new File([text], "faulty.csv")); return all; }""",
        "scan,found\n1,well\n2\n",
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    page.wait_for_selector("#learn-said:has-text('row 3')")
    page.set_input_files("#learn-file", table)
    page.select_option("#learn-target", "found")
    page.wait_for_selector("#learn-form")
    assert page.locator("#learn-said").is_hidden()
    fill_in(page)
    page.locator("#learn-folds").fill("20")
    page.locator("#learn-name").fill("tiger")
    page.click("#learn-start")
    page.wait_for_selector("#learn-said:has-text('choose another name')")
    page.locator("#learn-name").fill("scans stopped")
    page.click("#learn-start")
    page.click("[data-cancel]")
    page.wait_for_selector("#learn-stopped")
    page.wait_for_selector("#learn-start:focus")

"""The published numbers that the code holds are the ones the paper prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rhoplan.experiments.published import CORE

PAPER = Path(__file__).resolve().parents[2] / "shared" / "paper"

CAPTIONS = {
    "tiger": "Tiger problem (5{,}000",
    "testbed": "Information-seeking testbed",
    "diagnosis": "Diagnosis ($N{=}4$",
    "bandit": "Structured bandit",
}
NAMES = {
    "Myopic": "myopic",
    "Planning": "planning",
    "Info Gain": "info-gain",
    "Planning+IG": "planning-ig",
    "Epistemic-only": "epistemic-only",
    "EFE": "efe",
}


@pytest.fixture(scope="module")
def text() -> str:
    files = sorted(PAPER.glob("*.txt")) if PAPER.is_dir() else []
    if not files:
        pytest.skip("the paper's text is not beside this checkout (shared/paper)")
    return files[0].read_text()


def table_rows(text: str, caption: str) -> dict[str, list[float]]:
    """Agent name to the numbers of its line: tests, success in percent, reward, standard error."""
    start = text.index(r"\caption{" + caption)
    body = text[text.index(r"\midrule", start) : text.index(r"\bottomrule", start)]
    rows = {}
    for line in filter(lambda part: "&" in part, body.split(r"\\")):
        cells = [re.sub(r"\\mathbf|\\textbf|[${}]|\\%|\\midrule", "", cell).strip() for cell in line.split("&")]
        agent = re.sub(r"\s*\(.*", "", cells[0]).strip()
        rows[NAMES[agent]] = [
            float(number) for cell in cells[1:] for number in re.split(r"\\pm", cell.replace("+", ""))
        ]
    return rows


@pytest.mark.parametrize("problem", CAPTIONS)
def test_core_rows_are_those_of_the_paper(text: str, problem: str) -> None:
    printed = table_rows(text, CAPTIONS[problem])
    held = {
        row.agent: [row.tests, round(100 * row.success, 6), row.reward, row.reward_se]
        for row in CORE
        if row.problem == problem
    }
    assert held == printed

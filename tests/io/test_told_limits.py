"""The limits of files are those that the documentation tells, and they lie where they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import rhoplan
from rhoplan.errors import RhoplanError
from rhoplan.io import (
    assemble,
    comments,
    drn,
    foreign,
    general,
    general_writer,
    pomdp_writer,
    pomdpx_network,
    pomdpx_tables,
    reader,
    shorthands,
    tree,
    xml,
)  # fmt: skip
from rhoplan.io.model_file import parse_model
from rhoplan.model import factored, limits

PAGE = Path(__file__).parents[2] / "docs" / "problem-files.md"
OURS = [
    tree.LARGEST_FILE, tree.DEEPEST_TREE, tree.MOST_REPEATED, tree.MOST_DIRECTIVES, limits.MOST_ACTIONS,
    general.MOST_OFFERED, factored.MOST_STATES, reader.MOST_JOINT, shorthands.LARGEST_COUNT, limits.LARGEST_HORIZON,
    general.LARGEST_CAP, general_writer.MOST_PLACES, general_writer.MOST_NUMBERS, pomdp_writer.MOST_STATES,
    foreign.LARGEST_FILE, foreign.MOST_NUMBERS, foreign.UNWRITTEN, foreign.FACTORED, foreign.LONGEST_COUNT,
    pomdpx_network.MOST_VARIABLES, pomdpx_tables.MOST_AXES - 1, pomdpx_tables.DEEPEST_DIAGRAM, xml.MOST_ELEMENTS,
    xml.DEEPEST, drn.MOST_CHOICES,
]  # fmt: skip
"""Limits in the order in which the page has them."""


def test_limits_are_those_that_are_told() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## How large a file may be")[2].partition("\n## ")[0]
    told = [int(number.replace(",", "")) for number in re.findall(r"\| ([\d,]+) \|$", section, re.MULTILINE)]
    assert told == OURS
    assert "four more per character" in section
    assert foreign.PER_CHARACTER == 4


def test_what_files_of_others_may_miss_and_what_is_taken_where_they_do_not_say() -> None:
    """Rows may miss 1 by what rounding twenty numbers to six digits does; look-ahead that suits the size."""
    assert pytest.approx(20 * 0.5e-6) == assemble.ROUNDED
    assert (assemble.DEEPEST, assemble.MOST_BRANCHES, reader.DEFAULT_HORIZON) == (3, 20_000, 3)
    assert (comments.LONGEST, comments.WIDEST, pomdp_writer.SAME_DIGITS) == (200_000, 4000, 12)


def nested(levels: int, language: str) -> object:
    """A map in a map in a map, with a number inside."""
    if language == "toml":
        text = "".join(f"[{'.'.join('a' * level)}]\n" for level in range(1, levels + 1)) + "a = 1\n"
    else:
        text = '{"a": ' * levels + "1" + "}" * levels
    return tree.parse_tree(text, file="it", language=language)


def model(**fields: object) -> rhoplan.POMDP:
    lines = "states: [a, b]\ntests: {t: {cost: 1, outcomes: [x, y], likelihood: {a: [1, 0], b: [0, 1]}}}\n"
    lines += "commits: {left: {a: 1, b: 0}, right: {a: 0, b: 1}}\n"
    return parse_model(lines + "".join(f"{name}: {value}\n" for name, value in fields.items()))


BORDERS: dict[str, tuple[Callable[[int], object], int, str]] = {
    "levels of yaml": (lambda n: nested(n, "yaml"), 20, "nested more than 20 deep"),
    "levels of json": (lambda n: nested(n, "json"), 20, "nested more than 20 deep"),
    "levels of toml": (lambda n: nested(n, "toml"), 19, "20 "),
    "levels of xml": (lambda n: xml.parse_xml("<a>" * n + "</a>" * n, file="it"), 200, "nested 200 deep"),
    "numbers of a table": (lambda n: foreign.check_size("it", n, file="it"), 60_000_000, "60,000,000 numbers at most"),
    "horizon": (lambda n: model(horizon=n), 10_000, "horizon"),
}


@pytest.mark.parametrize("what", BORDERS)
def test_a_limit_lies_where_it_says(what: str) -> None:
    make, most, words = BORDERS[what]
    make(most)
    with pytest.raises(RhoplanError, match=words):
        make(most + 1)


def test_counts_have_nine_digits() -> None:
    assert [foreign.counted(word) for word in ("9" * 9, "1" + "0" * 9, "0", "-1", "1.0", "\u0661", "")] == [
        999_999_999, None, 0, None, None, None, None,
    ]  # fmt: skip


def test_a_model_that_does_not_say_looks_three_tests_ahead() -> None:
    assert (model().horizon, model(horizon=1).horizon) == (3, 1)

"""Numbers and texts as outcomes."""

from __future__ import annotations

import numpy as np

from rhoplan.learning.outcomes import cut_column
from rhoplan.learning.table import Column, table_of


def column(*values: object) -> Column:
    return table_of(["x", "y"], [values, values]).columns["x"]


def everybody(one: Column) -> np.ndarray:
    return np.arange(len(one.cells))


def test_names_can_be_read() -> None:
    one = column(*[50, 51, 52, 60, 61, 70, 71, 72] * 5)
    cut = cut_column(one, everybody(one), 3)
    assert cut is not None
    assert cut.outcomes == ("<= 52", "53 to 61", "> 61")
    assert cut(one, np.arange(8)).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]


def test_few_numbers_are_outcomes_of_their_own() -> None:
    one = column(*[3, 6, 7] * 5)
    cut = cut_column(one, everybody(one), 5)
    assert cut is not None
    assert cut.outcomes == ("3", "6", "7")


def test_cuts_fall_where_numbers_lie_apart() -> None:
    generator = np.random.default_rng(0)
    one = column(*np.concatenate([generator.normal(0, 0.1, 80), generator.normal(1, 0.1, 20)]))
    cut = cut_column(one, everybody(one), 2)
    assert cut is not None
    assert 0.3 < cut.cuts[0] < 0.7
    assert len(cut.outcomes[0]) <= len("<= 0.xx"), "no more digits than are needed"


def test_only_training_cases_count() -> None:
    one = column(*[1, 2, 3, 4] * 5, *[100, 200, 300, 400] * 5)
    cut = cut_column(one, np.arange(20), 2)
    assert cut is not None
    assert cut.outcomes == ("<= 2", "> 2")
    assert cut(one, everybody(one))[20:].tolist() == [1] * 20


def test_a_number_that_nearly_all_share_is_cut_from_the_rest() -> None:
    one = column(*[1] * 299, 2, 3, 4, 5, 6, 7)
    cut = cut_column(one, everybody(one), 5)
    assert cut is not None
    assert len(cut.outcomes) >= 2


def test_the_same_everywhere_is_no_test() -> None:
    one = column(*[1] * 10, 5)
    assert cut_column(one, np.arange(10), 5) is None


def test_rare_texts_and_new_ones_are_others() -> None:
    one = column(*["a"] * 300, *["b"] * 300, "c", "d")
    cut = cut_column(one, np.arange(601), 5)
    assert cut is not None
    assert cut.outcomes == ("a", "b", "other")
    assert cut(one, np.array([0, 300, 600, 601])).tolist() == [0, 1, 2, 2]


def test_blanks_have_no_outcome() -> None:
    numbers, texts = column(1, None, 2), column("a", "", "b", "a", "b")
    for one in (numbers, texts):
        cut = cut_column(one, everybody(one), 5)
        assert cut is not None
        assert cut(one, np.array([1])).tolist() == [-1]


def test_an_order_from_the_plan() -> None:
    one = column("low", "high", "mid", "low")
    cut = cut_column(one, everybody(one), 5, ("low", "mid", "high"))
    assert cut is not None
    assert cut(one, everybody(one)).tolist() == [0, 2, 1, 0]
    assert np.all(np.diff(cut.places) > 0)

"""Numbers as people read them."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhoplan.advice.case import advise
from rhoplan.advice.pathway import pathway
from rhoplan.advice.sentences import ahead_words
from rhoplan.advice.words import GENERAL, MOST_DIGITS, WORDS, chance, money, percent, percents, words_of
from rhoplan.agents.agent import make_adviser
from rhoplan.io.reader import TRADES
from rhoplan.present.carry.card import card_page, make_card
from rhoplan.present.origin import origin_of
from rhoplan.present.telling import as_text
from rhoplan.problems.registry import make


def printed(texts: list[str]) -> Decimal:
    return sum((Decimal(text.removesuffix("%")) for text in texts), Decimal(0))


@given(st.floats(1e-9, 1 - 1e-9))
def test_two_chances_add_up_as_printed(share: float) -> None:
    texts = percents([share, 1 - share])
    assert printed(texts) == 100
    for text, exact in zip(texts, (share, 1 - share), strict=True):
        digits = len(text.partition(".")[2]) - 1
        assert abs(float(text.removesuffix("%")) - 100 * exact) <= 10.0**-digits + 1e-9
        assert text not in ("0%", "100%")


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9))
def test_chances_add_up_as_printed_where_few_digits_do(parts: list[int]) -> None:
    shares = [part / sum(parts) for part in parts]
    texts = percents(shares)
    alone = [percent(share) for share in shares]
    if max(len(text.partition(".")[2]) - 1 for text in alone) <= MOST_DIGITS:
        assert printed(texts) == 100
    assert [text == "0%" for text in texts] == [text == "0%" for text in alone]


@pytest.mark.parametrize(
    ("shares", "texts"),
    [
        ([0.8925, 0.1075], ["89.3%", "10.7%"]),
        ([1 / 3, 1 / 3, 1 / 3], ["33.4%", "33.3%", "33.3%"]),
        ([1.0], ["100%"]),
        ([1.0, 0.0], ["100%", "0%"]),
        ([0.5, 0.5, 0.0], ["50.0%", "50.0%", "0%"]),
        ([0.0002, 0.9998], ["0.020%", "99.980%"]),
        ([0.2, 0.3], ["20.0%", "30.0%"]),  # not one whole
        ([1e-7, 0.4, 0.5999999], ["0.000010%", "40.0%", "60.0%"]),  # too rare to add up in few digits
        ([], []),
    ],
)
def test_examples(shares: list[float], texts: list[str]) -> None:
    assert percents(shares) == texts


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (1, "points", "1 point"),
        (-1, "points", "-1 point"),
        (2, "points", "2 points"),
        (1.5, "minutes", "1.50 minutes"),
        (1, "minutes", "1 minute"),
        (1, "EUR", "1 EUR"),
        (1, "loss", "1 loss"),
        (1, "", "1"),
    ],
)
def test_one_is_singular(amount: float, unit: str, text: str) -> None:
    assert money(amount, unit) == text


def test_every_field_of_work_has_all_words() -> None:
    assert set(WORDS) == {GENERAL, *TRADES}
    for table in WORDS.values():
        assert table.keys() == WORDS[GENERAL].keys()
    assert words_of("inspection")["tests"] == "techniques"
    assert words_of("cooking") == words_of()


def test_terminal_and_print_use_the_words_of_the_models_field() -> None:
    problem = make("printer")
    agent = make_adviser(problem)
    told = [as_text(pathway(problem, agent)), card_page(make_card(problem, agent), origin_of(problem))]
    told.append(ahead_words(problem, advise(problem, agent).ahead))
    for text in told:
        assert "jobs" in text
        assert re.search(r"\bchecks?\b", text)
        assert not re.search(
            r"\b(tests?|patients?|1,000 cases)\b(?!-)",
            re.sub(r"<style>.*?</style>|class='\w+'", "", text, flags=re.DOTALL),
        )


def test_rare_chances_are_one_in_so_many_and_near_certainty_is_no_riddle() -> None:
    assert chance(1 / 3500) == "1 in 3,500"
    assert chance(1 - 1 / 3500) == "99.971%"
    assert chance(1.0) == "100%"

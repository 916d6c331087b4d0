"""Targets as people write them."""

from __future__ import annotations

import pytest

from rhoplan.errors import ProblemError
from rhoplan.io.constraints import Target, as_given, read_share, read_targets


@pytest.mark.parametrize(
    "text",
    [
        "0.001",
        "0.1%",
        "0.1 %",
        "1 in 1,000",
        "1 in 1000",
        "1/1000",
        "1 / 1,000",
        "10 per 10,000",
        "1 of 1000",
        0.001,
        "1e-3",
    ],
)
def test_a_share_is_read_as_people_write_it(text: object) -> None:
    assert read_share(text) == pytest.approx(0.001, rel=1e-15)


@pytest.mark.parametrize("text", ["", "x", "101%", "-1%", "1 in 0", "2 in 1", "nan", "inf", "1 in", True])
def test_what_is_no_share_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="a share reads"):
        read_share(text)


def test_targets_are_about_the_positive_state_unless_they_name_one() -> None:
    found = read_targets({"spend": "1,200.50", "miss": "1 in 100", "specific": {"well": "90%"}}, ("well", "ill"), "ill")
    assert found == (Target("miss", 0.01, "ill"), Target("specific", 0.9, "well"), Target("spend", 1200.5))
    assert read_targets(as_given(found), ("well", "ill"), None) == found


@pytest.mark.parametrize("given", [{"miss": {"ill": "100%"}}, {"wrong": "1 in 1"}, {"sensitive": {"ill": "1"}}])
def test_a_share_of_all_cases_may_be_meant(given: dict[str, object]) -> None:
    (found,) = read_targets(given, ("well", "ill"), None)
    assert found.value == 1
    assert read_targets(as_given([found]), ("well", "ill"), None) == (found,)


@pytest.mark.parametrize(
    ("given", "words", "field"),
    [
        ({"miss": "1%"}, "needs the state it is about", ("miss",)),
        ({"miss": {"flu": "1%"}}, "'flu', which is not one of well, ill", ("miss",)),
        ({"sensitive": {"ill": "often"}}, "a share reads", ("sensitive", "ill")),
        ({"specific": {"well": "95"}}, "'95' reads as 9,500%: is 95% meant", ("specific", "well")),
        ({"wrong": 5}, "'5' reads as 500%: is 5% meant", ("wrong",)),
        ({"miss": {"ill": "1"}}, "'1' reads as 100% of cases, which every plan keeps: write 1%", ("miss", "ill")),
        ({"wrong": " 1.0 "}, "'1.0' reads as 100% of cases", ("wrong",)),
        ({"spend": "much"}, "spend must be a number", ("spend",)),
        ({"spend": -1}, "at least 0", ("spend",)),
        ({"speed": 1}, "there is no target 'speed'", ("speed",)),
    ],
)
def test_targets_that_make_no_sense_are_refused(given: dict[str, object], words: str, field: tuple[str, ...]) -> None:
    with pytest.raises(ProblemError, match=words) as caught:
        read_targets(given, ("well", "ill"), None)
    assert caught.value.field == field

"""One registry: everything is found by name, once, in the paper's order."""

from __future__ import annotations

import re

import pytest

from rhoplan.errors import RhoplanError
from rhoplan_paper.published import published
from rhoplan_paper.registry import MEASURES, Registry, choose, claims, studies


def test_studies_stand_in_the_order_of_the_paper() -> None:
    sections = list(dict.fromkeys(study.section.split()[0] for study in studies().values()))
    assert sections[-1] == "throughout"
    numbers = [tuple(map(int, section.split("."))) for section in sections if section[0].isdigit()]
    letters = [section for section in sections if re.fullmatch("[A-Z]", section)]
    assert [*numbers, *letters, "throughout"] == [*sorted(numbers), *sorted(letters), "throughout"]
    assert len(sections) == len(numbers) + len(letters) + 1
    for kind in ("Table", "Figure"):
        placed = [study.place for study in studies().values() if study.place.startswith(kind)]
        counted = [int(place.split(",")[0].split()[1]) for place in placed]
        assert counted == sorted(counted)


def test_every_table_that_holds_numbers_is_a_study() -> None:
    assert {id for id, table in published().tables.items() if table.cells} <= set(studies())


def test_every_claim_has_a_function_in_the_order_of_the_paper() -> None:
    assert list(claims()) == list(published().claims)


def test_measures_are_found_by_name() -> None:
    assert {"score", "simulated", "optimum", "with_pymdp"} <= set(MEASURES.every())


def test_titles_are_for_people_and_all_different() -> None:
    titles = [study.title for study in studies().values()]
    assert len(set(titles)) == len(titles)
    assert all(title[0].isupper() and not title.endswith(".") and len(title) < 70 for title in titles)


def test_a_name_is_taken_once() -> None:
    shelf: Registry[int] = Registry("number")
    shelf.add("one", 1)
    with pytest.raises(ValueError, match="two of number 'one'"):
        shelf.add("one", 2)
    assert shelf.every() == {"one": 1}


def test_chosen_studies_come_once_and_unknown_ones_are_named() -> None:
    assert [study.id for study in choose(("tiger", "agents", "tiger"))] == ["tiger", "agents"]
    with pytest.raises(RhoplanError, match="no study 'tigre'"):
        choose(("tigre",))

"""The plan to carry away as compact JSON: each sentence once, places by number, every number already in words.

The page that reads it looks things up and computes nothing, so what it says is what the advice says.
"""

from __future__ import annotations

from typing import Any

from rhoplan.advice.carried import NOWHERE, Carried, Place
from rhoplan.advice.first import Stop
from rhoplan.advice.notes import notes_of
from rhoplan.advice.second import has_second
from rhoplan.advice.sentences import ahead_words, belief_rows, closing_words, stop_words
from rhoplan.advice.shortcuts import shortcuts
from rhoplan.advice.words import counted, money, percents, plain, words_for

FIELDS = (
    "test", "do", "cost", "price", "reason", "beside", "belief", "stop", "commit", "closing", "ahead", "results",
    "unknown", "unavailable",
)  # fmt: skip
"""What the record of a place holds, in this order; texts are numbers of strings.

test: 1 for a test, 0 for a commit. cost, price: of the test, in words, and its number among the prices. belief: rows of
state, chance and the width of its bar in percent. stop, commit, closing: what stopping now means, with what, and what
is said then. results: rows of outcome, chance, what comes then, and the place that comes. unknown, unavailable: places.
"""


WITHOUT_SECOND = (
    "The second opinion of this learned model is not in the file, since it goes by all results in a case: rhoplan "
    "advise and rhoplan serve tell it where it would end a case otherwise."
)
"""What is said in place of second opinions."""


class Strings:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(plain(text), len(self.numbers))


def plan_data(carried: Carried) -> dict[str, Any]:
    """The plan as maps, lists, text and whole numbers, ready for JSON."""
    problem, strings = carried.problem, Strings()
    prices = list(carried.sums)
    commits = [commit.name for commit in problem.flat.commits]
    places = [_place(carried, place, prices, strings) for place in carried.places]
    return {
        "fields": list(FIELDS),
        "places": places,
        "amounts": [money(amount, problem.unit) for amount in carried.amounts],
        "sums": [list(row) for row in carried.sums.values()],
        "keys": {test.name: shortcuts(test.outcomes, commits) for test in problem.flat.tests},
        "notes": {test: note.as_dict() for test, note in notes_of(problem).items()},
        "covers": covers_words(carried),
        "strings": list(strings.numbers),
    }


def covers_words(carried: Carried) -> str:
    """What the plan holds besides every result of the advised tests, and what it does not, in a sentence or two."""
    said = words_for(carried.problem)
    if carried.covers is None:
        holds = f"and what to do if {said['tests']} are not available or their results are not known"
    elif carried.covers == 0:
        holds = f"of {said['tests']} that are not available, or whose results are not known, only some"
    else:
        much = counted(carried.covers, said["test"])
        holds = f"and what to do if up to {much} are not available or have no known result"
    told = f"It holds every result{';' if carried.covers == 0 else ','} {holds}."
    return f"{told} {WITHOUT_SECOND}" if has_second(carried.problem) else told


def _place(carried: Carried, place: Place, prices: list[Any], strings: Strings) -> list[Any]:
    first, problem = place.first, carried.problem
    stop: Stop = next(one for one in first.commits if one.commit == (first.stop.commit if first.is_test else first.do))
    chances = percents([result.probability for result in first.results])
    record = {
        "test": int(first.is_test),
        "do": strings(first.do),
        "cost": NOWHERE if place.price is None else strings(money(float(place.price), problem.unit)),
        "price": NOWHERE if place.price is None else prices.index(place.price),
        "reason": strings(first.reason),
        "beside": strings(first.beside),
        "belief": [
            [strings(state), strings(chance), round(100 * share)] for state, share, chance in belief_rows(first.belief)
        ],
        "stop": strings(stop_words(problem, stop)),
        "commit": strings(stop.commit),
        "closing": strings(closing_words(problem, stop)),
        "ahead": strings(ahead_words(problem, place.ahead) if first.is_test else "nothing: decide now"),
        "results": [
            [strings(result.outcome), strings(chance), strings(result.then), target]
            for result, chance, target in zip(first.results, chances, place.after, strict=True)
        ],
        "unknown": place.unknown,
        "unavailable": place.unavailable,
    }
    return [record[name] for name in FIELDS]

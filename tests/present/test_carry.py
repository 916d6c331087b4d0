"""The plan to carry away: walks through the file agree with the API, it says what it leaves out; the card."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rhoplan.advice.carried import NOWHERE, Carried, carry
from rhoplan.advice.first import Stop
from rhoplan.advice.journal import digest
from rhoplan.advice.outlay import Ahead
from rhoplan.advice.sentences import ahead_words, belief_rows, closing_words, stop_words
from rhoplan.advice.start import FRESH, Standing
from rhoplan.advice.words import money, percents
from rhoplan.agents.agent import make_adviser
from rhoplan.app.cli import main
from rhoplan.errors import LimitError
from rhoplan.io.model_file import parse_model
from rhoplan.model.belief import UNKNOWN
from rhoplan.model.pomdp import POMDP
from rhoplan.present.carry.card import card_page, make_card
from rhoplan.present.carry.page import carried_page
from rhoplan.present.content import make_report
from rhoplan.present.origin import DISCLAIMER, origin_of
from rhoplan.present.page.page import page
from rhoplan.present.signed import read_signed
from rhoplan.problems.registry import make

ODD = "</script><script>alert('&quot;\")</script>"

ODD_MODEL = f"""
name: {json.dumps(ODD)}
unit: EUR
states: [well, {json.dumps(ODD)}]
positive: {json.dumps(ODD)}
prevalence: 20%
tests:
  {json.dumps("<img src=x onerror=alert(1)>")}:
    cost: 1
    sensitivity: 90%
    specificity: 80%
    info: {{note: {json.dumps(ODD)}, link: "https://example.org/?a=1&b=<2".., picture: sheets/one.png}}
losses:
  leave: {{well: 0, {json.dumps(ODD)}: 100}}
  treat: {{well: 20, {json.dumps(ODD)}: 0}}
""".replace('b=<2"..', 'b=2"')


class Embedded(HTMLParser):
    """The elements of a file, its texts, and the plan that stands in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.plan: dict[str, Any] = {}
        self._inside: dict[str, str | None] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = dict(attrs)
        self.tags.append((tag, self._inside))

    def handle_data(self, data: str) -> None:
        if self._inside.get("id") == "plan":
            self.plan = json.loads(data)
        self._inside = {}


@cache
def plan_of(name: str) -> Carried:
    problem = make(name)
    return carry(problem, make_adviser(problem))


@cache
def carried_file(name: str) -> str:
    return carried_page(plan_of(name), origin_of(plan_of(name).problem))


STANDING = Standing({"disease": 0.3}, (("sex", "male"),), (("troponin", UNKNOWN),), ("age",))
"""A case of chest-pain."""


def file_from(problem: POMDP, standing: Standing) -> str:
    return carried_page(carry(problem, make_adviser(problem), standing=standing), origin_of(problem))


class Walker:
    """Reads a file as its page does: it looks things up and adds nothing."""

    def __init__(self, text: str) -> None:
        self.plan = Embedded(text).plan
        self.fields = {name: place for place, name in enumerate(self.plan["fields"])}
        self.place = self.spent = 0

    def __getitem__(self, name: str) -> Any:
        found = self.plan["places"][self.place][self.fields[name]]
        return found if name in ("test", "price", "belief", "results", "unknown", "unavailable") else self.text(found)

    def text(self, number: int) -> str:
        return "" if number == NOWHERE else str(self.plan["strings"][number])

    def pay(self) -> None:
        self.spent = self.plan["sums"][self["price"]][self.spent]

    def restart(self) -> None:
        self.place = self.spent = 0


@cache
def api_reply(
    name: str, given: tuple[tuple[str, str], ...], unavailable: tuple[str, ...], has_own_start: bool = False
) -> dict[str, Any]:
    """What the API answers on this case, from a worker's hands."""
    worker = pytest.importorskip("rhoplan.app.serve.worker")
    tasks = pytest.importorskip("rhoplan.app.serve.tasks", reason="the API comes with the extra rhoplan[serve]")
    sources = pytest.importorskip("rhoplan.app.serve.sources")
    asked = {"agent": None, "given": given, "unavailable": list(unavailable), "seconds": 60.0, "memory": 1e9}
    asked |= {"prior": STANDING.prior, "known": STANDING.known} if has_own_start else {}
    found: dict[str, Any] = tasks.run(worker.Job("advise", sources.Source(name), asked), shelf(worker))
    return found


@cache
def shelf(worker: Any) -> Any:
    return worker.Shelf(10**6)


def check_agrees(walker: Walker, problem: POMDP, reply: dict[str, Any]) -> None:
    """What the file says at its place is what the API says of the case."""
    assert walker["do"] == reply["do"]
    assert bool(walker["test"]) == reply["is_test"]
    assert walker["reason"] == reply["reason"]
    assert walker["beside"] == reply["beside"]
    told = [(walker.text(state), walker.text(chance)) for state, chance, _ in walker["belief"]]
    assert told == [(state, chance) for state, _, chance in belief_rows(reply["belief"])]
    stop = Stop(*(reply["stop"][name] for name in ("commit", "value", "wrong")))
    assert walker["stop"] == stop_words(problem, stop)
    assert walker["closing"] == closing_words(problem, stop)
    assert walker.plan["amounts"][walker.spent] == money(reply["spent"], problem.unit)
    if not reply["is_test"]:
        return
    ahead = Ahead(**{name: value for name, value in reply["ahead"].items() if name not in ("tests_90", "cost_90")})
    assert walker["ahead"] == ahead_words(problem, ahead)
    cost = next(option["cost"] for option in reply["options"] if option["test"] == reply["do"])
    assert walker["cost"] == money(cost, problem.unit)
    chances = percents([row["probability"] for row in reply["results"]])
    rows = [[walker.text(one) for one in row[:3]] for row in walker["results"]]
    expected = zip(reply["results"], chances, strict=True)
    assert rows == [[row["outcome"], chance, row["then"]] for row, chance in expected]


def random_walks(name: str, count: int, seed: int, astray: float, standing: Standing = FRESH) -> int:
    """How many steps `count` random walks through the file took, each compared with the API."""
    problem, rng, steps = make(name), random.Random(seed), 0
    walker = Walker(carried_file(name) if standing is FRESH else file_from(problem, standing))
    compared = set()
    for _ in range(count):
        walker.restart()
        given, left = tuple(standing.given), standing.unavailable
        while True:
            case = given, tuple(sorted(left)), standing is STANDING
            if (walker.place, walker.spent, case) not in compared:  # most walks begin alike
                check_agrees(walker, problem, api_reply(name, *case))
                compared.add((walker.place, walker.spent, case))
            steps += 1
            if not walker["test"]:
                break
            test, results = walker["do"], walker["results"]
            drawn = rng.random()
            if drawn < astray / 2 and walker["unavailable"] != NOWHERE:
                left, walker.place = (*left, test), walker["unavailable"]
                continue
            row = rng.choice(results)
            outcome, target = walker.text(row[0]), row[3]
            if drawn < astray and walker["unknown"] != NOWHERE:
                outcome, target = UNKNOWN, walker["unknown"]
            given = (*given, (test, outcome))
            walker.pay()
            walker.place = target
    return steps


def test_500_random_walks_through_four_diseases_agree_with_the_api() -> None:
    assert random_walks("four-diseases", 500, seed=1, astray=0.3) > 1500


@pytest.mark.parametrize("name", ["tiger-doors", "security-lane"])
def test_walks_through_other_plans_agree_too(name: str) -> None:
    assert random_walks(name, 15, seed=2, astray=0.1) > 30


def test_walks_from_where_a_case_stands_agree_too() -> None:
    assert random_walks("chest-pain", 20, seed=3, astray=0.2, standing=STANDING) > 40


def test_the_file_and_the_card_say_what_they_start_from() -> None:
    problem = make("chest-pain")
    card = make_card(problem, make_adviser(problem), standing=STANDING)
    for text in (file_from(problem, STANDING), card_page(card, origin_of(problem))):
        assert "rior of this case, not the model&#x27;s: healthy 70.0%, disease 30.0%" in text
        assert "nown at the start, not paid for: sex male" in text
        assert "ntered before, and paid for: troponin not known" in text
        assert "ot available: age" in text
        assert read_signed(text)[0]["model"] == digest(problem), "the model is the same, the case is another"
    assert "Chance of disease now" in text
    assert "starts from" not in carried_file("chest-pain")


def test_the_file_is_small_and_asks_for_nothing() -> None:
    text = carried_file("four-diseases")
    assert len(text.encode()) < 500_000
    found = Embedded(text)
    assert "default-src 'none'" in str(next(one for _, one in found.tags if "http-equiv" in one)["content"])
    addresses = [one.get(name) for _, one in found.tags for name in ("src", "href") if name in one]
    assert addresses == ["data:,"], "nothing but an empty icon"


def test_every_place_of_a_whole_plan_leads_somewhere() -> None:
    found = plan_of("four-diseases")
    assert found.covers is None
    for place in found.places:
        if place.first.is_test:
            assert NOWHERE not in (*place.after, place.unknown, place.unavailable)


def test_what_does_not_fit_leads_nowhere_and_the_file_says_how_far_it_goes() -> None:
    problem = make("four-diseases")
    small = carry(problem, make_adviser(problem), room=60)
    assert small.covers == 0
    assert all(NOWHERE not in place.after for place in small.places), "results are always there"
    assert any(place.unknown == NOWHERE for place in small.places if place.first.is_test)
    assert "only some" in carried_page(small, origin_of(problem))
    with pytest.raises(LimitError, match=r"may have 10 situations; that of 'four-diseases' has more"):
        carry(problem, make_adviser(problem), most=10)
    rare = carry(problem, make_adviser(problem), smallest=0.01, room=0)
    assert any(NOWHERE in place.after for place in rare.places)


def test_a_plan_that_is_made_anew_at_every_step_is_refused() -> None:
    problem = make("screening-cascade")
    with pytest.raises(LimitError, match="planned anew at every step"):
        carry(problem, make_adviser(problem, planner="many"))


def test_names_cannot_break_out_of_the_file() -> None:
    problem = parse_model(ODD_MODEL)
    text = carried_page(carry(problem, make_adviser(problem)), origin_of(problem, author=ODD, command=ODD))
    found = Embedded(text)
    assert [tag for tag, _ in found.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in found.tags]
    assert any(ODD in one for one in found.plan["strings"]), "and they are still told as they are"
    card = card_page(make_card(problem, make_adviser(problem)), origin_of(problem, author=ODD))
    assert "<script" not in card


def test_the_command_writes_both_and_says_how_to_make_them_again(tmp_path: Path, capsys: Any) -> None:
    for card in ([], ["--card"]):
        out = tmp_path / "plan.html"
        with pytest.raises(SystemExit) as ended:
            main(["carry", "screening-cascade", *card, "-o", str(out), "--author", "A. Nurse", "--near", "2%"])
        assert ended.value.code == 0
        text = out.read_text(encoding="utf-8")
        again = f"rhoplan carry screening-cascade --out {out}{' --card' * len(card)} --author &#x27;A. Nurse&#x27;"
        assert f"{again} --near 0.02" in text
        assert DISCLAIMER in text
        assert "A. Nurse" in text
        assert re.search(r"\b[0-9a-f]{64}\b", text), "the digest of the model"
        assert "13 situations" in capsys.readouterr().out or card


START = ["--prior", "disease=30%", "--known", "sex=male", "--given", "troponin=?"]


@pytest.mark.parametrize("card", [[], ["--card"]], ids=["plan", "card"])
def test_the_command_starts_where_a_case_stands_and_says_how_to_make_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, card: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["carry", "chest-pain", *card, *START])
    assert ended.value.code == 0
    text = (tmp_path / "plan.html").read_text(encoding="utf-8")
    again = "--given &#x27;troponin=?&#x27; --prior disease=0.3 --known sex=male"
    assert again in text
    assert "known at the start, not paid for: sex male" in text.replace("Known", "known")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [(["--prior", "gout=1%"], "prior names the state 'gout'"), (["--known", "sex=x"], "has no outcome 'x'"),
     (["--known", "sex"], "evidence must read test=outcome"), (["--given", "sex=x"], "'x'")],
)  # fmt: skip
def test_a_start_that_is_none_is_refused(tmp_path: Path, capsys: Any, wrong: list[str], told: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["carry", "chest-pain", "-o", str(tmp_path / "plan.html"), *wrong])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_a_share_that_is_none_is_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["carry", "tiger-doors", "--smallest", "100%"])
    assert ended.value.code == 2
    assert "a share of cases must be at least 0 and below 1; it is 100%" in capsys.readouterr().err


def test_the_card_tells_thresholds_and_no_nats() -> None:
    problem = make("chest-pain")
    card = card_page(make_card(problem, make_adviser(problem, weight=25.0)), origin_of(problem))
    assert "nat" not in re.sub(r"<style>.*?</style>", "", card).replace("alternat", "")
    assert "Chance of disease before any test" in card


def test_a_report_tells_author_date_digest_disclaimer_and_command() -> None:
    problem = parse_model(ODD_MODEL.replace("unit: EUR", "unit: EUR\ninfo: {author: the file's}"))
    report = make_report(problem, make_adviser(problem), seconds=0.5, budget=0.05)
    command = "rhoplan report odd.yaml --author 'A. Nurse'"
    text = page(report, origin_of(problem, author="A. Nurse", date="2026-11-16", command=command))
    told = (digest(problem), DISCLAIMER, "A. Nurse", "2026-11-16", escape(command))
    assert all(one in text for one in told)
    assert "the file&#x27;s" in page(report), "the author that the file names, where nobody else is"
    assert "<img" not in text
    assert "<a href='https://example.org/?a=1&amp;b=2'>" in text

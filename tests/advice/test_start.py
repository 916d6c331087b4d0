"""What is a case's own: prior, known and unknown results, undo of any step, notes, thresholds, waiting tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rhoplan.advice.case import Adviser, advise
from rhoplan.advice.journal import Case, load_case
from rhoplan.advice.notes import notes_of
from rhoplan.advice.parts import part
from rhoplan.advice.replay import replay
from rhoplan.advice.start import start_words, started
from rhoplan.advice.thresholds import thresholds
from rhoplan.agents.agent import make_adviser
from rhoplan.errors import EvidenceError, ModelFileError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.registry import make

TWO = """
name: two
unit: EUR
states: [well, ill]
positive: ill
prevalence: 20%
groups: {blood: {first: 2}}
tests:
  smear: {cost: 3, sensitivity: 80%, specificity: 90%, group: blood}
  assay: {cost: 5, sensitivity: 95%, specificity: 85%, group: blood}
  scan: {cost: 9, sensitivity: 97%, specificity: 98%, after: smear}
losses:
  leave: {well: 0, ill: 200}
  treat: {well: 60, ill: 0}
cap: {tests: 2, spend: 20}
horizon: 3
"""


def two() -> POMDP:
    return parse_model(TWO)


def new_case(problem: POMDP, **start: Any) -> Case:
    return Case(problem, make_adviser(problem), **start)


def test_a_prior_of_its_own_is_believed_and_the_rest_keeps_its_proportions() -> None:
    problem = make("four-diseases")
    own = started(problem, {"pneumonia": 0.54})
    assert own.prior == pytest.approx([0.25, 0.135, 0.075, 0.54])
    assert started(problem, {"cold": 1.0}).prior == pytest.approx([1, 0, 0, 0])
    assert "pneumonia 54.0%" in start_words(problem, {"pneumonia": 0.54}, ())[0]
    assert "not the model's" in start_words(problem, {"pneumonia": 0.54}, ())[0]
    assert start_words(problem, None, ()) == []
    assert start_words(two(), None, [("smear", "positive")]) == [
        "known at the start, not paid for: smear positive",
    ]


@pytest.mark.parametrize(
    ("prior", "fault"),
    [
        ({"nothing": 0.5}, "names the state 'nothing', which is not one of well, ill"),
        ({"ill": 1.5}, "prior of 'ill' must be between 0 and 1; it is 1.5"),
        ({"well": 0.5, "ill": 0.4}, "prior must sum to 1; it sums to 0.9"),
        ({"well": 0.8, "ill": 0.4}, "prior must sum to 1; it sums to 1.2"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior: dict[str, float], fault: str) -> None:
    with pytest.raises(EvidenceError, match=fault):
        started(two(), prior)


def test_known_results_are_believed_and_free_and_count_against_no_cap() -> None:
    problem = two()
    known = started(problem, None, [("smear", "positive")])
    assert known.prior == pytest.approx(problem.belief(given=[("smear", "positive")]).beliefs[0])
    advice = advise(known, make_adviser(problem))
    offered = {option.test: option.cost for option in advice.options}
    assert advice.spent == 0
    assert offered == {"assay": 7.0, "scan": 9.0}, "the group was not paid for, nobody waits, smear is not run again"
    paid = advise(problem, make_adviser(problem), [("smear", "positive")])
    assert {option.test: option.cost for option in paid.options} == {"assay": 5.0, "scan": 9.0}
    rest = [("assay", "negative"), ("scan", "negative")]
    known.belief(given=rest)
    with pytest.raises(EvidenceError, match="beyond the cap"):
        problem.belief(given=[("smear", "positive"), *rest])
    again = advise(started(problem, None, [("scan", "negative"), ("smear", "positive")]), make_adviser(problem))
    assert [option.test for option in again.options] == ["assay"], "what is known needs no order"


def test_the_order_of_known_results_and_a_prior_do_not_matter() -> None:
    results = [("smear", "positive"), ("assay", "negative")]
    one, other = (started(two(), {"ill": 0.3}, pairs) for pairs in (results, results[::-1]))
    assert one.prior == pytest.approx(other.prior, abs=1e-15)
    odds = 0.3 / 0.7 * (0.8 / 0.1) * (0.05 / 0.85)
    assert one.prior[1] == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize(
    ("known", "fault"),
    [
        ([("door", "open")], "has no test 'door'"),
        ([("smear", "maybe")], "no outcome 'maybe'"),
        ([("smear", "positive"), ("smear", "negative")], "'smear' is known already"),
    ],
)
def test_what_cannot_be_known_is_refused(known: list[tuple[str, str]], fault: str) -> None:
    with pytest.raises(EvidenceError, match=fault) as raised:
        started(two(), None, known)
    assert raised.value.field is not None
    assert raised.value.field[0] == "known"


def test_a_result_nobody_knows_is_paid_for_and_tells_nothing() -> None:
    problem = two()
    case = new_case(problem)
    before = case.advice()
    case.enter("smear", "?")
    after = case.advice()
    assert after.belief == before.belief
    assert after.spent == 5
    assert "smear" not in [option.test for option in after.options]
    assert after.waiting == {}, "scan waited for smear to be run"
    case.enter("assay", "?")
    assert case.advice().options == (), "two tests are the most"
    assert case.spent == 10


def test_nobody_may_leave_open_what_decides_what_comes_next() -> None:
    with pytest.raises(EvidenceError, match="must be known"):
        make("navigation").belief(given=[("east", "?")])


def test_what_would_flip_the_advice_is_found_after_a_result_nobody_knows() -> None:
    problem = two()
    found = part(Adviser(problem, make_adviser(problem), [("smear", "?")]), "sensitivity", seconds=20)
    free = part(Adviser(problem, make_adviser(problem)), "sensitivity", seconds=20)
    assert found.kind == free.kind == "exact"
    prior = next(flip for flip in found.content if flip.kind == "prior")
    assert prior.value == pytest.approx(0.2)


def test_any_step_can_be_taken_back_and_the_rest_is_entered_again() -> None:
    case = new_case(make("four-diseases"))
    for test, outcome in [("temperature", "high"), ("listen-to-chest", "crackles"), ("x-ray", "clear")]:
        case.enter(test, outcome, "mine")
    whole = case.advice().belief
    case.undo(1)
    assert [entry["test"] for entry in case.entries] == ["listen-to-chest", "x-ray"]
    fresh = new_case(make("four-diseases"))
    fresh.enter("listen-to-chest", "crackles", "mine")
    fresh.enter("x-ray", "clear", "mine")
    assert case.as_dict() == fresh.as_dict(), "as if the step had never been"
    assert case.advice().belief != whole
    kept = list(case.entries)
    with pytest.raises(EvidenceError, match=r"step 1 cannot be taken back while step 2 stands: .*only after listen"):
        case.undo(1)
    assert case.entries == kept
    with pytest.raises(EvidenceError, match="steps 1 to 2 to take back; it is 3"):
        case.undo(3)
    case.undo()
    assert len(case.entries) == 1


def test_a_kept_case_carries_its_start_and_replays(tmp_path: Path) -> None:
    problem, path = two(), tmp_path / "case.json"
    case = new_case(problem, prior={"ill": 0.4}, known=[("smear", "negative")])
    case.enter("scan", "?")
    case.save(path)
    assert replay(path) == (1, None)
    again = load_case(path, problem)
    assert again.advice() == case.advice()
    assert (again.prior, again.known) == ({"ill": 0.4}, [("smear", "negative")])
    record = json.loads(path.read_text())
    for change, what in (
        ({"prior": {"ill": 0.1}}, "the advice differs"),
        ({"known": [["no", "x"]]}, "cannot start so"),
    ):
        path.write_text(json.dumps({**record, **change}))
        found = replay(path)[1]
        assert found is not None
        assert what in found["what"]
    path.write_text(json.dumps({**record, "prior": {"ill": "much"}}))
    with pytest.raises(ModelFileError, match="no case that rhoplan kept"):
        replay(path)


def test_thresholds_part_those_who_test_from_those_who_do_not() -> None:
    problem = two()
    agent = make_adviser(problem)
    found = thresholds(problem, agent)
    assert found is not None
    assert found.test is not None
    assert found.treat is not None
    for chance, tests in ((found.test, True), (found.treat, False)):
        for side, expected in ((1e-6, tests), (-1e-6, not tests)):
            first = advise(started(problem, {"ill": chance + side}), agent)
            assert first.is_test == expected, (chance, side)
    assert found.words.startswith("if the chance of ill is below")
    assert [row[1] for row in found.rows] == ["leave without a test", "test first", "treat without a test"]


def test_thresholds_are_those_of_the_tests_that_are_left() -> None:
    problem = two()
    agent = make_adviser(problem)
    adviser = Adviser(problem, agent, [("smear", "?"), ("assay", "?")])
    found = part(adviser, "thresholds").content
    assert found.test is None, "no test is left"
    assert found.stretches[0].upper == pytest.approx(60 / 260), "where treating starts to be better than leaving"
    assert "with the tests that are left" in found.words
    assert part(Adviser(make("bridge"), make_adviser(make("bridge"))), "thresholds").kind == "missing"


def test_a_test_says_what_it_waits_for() -> None:
    problem = two()
    advice = advise(problem, make_adviser(problem))
    assert advice.waiting == {"scan": ("smear",)}
    assert advise(problem, make_adviser(problem), [("smear", "positive")]).waiting == {}


NOTED = TWO.replace("after: smear}", "after: smear, info: {note: lie still, link: LINK, picture: PICTURE}}")


def test_notes_links_and_pictures_are_kept_with_the_model() -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    text = NOTED.replace("LINK", "https://example.org/scan").replace("PICTURE", f'"{picture}"')
    problem = parse_model(text)
    for one in (problem, parse_model(write_model(problem))):
        note = notes_of(one)["scan"]
        assert note.as_dict() == {"note": "lie still", "link": "https://example.org/scan", "picture": picture}
    assert notes_of(problem)["scan"].lines[-1] == "picture: in the model file"


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "http://example.org", "//example.org/x", "/etc/passwd", "file:///x", "data:text/html,x",
     "JavaScript:x", "vbscript:x", "a\\\\b", "https://a b"],
)  # fmt: skip
def test_a_link_that_may_lead_anywhere_is_refused(link: str) -> None:
    for place in ("LINK", "PICTURE"):
        text = NOTED.replace(place, f'"{link}"').replace("LINK", "sheet.html").replace("PICTURE", "one.png")
        with pytest.raises(ModelFileError, match=r"must be an https:// address or a path beside the file"):
            parse_model(text)


def test_what_is_known_is_what_would_be_believed_after_paying() -> None:
    """On random models: the belief is the same, and only money and caps differ."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        prior, likelihood = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(2), size=3)
        rows = {f"s{place}": row.tolist() for place, row in enumerate(likelihood)}
        problem = parse_model(
            json.dumps({
                "states": list(rows), "prior": prior.tolist(),
                "tests": {"a": {"cost": 1, "outcomes": ["x", "y"], "likelihood": rows}},
                "commits": {name: {other: float(other == name) for other in rows} for name in rows},
            }),
            language="json",
        )  # fmt: skip
        assert started(problem, None, [("a", "x")]).prior == pytest.approx(
            problem.belief(given=[("a", "x")]).beliefs[0]
        )


def test_branch_and_bound_goes_on_after_a_result_nobody_knows() -> None:
    problem = two()
    known = started(problem, {"ill": 0.3}, [("smear", "positive")])
    for one, given in ((problem, [("smear", "?")]), (known, []), (known, [("assay", "?")])):
        exact = advise(one, make_adviser(problem), given)
        found = advise(one, make_adviser(problem, planner="many"), given)
        assert (found.do, found.belief, found.spent) == (exact.do, exact.belief, exact.spent)

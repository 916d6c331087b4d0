"""A case's own start, unknown results and undo of any step in the API and on the page; what is carried away there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402
from bridge import case_advice as advise  # noqa: E402
from bridge import make_adviser, started  # noqa: E402
from rhoplan import make  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE
START = {"prior": {"disease": 0.3}, "known": [["sex", "male"]]}


def post(address: str, path: str, **body: Any) -> Any:
    return httpx.post(f"{address}/api/v1/{path}", json=body, timeout=serving.PATIENCE)


def test_the_api_starts_a_case_as_it_is_told(address: str) -> None:
    problem = make("chest-pain")
    given = [["troponin", "?"], ["age", "from-55"]]
    told = post(address, "advise", problem="chest-pain", given=given, **START)
    assert told.status_code == 200, told.text
    own = started(problem, {"disease": 0.3}, [("sex", "male")])
    expected = advise(own, make_adviser(problem), [(test, outcome) for test, outcome in given])
    reply = told.json()
    assert (reply["do"], reply["reason"], reply["spent"]) == (expected.do, expected.reason, expected.spent)
    assert reply["belief"] == pytest.approx(expected.belief)
    assert reply["waiting"] == {}
    other = post(address, "what-if", problem="chest-pain", given=given, flips=False, known=START["known"],
                 own_prior=START["prior"]).json()  # fmt: skip
    assert other["advice"]["do"] == expected.do
    assert not other["changed"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"prior": {"gout": 0.5}}, "prior.gout"), ({"known": [["sex", "x"]]}, "known.0.outcome"),
     ({"prior": {"disease": 2}}, "prior.disease")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["advise", "carry"])
def test_a_start_that_is_none_names_its_field(address: str, path: str, wrong: dict[str, Any], field: str) -> None:
    told = post(address, path, problem="chest-pain", **wrong)
    assert told.status_code == 422
    assert told.json()["error"]["field"] == field


def test_the_log_of_the_api_carries_the_start_and_replays(address: str) -> None:
    entries = [{"test": "troponin", "outcome": "?"}, {"unavailable": "age"}, {"commit": "treat"}]
    line = post(address, "journal", problem="chest-pain", entries=entries, **START)
    record = line.json()
    assert {name: record[name] for name in START} == START
    again = post(address, "replay", text=line.text).json()
    assert again["difference"] is None
    assert again["case"]["known"] == START["known"]


def test_thresholds_are_a_part_of_advice(address: str) -> None:
    told = post(address, "advise/parts", problem="chest-pain", parts=["first", "thresholds"]).text.splitlines()
    found = json.loads(told[1])
    assert found["kind"] == "exact"
    stretches = found["content"]["stretches"]
    assert [one["commit"] for one in stretches] == ["send-home", None, "treat"]
    assert found["content"]["test"] == stretches[0]["upper"] < found["content"]["treat"]


def test_the_plan_and_the_card_are_served_with_their_own_policy(address: str) -> None:
    get = f"{address}/api/v1/carry/screening-cascade"
    plan = httpx.get(get, params={"author": "A. Nurse"}, timeout=serving.PATIENCE)
    assert plan.headers["content-disposition"] == 'attachment; filename="screening-cascade.html"'
    assert "script-src 'sha256-" in plan.headers["content-security-policy"]
    assert "rhoplan carry screening-cascade --author &#x27;A. Nurse&#x27;" in plan.text
    card = httpx.get(get, params={"card": "true"}, timeout=serving.PATIENCE)
    assert "script" not in card.headers["content-security-policy"]
    assert "Chance of ill before any test" in card.text


def test_the_plan_and_the_card_of_a_case_start_where_it_stands(address: str) -> None:
    given = [["troponin", "?"]]
    plan = post(address, "carry", problem="chest-pain", given=given, **START)
    text = plan.json()["html"]
    for words in ("disease 30.0% (in the model", "known at the start, not paid for: sex male", "troponin not known"):
        assert words in text
    assert "rhoplan carry chest-pain --prior disease=0.3 --known sex=male --given &#x27;troponin=?&#x27;" in text
    held = json.loads(text.split("id='plan'>")[1].split("</script>")[0])
    advice = post(address, "advise", problem="chest-pain", given=given, **START).json()
    assert held["strings"][held["places"][0][held["fields"].index("do")]] == advice["do"]
    assert held["amounts"][0] == "11.10 CAD", "with the first price of blood tests"
    left = post(address, "carry", problem="chest-pain", unavailable=["age"], card=True, **START).json()["html"]
    assert "Not available: age" in left
    assert "rhoplan carry" not in left, "no command leaves a test out"


@pytest.mark.parametrize("page", [390], indirect=True, ids=["telephone"])
def test_a_case_of_its_own_on_the_page(page: Any) -> None:
    expect, steps = playwright.expect, page.locator(".log li")
    expect(page.locator(".thresholds dd")).to_have_count(3, timeout=PATIENCE)
    expect(page.locator(".test-note")).to_contain_text("typical", timeout=PATIENCE)
    page.click(".start summary")
    page.fill("[data-prior=disease]", "30")
    page.select_option("[data-known=sex]", "male")
    page.click("#set-start")
    expect(page.locator(".own-prior")).to_contain_text("not the model's: disease 30%", timeout=PATIENCE)
    expect(page.locator(".own-known")).to_contain_text("sex: male", timeout=PATIENCE)
    expect(page.locator(".log")).to_contain_text("spent 0 CAD", timeout=PATIENCE)
    page.keyboard.press("2")
    expect(steps).to_have_count(1, timeout=PATIENCE)
    page.click("[data-unknown]")
    expect(steps).to_have_count(2, timeout=PATIENCE)
    expect(steps.nth(1)).to_contain_text("result not known", timeout=PATIENCE)
    page.click("[data-undo='0']")
    expect(steps).to_have_count(1, timeout=PATIENCE)
    expect(steps.nth(0)).to_contain_text("result not known", timeout=PATIENCE)
    page.reload()
    expect(page.locator(".own-prior")).to_contain_text("disease 30%", timeout=PATIENCE)
    page.click("[data-tab='Report']")
    with page.expect_download() as saved:
        page.click("#save-plan")
    assert saved.value.suggested_filename == "chest-pain.html"
    plan = Path(saved.value.path()).read_text(encoding="utf-8")
    assert "known at the start, not paid for: sex male" in plan
    assert "entered before, and paid for: " in plan
    page.click("[data-tab='Case']")
    page.click("#new-case")
    expect(page.locator(".own-prior")).to_have_count(0, timeout=PATIENCE)


@pytest.mark.parametrize("page", [1280], indirect=True, ids=["wide"])
def test_waiting_tests_are_greyed_and_a_step_others_wait_for_stays(page: Any) -> None:
    expect = playwright.expect
    page.select_option("#model", "four-diseases")
    expect(page.locator("[data-waits='x-ray']")).to_contain_text("waits for listen-to-chest", timeout=PATIENCE)
    for count in (1, 2):
        page.keyboard.press("2" if count == 1 else "1")
        expect(page.locator(".log li")).to_have_count(count, timeout=PATIENCE)
    expect(page.locator("[data-waits]")).to_have_count(0, timeout=PATIENCE)
    page.expected.append("422")  # the browser notes the refusal
    page.click("[data-undo='0']")
    expect(page.locator("#problem")).to_contain_text("Step 1 cannot be taken back", timeout=PATIENCE)
    expect(page.locator("#problem")).to_contain_text("only after listen-to-chest", timeout=PATIENCE)
    expect(page.locator(".log li")).to_have_count(2, timeout=PATIENCE)

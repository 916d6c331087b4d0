"""`rhoplan uncertainty`, its address in the API, and the view of the page: the same numbers, and errors that help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge import main
from unsure import SMALL


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "unsure.yaml"
    path.write_text(SMALL)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_command_tells_all_of_it(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "uncertainty", file, "--samples", "200", "--cases-per-year", "1000")
    assert code == 0
    for part in ("right in", "95% interval", "Which study is worth making", "EUR a year", "One number at a time",
                 "First action:", "Net benefit", "n = 200, seed 0", "a study of smear"):  # fmt: skip
        assert part in out


def test_record_keeps_to_what_people_count(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "uncertainty", file, "--samples", "200", "--seed", "3", "--cases-per-year", "100",
                       "--map", "prior.ill", "loss.treat.well", "--json")  # fmt: skip
    told = json.loads(out)
    assert code == 0
    assert told["stake"] == "loss"
    assert 0 < told["total"]["low"] < told["total"]["mean"] < told["total"]["high"]
    assert told["everything"]["per_year"] == pytest.approx(100 * told["everything"]["value"])
    assert (told["everything"]["seed"], told["numbers"][0]["seed"]) == (3, None)
    assert [told["map"][side]["id"] for side in ("across", "down")] == ["prior.ill", "loss.treat.well"]
    assert sum(one["share"] for one in told["first_actions"]) == pytest.approx(1)
    assert told["words"] == []


def test_spread_is_called_an_assumption(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "uncertainty", "screening-cascade", "--spread", "10%", "--samples", "50")
    assert code == 0
    assert "Assumption: every number is taken as known to within 10%" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("screening-cascade",), "states no uncertain number"),
        (("screening-cascade", "--spread", "120%"), "above 0% and below 100%; it is 120%"),
        (("screening-cascade", "--spread", "10%", "--map", "prior.ill", "cost.x"), "'cost.x' is no uncertain number"),
        (("screening-cascade", "--spread", "10%", "--discount", "0.9"), "planned without discount"),
        (("rocksample:n=3,k=1", "--spread", "10%"), "several hidden things, moves or states that change"),
        (("screening-cascade", "--spread", "10%", "--seen", "strip=blue"), "no outcome 'blue'"),
    ],
)
def test_bad_requests_are_one_line(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "uncertainty", *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_advice_begins_with_a_line_on_doubt(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "advise", file, "--json", "--also", "uncertainty")
    part = json.loads(out)["parts"][-1]
    assert code == 0
    assert (part["part"], part["kind"], part["content"]["samples"]) == ("uncertainty", "estimated", 1000)
    assert 0 < part["content"]["share"] < 1


def test_advice_and_command_say_the_same_in_the_middle_of_a_case(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "advise", file, "--given", "smear=positive", "--json", "--also", "uncertainty")
    sure = json.loads(out)["parts"][-1]["content"]
    _, out, _ = run(capsys, "uncertainty", file, "--seen", "smear=positive", "--samples", "1000", "--json")
    told = json.loads(out)
    assert told["given"] == [["smear", "positive"]]
    assert told["curve"] is None
    assert (told["first"], told["chance_right"]) == (sure["action"], {"share": sure["share"], "se": sure["se"]})
    assert {name: told["total"][name] for name in sure["total"]} == sure["total"]
    code, out, _ = run(capsys, "uncertainty", file, "--given", "smear=positive", "--prior", "ill=2%", "--samples", "50")
    assert code == 0
    assert "After smear positive" in out


# -- API and page -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    httpx = pytest.importorskip("httpx")
    from serving import PATIENCE

    with httpx.Client(base_url=f"{address}/api/v1", timeout=PATIENCE) as session:
        yield session


def test_address_tells_what_the_command_tells(client: Any, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "uncertainty", file, "--samples", "100", "--json")
    assert client.post("models", json={"name": "unsure", "text": SMALL}).status_code == 200
    reply = client.post("uncertainty", json={"problem": "unsure", "samples": 100})
    assert reply.status_code == 200, reply.text
    expected = json.loads(out)
    assert {**reply.json(), "problem": ""} == {**expected, "problem": ""}


def test_address_takes_a_case_as_it_stands(client: Any) -> None:
    asked = {"problem": "security-lane", "samples": 100, "unavailable": ["scan"]}
    told = client.post("uncertainty", json=asked).json()
    assert told["unavailable"] == ["scan"]
    assert "scan" not in [one["action"] for one in told["first_actions"]]
    refused = client.post("uncertainty", json={**asked, "known": [["scan", "clear"]]})
    assert refused.status_code == 422
    assert refused.json()["error"]["field"].startswith("known")


def test_reply_is_typed(client: Any) -> None:
    from bridge import UncertaintyReply

    told = client.post("uncertainty", json={"problem": "security-lane", "samples": 50}).json()
    UncertaintyReply.model_validate(told, strict=True)
    described = client.get("openapi.json").json()["paths"]["/api/v1/uncertainty"]["post"]
    assert described["operationId"] == "uncertainty"
    assert described["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("UncertaintyReply")


@pytest.mark.parametrize(
    ("more", "field"), [({}, "spread"), ({"spread": 2}, "spread"), ({"spread": 0.1, "map": ["a", "b"]}, "map")]
)
def test_address_refuses_by_field(client: Any, more: dict[str, Any], field: str) -> None:
    reply = client.post("uncertainty", json={"problem": "screening-cascade", "samples": 50, **more})
    assert reply.status_code == 422
    assert reply.json()["error"]["field"] == field


def test_page_shows_and_asks_again(page: Any, address: str) -> None:
    """A model that states intervals, one that does not, and other settings."""
    from playwright.sync_api import expect

    from serving import PATIENCE

    patience = 1000 * PATIENCE
    page.locator("#model").select_option("security-lane")
    sure = page.locator("[data-sure]")
    expect(sure).to_contain_text("right in", timeout=patience)
    before = sure.inner_text()
    page.locator("[data-outcome]").first.click()
    expect(page.locator(".log li")).to_have_count(1, timeout=patience)
    expect(sure).to_contain_text("right in", timeout=patience)
    assert sure.inner_text() != before
    page.locator("[data-tab=Uncertainty]").click()
    expect(page.locator("main")).to_contain_text("Is the next action right?", timeout=patience)
    page.locator("[data-tab=Case]").click()
    page.locator("#undo").click()
    expect(page.locator(".log li")).to_have_count(0, timeout=patience)
    page.locator("[data-tab=Uncertainty]").click()
    expect(page.locator("[data-right]")).to_contain_text("scan is right in", timeout=patience)
    expect(page.locator("#unsure-spread")).to_have_value("", timeout=patience)
    expect(page.locator("[data-tornado] tbody tr").first).to_contain_text("swab", timeout=patience)
    page.locator("#unsure-spread").select_option("0.3")
    expect(page.locator("main")).to_contain_text("known to within 30% of itself", timeout=patience)
    page.locator("#unsure-cases").fill("1000")
    page.locator("#unsure-cases").press("Enter")
    expect(page.locator("[data-ranking]")).to_contain_text("a year", timeout=patience)
    page.locator("#unsure-across").select_option("cost.scan")
    expect(page.locator("[data-map]")).to_contain_text("cost of scan", timeout=patience)
    expect(page.locator("[data-curve] svg")).to_be_visible(timeout=patience)
    page.locator("#model").select_option("screening-cascade")
    expect(page.locator("main")).to_contain_text("known to within 10% of itself", timeout=patience)

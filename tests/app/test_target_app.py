"""Targets in the terminal, in the API and on the page: the same numbers, and refusals that say what could be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge import _guarded

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")
playwright = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")

import serving  # noqa: E402
from bridge import Edges, Met  # noqa: E402

PATIENCE = 1000 * serving.PATIENCE


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = _guarded(["target", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_terminal_tells_the_mix_the_plan_without_chance_and_the_price(run: Any) -> None:
    code, out, _ = run("screening-cascade", "--miss", "1 in 1,000", "--frontier", "--tree")
    assert code == 0
    told = " ".join(out.split())
    assert "69.9% of cases follow plan A" in told
    assert "acts as if a case of ill that is missed cost 84,513 EUR" in told
    assert "Without drawing lots: one plan" in told
    assert "against cases missed (ill): 7 corners" in told
    assert out.count("run lab-assay for 60 EUR") > 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("screening-cascade",), "a target is needed"),
        (("screening-cascade", "--miss", "often"), "a share reads"),
        (("screening-cascade", "--miss", "1%", "--miss", "2%"), "must name states"),
        (("screening-cascade", "--spend", "20.000"), "'20.000' can be 20 or 20,000: write 20 or 20000"),
        (("screening-cascade", "--spend", "12,5"), "'12,5' has a decimal comma: write 12.5"),
        (("screening-cascade", "--miss", "ill=0,1%"), "'0,1%' has a decimal comma: write 0.1%"),
        (("screening-cascade", "--specific", "95"), "this is '95': write 95%"),
        (("tiger-doors", "--miss", "1%"), "needs the state it is about"),
        (("tiger-doors", "--wrong", "1%"), "the lowest reachable share of wrong decisions is 2.7%"),
        (("rocksample", "--wrong", "1%"), "not an observe-then-commit problem"),
    ],
)
def test_what_makes_no_sense_or_cannot_be_kept_is_one_line(run: Any, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_the_api_says_what_the_command_says_and_what_openapi_promises(run: Any, address: str) -> None:
    with httpx.Client(base_url=f"{address}/api/v1", timeout=serving.PATIENCE) as client:
        asked = {"problem": "four-diseases", "miss": {"pneumonia": "2%"}, "trees": True}
        found = client.post("/target", json=asked).json()
        Met.model_validate(found)
        command = ("four-diseases", "--miss", "pneumonia=2%", "--tree", "--json")
        assert json.loads(run(*command)[1]) == found
        edges = client.post("/frontier", json={"problem": "four-diseases", "state": "flu"}).json()
        Edges.model_validate(edges)
        assert [edge["kind"] for edge in edges["frontiers"]] == ["miss", "false-alarm"]
        asked = {"problem": "screening-cascade", "lower_set": True}
        whole = client.post("/frontier", json=asked).json()["lower_set"]
        assert whole == json.loads(run("screening-cascade", "--lower-set", "--json")[1])["lower_set"]
        assert whole["complete"]
        refused = client.post(
            "/target", json={"problem": "screening-cascade", "false_alarm": "1%", "sensitive": "99.9%"}
        )
        assert refused.status_code == 422
        assert refused.json()["error"]["field"] == "false_alarm"
        assert "the lowest reachable share of false alarms" in refused.json()["error"]["message"]
        paths = client.get("/openapi.json").json()["paths"]
        names = [paths[f"/api/v1/{path}"]["post"]["operationId"] for path in ("target", "frontier")]
        assert names == ["meet_targets", "draw_frontier"]


def test_the_page_keeps_a_target_or_says_what_could_be_kept(page: Any, address: str) -> None:
    expect = playwright.expect
    page.goto(f"{address}/#screening-cascade/Targets")
    page.wait_for_selector("[data-edge=miss] .chart .own")
    assert page.locator("[data-edge=miss] .chart .point").count() == 7
    page.click("#lower-set")
    expect(page.locator("[data-corners='10'] .point")).to_have_count(10, timeout=PATIENCE)
    page.fill("#target-miss", "1 in 1,000")
    expect(page.locator("[data-met='2']")).to_contain_text("cost 84,513 EUR", timeout=PATIENCE)
    expect(page.locator("[data-edge=miss] .aimed")).to_have_count(1, timeout=PATIENCE)
    page.fill("#target-specific", "99.9%")
    page.expected = ["422"]
    expect(page.locator("[data-refused=specific]")).to_contain_text("can be at most 99.62%", timeout=PATIENCE)
    page.get_by_role("button", name="No target: Specific, at least").click()
    expect(page.locator("[data-met='2']")).to_contain_text("26.89", timeout=PATIENCE)
    page.locator("details", has_text="Without chance: the pathway").last.locator("summary").click()
    expect(page.locator("pre", has_text="run strip for 4 EUR").last).to_be_visible(timeout=PATIENCE)

"""The HTTP API: the command line's numbers, errors with their field, limits that hold, no way to the file system."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")

from bridge import (  # noqa: E402
    FORMATS,
    PROBLEMS,
    WORKED_MODELS,
    Case,
    Desk,
    Library,
    Reply,
    Settings,
    Source,
    UnknownModel,
    Upload,
    check_name,
    dotted,
    find_source,
    main,
    make_agent,
    model_record,
    overridden,
    replay,
    success,
    write_model,
)
from bridge import WorkerJob as Job  # noqa: E402
from bridge import decide_at as decide  # noqa: E402
from rhoplan import ProblemError, RhoplanError, make  # noqa: E402
from serving import PATIENCE, server  # noqa: E402
from test_drn_files import MAZE  # noqa: E402
from test_pomdp_files import TIGER  # noqa: E402
from test_pomdpx_files import whole  # noqa: E402
from weak import weak_tests  # noqa: E402

TOSS = {"cost": 1, "outcomes": ["head", "tail"], "likelihood": {"fair": [0.5, 0.5], "bent": [0.9, 0.1]}}
COIN = {"states": ["fair", "bent"], "tests": {"toss": TOSS}, "commits": {"keep": [10, -20], "drop": [0, 5]}}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = ("--memory", "1", "--nodes", "200000", "--workers", "3")
    with server(*options) as address, httpx.Client(base_url=f"{address}/api/v1", timeout=PATIENCE) as session:
        yield session


@pytest.fixture
def post(client: Any) -> Any:
    def call(path: str, **body: Any) -> Any:
        reply = client.post(path, json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    return call


@pytest.fixture
def refuse(client: Any) -> Any:
    """The status and the error of a request that must be refused."""

    def call(path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        reply = client.post(path, json=body)
        assert 400 <= reply.status_code < 500, reply.text
        error: dict[str, Any] = reply.json()["error"]
        assert error["message"]
        assert "field" in error
        return reply.status_code, error

    return call


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Any:
        with pytest.raises(SystemExit) as end:
            main([*arguments, "--json"])
        out, err = capsys.readouterr()
        assert end.value.code == 0, err
        return json.loads(out)

    return call


def assert_same(here: Any, there: Any) -> None:
    if isinstance(there, dict):
        assert list(here) == list(there)
        for key in there:
            assert_same(here[key], there[key])
    elif isinstance(there, list):
        assert len(here) == len(there)
        for one, other in zip(here, there, strict=True):
            assert_same(one, other)
    elif isinstance(there, float):
        assert here == pytest.approx(there, abs=1e-12, rel=1e-12)
    else:
        assert here == there


# -- the command line's keys and numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        (
            {"problem": "tiger", "agent": "efe", "horizon": 6, "given": [["listen", "hear-left"]]},
            ("tiger", "--agent", "efe", "--horizon", "6", "--given", "listen=hear-left"),
        ),
        ({"problem": "diagnosis:n=8", "agent": "planning"}, ("diagnosis:n=8", "--agent", "planning")),
        ({"problem": "chest-pain", "unit": "bits", "weight": 3, "agent": "planning-ig"},
         ("chest-pain", "--unit", "bits", "--weight", "3", "--agent", "planning-ig")),
        ({"problem": "rocksample", "given": [["south", "done"]]}, ("rocksample", "--given", "south=done")),
        ({"problem": "tiger", "precision": 0.7}, ("tiger", "--precision", "0.7")),
        ({"problem": "tiger", "utility": "target-belief", "target": [0.3, 0.7]},
         ("tiger", "--utility", "target-belief", "--target", "0.3,0.7")),
    ],
)  # fmt: skip
def test_decide_gives_what_the_command_line_gives(
    post: Any, command: Any, body: dict[str, Any], arguments: tuple[str, ...]
) -> None:
    assert_same(post("decide", **body), command("decide", *arguments))


def test_evaluate_gives_what_the_command_line_gives(post: Any, command: Any) -> None:
    assert_same(post("evaluate", problem="tiger"), command("evaluate", "tiger"))
    several = post("evaluate", problem="four-diseases", agent="efe,planning", world="four-diseases")
    assert_same(several, command("evaluate", "four-diseases", "--agent", "efe,planning", "--world", "four-diseases"))


def test_solve_gives_what_the_command_line_gives(post: Any, command: Any) -> None:
    here, there = post("solve", problem="tiger", weight=1), command("solve", "tiger", "--weight", "1")
    assert here.pop("seconds") >= 0
    assert there.pop("seconds") >= 0
    assert_same(here, there)


@pytest.mark.parametrize("method", [None, "points", "grids"])
def test_a_check_of_bounds_is_told_as_the_command_line_tells_it(post: Any, command: Any, method: str | None) -> None:
    wish = {"method": method} if method else {}
    here = post("solve", problem="tiger", check=True, **wish)
    there = command("solve", "tiger", "--check", *(("--method", method) if method else ()))
    assert here.keys() == there.keys()
    assert here["certificate"].keys() == there["certificate"].keys()
    assert here["certificate"]["holds"]
    assert here["method"] == there["method"] == (method or "points")
    assert max(here["lower"], there["lower"]) <= min(here["upper"], there["upper"])


def test_what_is_no_problem_is_told_what_one_is(refuse: Any) -> None:
    for problem in (5, None, True, ["tiger"]):
        _, error = refuse("solve", problem=problem)
        assert error["message"] == "a problem must be a name, or a whole model as an object"


def test_models_are_listed_with_everything_that_ships(client: Any, command: Any) -> None:
    listed = client.get("models").json()
    names = ("problems", "models", "agents", "planners", "utilities", "settings")
    assert_same({key: listed[key] for key in names}, command("list"))


@pytest.mark.parametrize("name", [*WORKED_MODELS, *PROBLEMS])
def test_every_problem_can_be_shown_and_stepped(client: Any, post: Any, name: str) -> None:
    shown = client.get(f"models/{name}").json()
    assert shown["problem"] == name
    assert (shown["text"] is not None) == shown["flat"]
    here = post("situation", problem=name)
    assert here["actions"]
    decided = post("decide", problem=name)
    action = next(row for row in here["actions"] if row["name"] == decided["choice"])
    outcome = action["outcomes"][-1]["outcome"]
    after = post("situation", problem=name, given=[[action["name"], outcome]])
    assert after["paid"] == pytest.approx(action["reward"], abs=30)


# -- advice -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(WORKED_MODELS))
def test_parts_of_advice_add_up(post: Any, name: str) -> None:
    advice = post("advise", problem=name)
    for row in advice["options"]:
        assert row["net"] == pytest.approx(-row["cost"] + row["decides"] + row["weighted"], abs=1e-9)
    assert sum(row["probability"] for row in advice["results"]) == pytest.approx(1)
    assert advice["ahead"]["tests_90"] >= 0


def parts_of(client: Any, **body: Any) -> list[dict[str, Any]]:
    """The lines of the stream, all but the last, which says that it ends."""
    with client.stream("POST", "advise/parts", json=body) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "application/x-ndjson"
        *lines, last = [json.loads(line) for line in reply.iter_lines()]
    assert last == {"part": "end", "kind": "exact", "words": "", "content": None}
    return lines


def test_advice_comes_in_parts_that_are_the_advice(client: Any, post: Any) -> None:
    given = [["age", "from-55"]]
    whole = post("advise", problem="chest-pain", given=given)
    first, ahead, plain = parts_of(client, problem="chest-pain", given=given)
    assert [(one["part"], one["kind"]) for one in (first, ahead, plain)] == list(whole["kinds"].items())
    assert first["content"].items() <= whole.items()
    assert whole["ahead"].items() <= ahead["content"].items()
    assert plain["content"] == {"do": whole["cost_only"]}
    (drawn,) = parts_of(client, problem="chest-pain", given=given, parts=["pathway"])
    assert drawn["content"] == post("pathway", problem="chest-pain", given=given)


def test_parts_of_dozens_of_tests_say_their_kind_and_what_is_late_is_missing(client: Any, post: Any) -> None:
    post("models", name="dozens", text=write_model(weak_tests(40)))
    first, ahead = parts_of(client, problem="dozens", parts=["first", "ahead"])
    assert (first["kind"], ahead["kind"]) == ("bounded", "bounded")
    lower, upper = ahead["content"]["value_bounds"]
    assert lower <= upper
    assert set(first["content"]["bounds"]) >= {option["test"] for option in first["content"]["options"]}
    late, told = parts_of(
        client, problem="dozens", weight=3, agent="planning-ig", parts=["first", "ahead"], limits={"first": 1e-4}
    )
    assert (late["kind"], late["content"]) == ("missing", None)
    assert "longer than 0.0001 seconds" in late["words"]
    assert told["kind"] == "bounded", "the next part comes all the same"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"problem": "tiger", "parts": ["everything"]}, "parts.0"),
        ({"problem": "tiger", "parts": []}, "parts"),
        ({"problem": "tiger", "limits": {"first": 0}}, "limits.first"),
        ({"problem": "tiger", "given": [["smell", "x"]]}, "given.0.test"),
        ({"problem": "rocksample"}, "problem"),
    ],
)
def test_wrong_requests_for_parts_are_refused_before_the_stream(refuse: Any, body: dict[str, Any], field: str) -> None:
    status, error = refuse("advise/parts", **body)
    assert (status, error["field"]) == (422, field)


def test_advice_counts_costs_unless_somebody_puts_a_price(post: Any, client: Any) -> None:
    def whose(found: dict[str, Any]) -> tuple[str, float]:
        return found["agent"], found["weight"]

    priced = {**client.get("models/screening-cascade").json()["record"]}
    assert whose(post("advise", problem="chest-pain")) == ("planning", 0)
    assert whose(post("advise", problem="chest-pain", weight=5)) == ("planning-ig", 5)
    assert whose(post("advise", problem="chest-pain", agent="efe", weight=0)) == ("efe", 0)
    assert whose(post("decide", problem="tiger")) == ("efe", 1)
    text = client.get("models/screening-cascade").json()["text"] + "\ninformation: {price: 25, per: nat}\n"
    post("models", name="priced", text=text)
    assert whose(post("advise", problem="priced")) == ("planning-ig", 25)
    assert client.get("models/priced").json()["price"] == 25
    assert priced["name"] == "screening-cascade"


def test_doubts_about_a_model_are_told(post: Any, client: Any) -> None:
    text = client.get("models/screening-cascade").json()["text"].replace("sensitivity: 92%", "sensitivity: 2%")
    assert [one["kind"] for one in post("models", name="doubtful", text=text)["cautions"]] == ["reversed test"]
    assert [one["about"] for one in client.get("models/doubtful").json()["cautions"]] == ["strip"]


def test_a_test_that_is_not_available_is_not_advised(post: Any) -> None:
    first = post("advise", problem="printer")["do"]
    other = post("advise", problem="printer", unavailable=[first])
    assert other["do"] != first
    assert first not in [row["test"] for row in other["options"]]


def test_an_inline_model_is_planned_like_an_uploaded_one(client: Any, post: Any) -> None:
    text = json.dumps(COIN)
    assert client.post("models", json={"name": "coin", "text": text, "language": "json"}).status_code == 200
    inline, kept = post("advise", problem=COIN), post("advise", problem="coin")
    assert_same({**inline, "problem": ""}, {**kept, "problem": ""})
    assert "coin" in [row["name"] for row in client.get("models").json()["uploaded"]]
    assert client.get("models/coin").json()["text"] == text
    assert client.delete("models/coin").status_code == 200
    assert client.post("advise", json={"problem": "coin"}).status_code == 404


def test_pathway_leaves_add_up(post: Any) -> None:
    found = post("pathway", problem="four-diseases")
    leaves: list[dict[str, Any]] = []

    def walk(node: dict[str, Any]) -> None:
        if node["kind"] != "test":
            leaves.append(node)
        for outcome in node.get("outcomes", []):
            walk(outcome["child"])

    walk(found["root"])
    assert sum(leaf["share"] for leaf in leaves) == pytest.approx(1, abs=1e-9)
    cost = sum(leaf["share"] * leaf["cost"] for leaf in leaves)
    assert cost == pytest.approx(found["expected"]["cost"], abs=1e-6)


def test_what_if_says_when_the_advice_changes(post: Any) -> None:
    same = post("what-if", problem="screening-cascade", flips=False)
    assert not same["changed"]
    sure = post("what-if", problem="screening-cascade", prior={"well": 0.00001, "ill": 0.99999}, flips=False)
    assert sure["changed"]
    assert sure["advice"]["do"] == "treat"
    assert sure["without_changes"] == same["advice"]["do"]
    dear = post("what-if", problem="screening-cascade", costs={"strip": 500}, flips=False)
    assert dear["advice"]["do"] != "strip"


def test_what_if_finds_the_flip_and_it_holds_on_both_sides(post: Any) -> None:
    found = post("what-if", problem="screening-cascade", only=["cost"])
    flip = next(row for row in found["flips"] if row["id"] == "cost.strip")
    assert flip["up"]["status"] == "flips"
    for value, expected in ((flip["up"]["before"], flip["now"]), (flip["up"]["beyond"], flip["up"]["then"])):
        for change in ({"costs": {"strip": value}}, {"values": {flip["id"]: value}}):
            moved = post("what-if", problem="screening-cascade", flips=False, **change)
            assert moved["advice"]["do"] == expected
    nearest = [row["nearest"] for row in found["flips"] if row["nearest"] is not None]
    assert min(nearest) == min(
        row[way]["distance"] for row in found["flips"] for way in ("down", "up") if row[way]["value"]
    )


def test_what_if_tells_numbers_by_their_ids(post: Any) -> None:
    found = post("what-if", problem="four-diseases", flips=False, most=2)
    rows = {row["id"]: row for row in found["parameters"]}
    assert {row["kind"] for row in rows.values()} == set(found["counts"])
    assert all(row["value"] == row["own"] for row in rows.values())
    problem = make("four-diseases")
    first, second, third = problem.states[:3]
    assert [row["names"] for row in rows.values() if row["kind"] == "prior"] == [[first], [second]]
    assert found["counts"]["prior"] == len(problem.states)
    moved = post("what-if", problem="four-diseases", flips=False, values={f"prior.{first}": 0.9, "weight": 3})
    rows = {row["id"]: row for row in moved["parameters"]}
    assert (rows[f"prior.{first}"]["value"], rows["weight"]["value"], moved["advice"]["weight"]) == (0.9, 3, 3)
    rest = (rows[f"prior.{second}"], rows[f"prior.{third}"])
    assert rest[0]["value"] / rest[1]["value"] == pytest.approx(rest[0]["own"] / rest[1]["own"])
    assert rest[0]["value"] == pytest.approx(0.1 * rest[0]["own"] / (1 - rows[f"prior.{first}"]["own"]))
    assert rows[f"prior.{first}"]["own"] == problem.prior[0]


def test_numbers_that_a_page_shows_are_told(post: Any) -> None:
    """What the page once computed by itself: commits at a belief, chances of outcomes, differences, losses."""
    problem, given = make("screening-cascade"), []
    advice = post("advise", problem="screening-cascade", given=given)
    assert advice["entropy_bits"] == pytest.approx(advice["entropy"] / np.log(2))
    belief = np.array([advice["belief"][state] for state in problem.states])
    rows = {row["commit"]: row for row in advice["commits"]}
    assert [row["value"] for row in advice["commits"]] == sorted((r["value"] for r in rows.values()), reverse=True)
    for commit, right in zip(problem.flat.commits, problem.flat.right, strict=True):
        row = rows[commit.name]
        assert row["value"] == pytest.approx(belief @ commit.reward)
        assert row["stake"] == -row["value"]  # this model counts losses
        assert row["wrong"] == pytest.approx(belief @ (1 - right), abs=1e-12)
        best = next((option["net"] for option in advice["options"] if option["test"] == advice["do"]), 0.0)
        assert row["behind"] == pytest.approx(best - (row["value"] - advice["stop"]["value"]))
    for option in advice["options"]:
        test = next(test for test in problem.flat.tests if test.name == option["test"])
        told = {row["outcome"]: row["probability"] for row in option["outcomes"]}
        assert told == pytest.approx(dict(zip(test.outcomes, belief @ test.likelihood, strict=True)))
        assert option["behind"] == pytest.approx(best - option["net"])
    decision = post("decide", problem="tiger")
    chosen = next(row for row in decision["actions"] if row["name"] == decision["choice"])
    assert all(row["behind"] == pytest.approx(chosen["value"] - row["value"]) for row in decision["actions"])
    here = post("situation", problem="tiger", given=[["listen", "hear-left"]])
    assert here["paid"] == -1
    assert all(
        row["in_all"] == here["paid"] + row["reward"] and row["cost"] == -row["reward"] for row in here["actions"]
    )


def test_compare_has_rows_and_a_frontier(post: Any) -> None:
    found = post("compare", problem="screening-cascade")
    assert {"commit-now", "cost-only", "asked"} <= {row["key"] for row in found["rows"]}
    assert found["frontier"]["points"]
    rows = {row["key"]: row for row in found["rows"]}
    assert found["cost_only_better_by"] == pytest.approx(
        rows["cost-only"]["reward"] - rows["asked"]["reward"], abs=1e-6
    )
    assert all(row["stake"] == pytest.approx(row["loss"]) for row in rows.values() if row["reward"] is not None)
    low, high = rows["optimum"]["stake_bounds"]
    assert (low, high) == (-rows["optimum"]["upper"], -rows["optimum"]["lower"])
    points = found["frontier"]["points"]
    assert points[found["frontier"]["best"]]["reward"] == max(point["reward"] for point in points)
    assert all(point["stake"] == -point["reward"] for point in points)


def test_a_plan_found_by_bounds_is_compared_without_a_frontier(post: Any) -> None:
    found = post("compare", problem=model_record(weak_tests(40)))
    assert found["frontier"] is None
    assert {"commit-now", "cost-only", "asked"} <= {row["key"] for row in found["rows"]}


def test_every_first_action_has_its_runner_up_beside_it(client: Any) -> None:
    asked = {"problem": "chest-pain", "agent": "planning-ig", "near": 0.02}
    advice, pathway, what_if, decided = (
        client.post(path, json=asked | more).json()
        for path, more in (("advise", {}), ("pathway", {}), ("what-if", {"flips": False}), ("decide", {}))
    )
    for found in (advice, pathway, what_if["advice"], decided):
        assert found["about_as_good"] is True
        assert found["beside"].startswith(f"about as good: {advice['do']} and {found['runner_up']}, ")
    assert not client.post("advise", json=asked | {"near": 0}).json()["about_as_good"]
    assert client.post("advise", json=asked | {"near": 1.5}).json()["error"]["field"] == "near"
    line = client.post("journal", json=asked | {"entries": [{"test": advice["do"], "outcome": "typical"}]}).json()
    assert line["agent"]["near"] == 0.02
    assert line["entries"][0]["advised"]["beside"] == advice["beside"]
    words = advice["beside"].replace("about", "About", 1)
    assert words in client.get("report/chest-pain", params={"near": 0.02, "weight": 1}).text
    assert words not in client.get("report/chest-pain", params={"near": 0, "weight": 1}).text


def test_the_report_is_a_page_of_its_own_that_loads_nothing(client: Any) -> None:
    reply = client.get("report/screening-cascade", params={"weight": 2})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"].startswith("text/html")
    assert "script" not in reply.headers["content-security-policy"]
    assert "<script" not in reply.text
    assert "screening-cascade" in reply.text
    assert client.get("report/rocksample").status_code == 422
    assert client.get("report/nothing").status_code == 404


# -- cases ------------------------------------------------------------------------------------------------------------

MINE = {"name": "planning-ig", "horizon": 2, "weight": 30.0}
ENTRIES: list[dict[str, Any]] = [
    {"test": "vessels", "outcome": "one", "why": "it was there already"},
    {"unavailable": "thallium-scan"},
    {"test": "sex", "outcome": "male", "agent": MINE},
    {"commit": "send-home", "why": "the patient – Zoë – wishes it"},
]


def test_a_case_is_written_as_the_terminal_writes_it(post: Any, tmp_path: Path) -> None:
    problem = make("chest-pain")
    agent = make_agent("planning-ig", problem, weight=3)
    case = Case(problem, agent)
    for entry in ENTRIES:
        case.ask(make_agent("planning-ig", problem, horizon=2, weight=30) if "agent" in entry else agent)
        case.take(entry)
    case.ask(agent)
    found = post("journal", problem="chest-pain", agent="planning-ig", weight=3, entries=ENTRIES)
    assert_same(found, json.loads(case.line()))
    assert found["entries"][0]["advised"]["do"] != "vessels"
    assert not found["entries"][0]["followed"]
    assert found["entries"][3]["why"] == ENTRIES[3]["why"]
    assert found["entries"][2]["agent"]["weight"] == 30
    (tmp_path / "log").write_text(json.dumps(found))
    assert replay(tmp_path / "log") == (1, None)


def test_a_saved_case_is_computed_again_and_its_model_is_found(
    client: Any, post: Any, command: Any, tmp_path: Path
) -> None:
    line = json.dumps(post("journal", problem="chest-pain", agent="planning-ig", weight=3, entries=ENTRIES))
    found = post("replay", text=line)
    assert (found["cases"], found["difference"], found["known"]) == (1, None, "chest-pain")
    assert found["case"] == json.loads(line)
    (tmp_path / "log").write_text(line)
    told = {"cases": 1, "difference": None, "faults": [], "sealed": False}
    assert command("replay", str(tmp_path / "log")) == told
    other = json.loads(line)
    other["entries"][1]["advised"]["do"] = "cholesterol"
    found = post("replay", text=f"{line}\n{json.dumps(other)}\n")
    assert found["cases"] == 2
    assert (found["difference"]["case"], found["difference"]["step"]) == (2, 2)


def test_a_case_of_an_uploaded_model_can_be_opened_where_the_model_is_gone(client: Any, post: Any) -> None:
    post("models", name="my coin", text=json.dumps(COIN), language="json")
    entries = [{"test": "toss", "outcome": "head"}, {"commit": "drop"}]
    line = json.dumps(post("journal", problem="my coin", entries=entries))
    assert post("replay", text=line)["known"] == "my coin"
    post("models", name="my coin", text=json.dumps({**COIN, "unit": "EUR"}), language="json")
    assert post("replay", text=line)["known"] is None, "another model has the name now"
    assert client.delete("models/my coin").status_code == 200
    found = post("replay", text=line)
    assert found["difference"] is None
    assert found["known"] is None
    post("models", name="again", text=found["case"]["model"])
    assert client.get("models/again").json()["digest"] == found["case"]["digest"]
    client.delete("models/again")
    inline = post("journal", problem=COIN, entries=entries)
    assert post("replay", text=json.dumps(inline))["difference"] is None


def test_a_case_is_kept_and_replayed_with_its_utility(post: Any, refuse: Any) -> None:
    asked = {"problem": "tiger", "agent": "planning-ig", "weight": 3, "utility": "negative-entropy"}
    line = post("journal", **asked, entries=[RESULT, {"commit": "open-right"}])
    assert line["agent"]["utility"] == "negative-entropy"
    assert post("replay", text=json.dumps(line))["difference"] is None
    line["agent"]["utility"] = "information"
    assert post("replay", text=json.dumps(line))["difference"]["what"] == "the advice differs"
    assert refuse("decide", problem="tiger", utility="joy")[1]["field"] == "utility"
    assert refuse("decide", problem="tiger", utility="target-belief")[1]["field"] == "target"


RESULT = {"test": "listen", "outcome": "hear-left"}


@pytest.mark.parametrize(
    ("entries", "field"),
    [
        ([{}], "entries.0"),
        ([RESULT, {"test": "listen"}], "entries.1"),
        ([{**RESULT, "commit": "open-left"}], "entries.0"),
        ([{"unavailable": "listen", "commit": "open-left"}], "entries.0"),
        ([{**RESULT, "who": "me"}], "entries.0.who"),
        ([{**RESULT, "why": 3}], "entries.0.why"),
        ([{**RESULT, "agent": {"name": "efe"}}], "entries.0.agent.horizon"),
        ([{**RESULT, "agent": {"name": "nobody", "horizon": 2, "weight": 1}}], "entries.0.agent"),
        (
            [{**RESULT, "agent": {"name": "efe", "horizon": 2, "weight": 1, "precision": 1}}],
            "entries.0.agent.precision",
        ),
        (
            [{**RESULT, "agent": {"name": "efe", "horizon": 2, "weight": 1, "planner": "mcts"}}],
            "entries.0.agent.planner",
        ),
        ([RESULT, {"test": "listen", "outcome": "purr"}], "entries.1.outcome"),
        ([RESULT, {"test": "smell", "outcome": "bad"}], "entries.1.test"),
        ([{"unavailable": "smell"}], "entries.0.unavailable"),
        ([{"unavailable": "listen"}, RESULT], "entries.1.test"),
        ([{"commit": "run"}], "entries.0.commit"),
        ([{"commit": "open-left"}, RESULT], "entries.1"),
        ([RESULT] * 201, "entries"),
        ("listen", "entries"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(refuse: Any, entries: Any, field: str) -> None:
    status, error = refuse("journal", problem="tiger", entries=entries)
    assert (status, error["field"]) == (422, field)
    assert not error["message"].startswith("Value error")


def test_a_text_that_is_no_case_is_refused(refuse: Any, post: Any) -> None:
    record = post("journal", problem="tiger", entries=[RESULT])
    text = "states: [a\n"
    broken = {"model": text, "digest": hashlib.sha256(text.encode()).hexdigest()}
    for wrong in ("", "  \n", "{", "[]", "7", '{"a": 1}', "\u0000", "[" * 50_000,
                  json.dumps({**record, "entries": [{}]}), json.dumps({**record, **broken}),
                  json.dumps({**record, "agent": {**record["agent"], "name": "x"}}),
                  json.dumps({**record, "agent": {**record["agent"], "horizon": 10**6}}),
                  json.dumps({**record, "agent": {**record["agent"], "planner": "pomcp"}})):  # fmt: skip
        status, error = refuse("replay", text=wrong)
        assert (status, error["field"]) == (422, "text")
    assert refuse("replay")[1]["field"] == "text"
    assert refuse("journal", problem="rocksample", entries=[])[0] == 422
    assert refuse("journal", problem="nothing", entries=[])[0] == 404


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("decide", {"problem": "no-such"}, 404, "problem"),
        ("decide", {"problem": "tiger", "horizon": 0}, 422, "horizon"),
        ("decide", {"problem": "tiger", "agent": "nobody"}, 422, "agent"),
        ("decide", {"problem": "tiger", "colour": "red"}, 422, "colour"),
        ("decide", {"problem": "tiger:claws=4"}, 422, "problem.claws"),
        ("decide", {"problem": "tiger:claws"}, 422, "problem"),
        ("decide", {"problem": "tiger", "given": [["listen", "purr"]]}, 422, "given.0.outcome"),
        ("decide", {"problem": "tiger", "given": [["smell", "bad"]]}, 422, "given.0.test"),
        ("advise", {"problem": "tiger", "given": [["listen", "hear-left"], ["smell", "x"]]}, 422, "given.1.test"),
        ("decide", {"problem": "tiger", "given": [["listen"]]}, 422, "given.0.1"),
        ("decide", {}, 422, "problem"),
        ("advise", {"problem": "tiger", "unavailable": ["smell"]}, 422, "unavailable"),
        ("advise", {"problem": "rocksample"}, 422, "problem"),
        ("solve", {"problem": "tiger", "gap": 0}, 422, "gap"),
        ("what-if", {"problem": "tiger", "prior": [0.5, 0.6]}, 422, "prior"),
        ("what-if", {"problem": "tiger", "prior": {"tiger-left": 1}}, 422, "prior"),
        ("what-if", {"problem": "tiger", "costs": {"purr": 1}}, 422, "costs.purr"),
        ("what-if", {"problem": "tiger", "values": {"cost.purr": 1}}, 422, "values.cost\\.purr"),
        ("what-if", {"problem": "tiger", "values": {"cost.listen": -1}}, 422, "values.cost\\.listen"),
        ("what-if", {"problem": "tiger", "only": ["first price"]}, 422, "only.0"),
        ("what-if", {"problem": "tiger", "costs": {"listen": 1e101}}, 422, "costs.listen"),
        ("what-if", {"problem": "tiger", "rewards": {"open-left": {"cat": 1}}}, 422, "rewards.open-left.cat"),
        (
            "what-if",
            {"problem": "tiger", "rewards": {"open-left": {"tiger-left": -1e101}}},
            422,
            "rewards.open-left.tiger-left",
        ),
        ("advise", {"problem": "tiger", "agent": "planning-ig", "weight": 1.7e308, "unit": "bits"}, 422, "weight"),
        ("evaluate", {"problem": "tiger", "world": "no-such"}, 404, "world"),
        ("evaluate", {"problem": "tiger", "world": 5}, 422, "world"),
        ("solve", {"problem": 5}, 422, "problem"),
        ("solve", {"problem": "tiger", "check": True, "method": "reveal"}, 422, "check"),
        ("solve", {"problem": "tiger", "method": "guess"}, 422, "method"),
        ("advise", {"problem": "tiger", "precision": 1}, 422, "precision"),
        ("advise", {"problem": "tiger", "agent": "efe,planning"}, 422, "agent"),
        ("advise", {"problem": {"states": ["a"], "commits": {"x": {"a": "much"}}}}, 422, "problem.commits.x.a"),
        ("advise", {"problem": {"states": ["a"], "commits": {"x": ["much"]}}}, 422, "problem.commits.x.0"),
        ("advise", {"problem": {"states": ["a"]}}, 422, "problem"),
        ("evaluate", {"problem": "tiger", "world": {"states": ["a"], "commits": {"x": [-1], "y": [0]}}}, 422, "world"),
        ("evaluate", {"problem": "tiger", "world": {"states": ["a", "a"]}}, 422, "world.states.1"),
        ("models", {"name": "../x", "text": "states: [a]"}, 422, "name"),
        ("models", {"name": "tiger", "text": "states: [a]"}, 422, "name"),
    ],
)
def test_an_error_names_its_field(refuse: Any, path: str, body: dict[str, Any], status: int, field: str) -> None:
    found, error = refuse(path, **body)
    assert (found, error["field"]) == (status, field)


@pytest.mark.parametrize("path", ["decide", "evaluate", "advise", "pathway", "compare", "what-if"])
def test_no_file_of_the_server_is_opened_as_an_agent(refuse: Any, tmp_path: Path, path: str) -> None:
    policy = tmp_path / "tiger.policy"
    policy.write_text("no policy")
    for file in (policy, tmp_path / "none"):  # that it is there, or what it is, is not told either
        status, error = refuse(path, problem="tiger", agent=f"solved:{file}")
        assert (status, error["field"]) == (422, "agent")
        assert error["message"].endswith("or a rule of the problem; the server opens no files")
    several = f"planning,solved:{policy}"
    assert path != "evaluate" or "opens no files" in refuse(path, problem="tiger", agent=several)[1]["message"]


def test_no_file_of_the_server_is_opened_for_a_kept_case(post: Any, refuse: Any, tmp_path: Path) -> None:
    kept = post("journal", problem="tiger", entries=[RESULT])
    (entry,), who = kept["entries"], kept["agent"] | {"name": f"solved:{tmp_path / 'tiger.policy'}"}
    own = {name: value for name, value in who.items() if value is not None}
    assert "opens no files" in refuse("journal", problem="tiger", entries=[{**RESULT, "agent": own}])[1]["message"]
    for case in (kept | {"agent": who}, kept | {"entries": [entry | {"agent": who}]}):
        assert "opens no files" in refuse("replay", text=json.dumps(case))[1]["message"]


def test_an_upload_with_a_fault_names_line_and_field(refuse: Any, client: Any) -> None:
    text = "states: [a, b]\ntests:\n  look: {cost: -1, outcomes: [x, y], likelihood: {a: [1, 0], b: [0, 1]}}\n"
    _, error = refuse("models", name="broken", text=text)
    assert (error["line"], error["field"]) == (3, "tests.look.cost")
    assert client.get("models/broken").status_code == 404
    _, error = refuse("models", name="broken", text="states: [a, b\n")
    assert error["line"] in (1, 2)


THEIRS = {"pomdp": TIGER, "pomdpx": whole(), "drn": MAZE}


@pytest.mark.parametrize("language", THEIRS)
def test_files_of_others_are_uploaded_and_planned_for(client: Any, post: Any, language: str, tmp_path: Path) -> None:
    text = THEIRS[language]
    (tmp_path / f"theirs.{language}").write_text(text)
    problem = make(str(tmp_path / f"theirs.{language}"))

    said = post("models", name="theirs", text=text, language=language)
    found = post("decide", problem="theirs")
    shown = client.get("models/theirs").json()

    assert said["states"] == len(problem.states)
    assert said["actions"] == len(problem.menu(problem.start))
    assert not said["flat"]
    assert found["choice"] == decide(problem, make_agent("efe", problem)).choice
    assert (shown["text"], shown["language"]) == (text, language)
    assert client.delete("models/theirs").status_code == 200


def test_a_fault_in_a_file_of_others_names_its_line(refuse: Any, client: Any) -> None:
    for language, right, wrong in (
        ("pomdp", "R:", "Reward:"),
        ("pomdpx", "look attic s0 dark", "look cellar s0 dark"),
        ("drn", "1 : 0.75", "1 : abc"),
    ):
        text = THEIRS[language].replace(right, wrong, 1)
        _, error = refuse("models", name="theirs", text=text, language=language)
        assert wrong in text.split("\n")[error["line"] - 1]
    assert client.get("models/theirs").status_code == 404


def test_every_format_that_can_be_read_can_be_uploaded() -> None:
    told = Upload.model_json_schema()["properties"]["language"]["enum"]
    assert set(told) == set(FORMATS.values())


def test_yaml_constructs_nothing(refuse: Any, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    refuse("models", name="evil", text=f"!!python/object/apply:os.system ['touch {mark}']\n")
    refuse("models", name="evil", text=f"states: !!python/object/apply:os.system ['touch {mark}']\n")
    assert not mark.exists()


def test_checking_keeps_nothing(client: Any, post: Any) -> None:
    found = post("models", name="only-looked", text=json.dumps(COIN), language="json", check_only=True)
    assert found["sound"]
    assert found["tests"] == 1
    found = post("models", name="only-looked", text="states: [a]\nhorizon: 0\n", check_only=True)
    assert not found["sound"]
    assert found["error"]["message"]
    assert client.get("models/only-looked").status_code == 404


def test_what_is_not_json_or_not_there_is_refused_with_a_sentence(client: Any) -> None:
    for reply in (
        client.post("decide", content=b"{", headers={"content-type": "application/json"}),
        client.post("decide", content=b'{"problem": "tiger"}', headers={"content-type": "text/plain"}),
        client.post("decide", content=b"[" * 100_000, headers={"content-type": "application/json"}),
        client.get("decide"),
        client.get("nothing"),
    ):
        assert 400 <= reply.status_code < 500
        assert reply.json()["error"]["message"]
    reply = client.post("decide", content=b'{"problem": tiger}', headers={"content-type": "application/json"})
    assert reply.json()["error"]["message"] == "the body is not JSON: Expecting value at character 12"
    reply = client.post("decide", content=b'{"problem": "tiger"}', headers={"content-type": "text/plain"})
    assert "content-type: application/json" in reply.json()["error"]["message"]


# -- no way to the file system or to another host ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../../../etc/passwd", "..\\..\\x", "model.yaml", "/tmp/model.yaml", "tiger:accuracy=/x.yaml",
        "src/rhoplan/models/tiger-doors.yaml", "tiger-doors.yaml", "tiger/../tiger", "file:///etc/passwd",
        "x\u0000.yaml", "TIGER.YAML", "chest-pain:.json",
    ],
)  # fmt: skip
def test_no_name_reaches_the_file_system(client: Any, refuse: Any, name: str) -> None:
    for path in ("decide", "advise", "evaluate", "solve", "situation"):
        assert refuse(path, problem=name)[0] in (404, 422)
    assert refuse("evaluate", problem="tiger", world=name)[0] in (404, 422)
    for address in (f"models/{quote(name, safe='')}", quote(name, safe="")):
        assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/%2e%2e/app.py", "/static/app.js", "/..%2fapp.py", "/worker.py"]
)
def test_only_the_page_s_own_files_are_served(client: Any, path: str) -> None:
    root = str(client.base_url).removesuffix("/api/v1/")
    assert httpx.get(root + path, timeout=PATIENCE).status_code == 404
    assert httpx.get(root + "/app.js", timeout=PATIENCE).status_code == 200


def test_the_server_answers_to_its_own_name_only_and_allows_nothing_from_elsewhere(client: Any) -> None:
    assert client.get("models", headers={"host": "evil.example"}).status_code == 421
    root = str(client.base_url).removesuffix("/api/v1/")
    page = httpx.get(root + "/", timeout=PATIENCE)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http" not in page.text.replace("http-equiv", "")
    assert client.get("docs").status_code == 404
    assert client.get("openapi.json").json()["paths"]


# -- limits -----------------------------------------------------------------------------------------------------------


def test_too_slow_is_refused_and_the_server_still_answers(refuse: Any, post: Any) -> None:
    status, error = refuse("decide", problem="tileworld:n=16", horizon=6, timeout=0.5)
    assert (status, error["limit"]) == (413, {"seconds": 0.5})
    assert post("decide", problem="tiger")["choice"] == "listen"


@contextlib.contextmanager
def pending(client: Any, path: str, bodies: list[dict[str, Any]]) -> Iterator[list[socket.socket]]:
    """Connections on which requests were sent; nobody reads the replies, and at the end they are closed."""
    with contextlib.ExitStack() as stack:
        opened = []
        for body in bodies:
            data, url = json.dumps(body).encode(), client.base_url
            line = stack.enter_context(socket.create_connection((url.host, url.port), timeout=PATIENCE))
            head = f"POST {url.path}{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            line.sendall(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)
            opened.append(line)
        time.sleep(2)  # they are taken on meanwhile
        yield opened


def is_answered(line: socket.socket) -> bool:
    return bool(select.select([line], [], [], 0)[0])


LARGE = {
    "decide": [{"problem": f"tileworld:n={n}", "horizon": 8} for n in range(12, 16)],
    "solve": [{"problem": f"tileworld:n=8,seed={seed},partition=random", "gap": 1e-9} for seed in range(4)],
}
"""Work for minutes, by address: of unknown cost, and known to be slow."""


@pytest.mark.parametrize("path", list(LARGE))
def test_large_requests_leave_a_worker_free(client: Any, post: Any, path: str) -> None:
    """Four of them do not stand before advice on a model: it comes while all four are still at work or in line."""
    post("advise", problem="screening-cascade")
    with pending(client, path, LARGE[path]) as lines:
        post("advise", problem="screening-cascade", given=[["strip", "positive"]], weight=1.7, agent="planning-ig")
        assert not any(map(is_answered, lines))


def test_work_for_a_client_that_has_gone_is_given_up(client: Any, post: Any) -> None:
    """Otherwise a slow request would wait for minutes, and be refused; two slow ones may run at a time."""
    large = [{"problem": f"tileworld:n=12,seed={seed}", "horizon": 6} for seed in range(4)]
    with pending(client, "evaluate", large) as lines:
        assert not any(map(is_answered, lines))
    with pending(client, "evaluate", [{"problem": "security-lane", "weight": 1.5, "agent": "planning-ig"}]) as [line]:
        assert select.select([line], [], [], PATIENCE / 4)[0], "the slow requests of clients that have gone go on"


def test_a_reply_made_in_haste_is_not_given_again() -> None:
    asked: list[str] = []

    def replies(status: str) -> list[bytes]:
        desk = Desk(Settings(), [])

        async def run(job: Job, **_: Any) -> Reply:
            asked.append(job.task)
            return success({"number": len(asked), "flips": [{"up": {"status": status}}]})

        desk.pool.run = run  # type: ignore[method-assign]

        async def twice() -> list[bytes]:
            request = {"flips": True}
            return [(await desk.ask("what-if", Source("tiger"), dict(request)))[1] for _ in range(2)]

        return asyncio.run(twice())

    first, second = replies("does not flip")
    assert first == second
    first, second = replies("not examined")
    assert first != second
    assert len(asked) == 3


def test_too_large_is_refused_with_its_limit(client: Any, refuse: Any, post: Any) -> None:
    assert refuse("decide", problem="tileworld:n=300")[1]["limit"] == {"memory_bytes": 1_000_000_000}
    status, error = refuse("evaluate", problem="tileworld:n=8,partition=random,k=20", horizon=5)
    assert status == 413
    assert set(error["limit"]) <= {"nodes", "seconds", "memory_bytes"}
    status, error = refuse("models", name="long", text="#" * 3_000_000)
    assert (status, error["limit"]) == (413, {"bytes": 2_000_000})

    def chunks() -> Iterator[bytes]:
        yield from (b" " * 100_000 for _ in range(30))

    assert client.post("models", content=chunks()).status_code in (413, 415)
    assert post("decide", problem="tiger")["choice"] == "listen"


def test_twenty_requests_at_once_do_not_disturb_each_other(client: Any) -> None:
    weights = [1 + number / 7 for number in range(20)]

    def one(weight: float) -> Any:
        body = {"problem": "four-diseases", "agent": "planning-ig", "weight": weight}
        reply = client.post("advise", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    with ThreadPoolExecutor(20) as threads:
        found = list(threads.map(one, weights))
    assert [row["weight"] for row in found] == weights
    assert_same([one(weight) for weight in weights], found)


# -- what is kept in memory -------------------------------------------------------------------------------------------


def test_uploads_expire_and_the_longest_unused_go_first() -> None:
    now = [0.0]
    library = Library(most=2, most_bytes=100, expiry=10, clock=lambda: now[0])
    library.keep(Source("mine", "x" * 10), opened=True)
    for name in ("a", "b", "c"):
        library.keep(Source(name, "x" * 10))
    assert [row["name"] for row in library.listed()] == ["b", "c", "mine"]
    library.keep(Source("d", "x" * 95))
    assert [row["name"] for row in library.listed()] == ["d", "mine"]
    now[0] = 11
    assert [row["name"] for row in library.listed()] == ["mine"]
    assert not library.remove("mine")
    with pytest.raises(ProblemError, match="was opened with the server"):
        library.keep(Source("mine", "x"))


def test_names_of_uploads_and_sources() -> None:
    library = Library(most=2, most_bytes=100, expiry=10)
    for bad in ("", "a/b", ".hidden", "x" * 61, "model.yaml", "tiger", "chest-pain", "a\nb"):
        with pytest.raises(ProblemError):
            check_name(bad)
    with pytest.raises(ProblemError, match=r"; it is 'a\?b\?c'$"):
        check_name("a\nb\x1bc")
    check_name("Chest pain 2.0")
    assert find_source("inspection:places=0.1/2.2,n=2", library).text is None
    with pytest.raises(UnknownModel):
        find_source("chest-pain:n=2", library)


def test_overrides_change_what_they_name_and_nothing_else() -> None:
    base = make("chest-pain")
    changed = overridden(base, costs={"age": 2.5}, rewards={"treat": {"healthy": -7}}, first_prices={"blood": 4})
    assert [test.cost for test in changed.flat.tests][:2] == [2.5, 1.0]
    assert changed.flat.commits[1].reward.tolist() == [-7, 0]
    assert changed.flat.first_prices == {"blood": 4, "exercise": 70}
    assert changed.prior.tolist() == base.prior.tolist()
    for field, wrong in (
        ("costs.x", {"costs": {"x": 1}}),
        ("rewards.treat.x", {"rewards": {"treat": {"x": 1}}}),
        ("rewards.treat.healthy", {"rewards": {"treat": {"healthy": 1e101}}}),
        ("first_prices.x", {"first_prices": {"x": 1}}),
        ("first_prices.blood", {"first_prices": {"blood": -1}}),
        ("prior", {"prior": {"healthy": 1}}),
        ("prior", {"costs": {"age": 2}, "prior": [0.5, 0.6]}),
        ("costs.age", {"prior": [0.5, 0.5], "costs": {"age": -1}}),
    ):
        with pytest.raises(RhoplanError) as caught:
            overridden(base, **wrong)  # type: ignore[arg-type]
        assert caught.value.field is not None
        assert dotted(caught.value.field) == field


def test_a_file_of_others_given_to_the_command_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "tiger.95.pomdp"
    path.write_text(TIGER)
    with server("--workers", "1", str(path)) as address:
        assert httpx.get(f"{address}/api/v1/models", timeout=PATIENCE).json()["first"] == "tiger.95"
        asked = {"problem": "tiger.95", "horizon": 4, "time_limit": 20}
        found = httpx.post(f"{address}/api/v1/solve", json=asked, timeout=PATIENCE).json()
        assert found["horizon"] == 4
        assert found["upper"] - found["lower"] <= found["gap"]


def test_models_given_to_the_command_are_opened_first(tmp_path: Path) -> None:
    path = tmp_path / "my coin.json"
    path.write_text(json.dumps(COIN))
    with server("--workers", "1", str(path)) as address:
        listed = httpx.get(f"{address}/api/v1/models", timeout=PATIENCE).json()
        assert listed["first"] == "my coin"
        assert listed["uploaded"] == [{"name": "my coin", "opened": True, "expires_in": None, "file": None}]
        assert httpx.delete(f"{address}/api/v1/models/my coin", timeout=PATIENCE).status_code == 404


def test_what_was_spent_is_told_in_the_unit_of_the_model(post: Any) -> None:
    likelihood = {"well": [0.9, 0.1], "ill": [0.2, 0.8]}
    test = {"cost": 0.25, "outcomes": ["no", "yes"], "likelihood": likelihood, "repeat": "independent"}
    model = {"name": "capped", "states": ["well", "ill"], "tests": {"look": test}, "cap": {"spend": 1.5}}
    model["commits"] = {"treat": [-1, 0], "wait": [0, -5]}

    found = post("situation", problem=model, given=[["look", "yes"], ["look", "no"]])

    assert found["visible"]["spent"] == 0.5


# -- requests that nobody would send ----------------------------------------------------------------------------------


def test_no_request_that_the_schema_allows_breaks_the_server() -> None:
    """RHOPLAN_FUZZ says how many are drawn for each address."""
    examples = int(os.environ.get("RHOPLAN_FUZZ", "3"))
    schemathesis = pytest.importorskip("schemathesis", reason="fuzzing the API needs schemathesis")
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
    from schemathesis import checks as known

    known.load_all_checks()
    names = ("status_code_conformance", "content_type_conformance", "response_schema_conformance")
    checks = (known.not_a_server_error, *(known.CHECKS.get_one(name) for name in names))
    problems = st.sampled_from([None, "tiger", "screening-cascade", "rocksample", "tileworld", COIN])
    codes = set()
    with server("--seconds", "0.5", "--nodes", "20000", "--memory", "1") as address:
        written = httpx.get(f"{address}/api/v1/openapi.json", timeout=PATIENCE).json()
        for found in schemathesis.openapi.from_dict(written).get_all_operations():
            operation = found.ok()

            @settings(max_examples=examples, deadline=None, database=None, derandomize=True,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(case=operation.as_strategy(), problem=problems)
            def check(case: Any, problem: Any) -> None:
                if problem is not None and isinstance(case.body, dict) and "problem" in case.body:
                    case.body["problem"] = problem  # random names are refused before anything interesting happens
                reply = case.call(base_url=address, timeout=PATIENCE)
                codes.add(reply.status_code)
                case.validate_response(reply, checks=checks)

            check()
        # Workers may still be at requests that were given up, or too slow for half a second: they get over it.
        for _ in range(5 * PATIENCE):
            reply = httpx.get(f"{address}/api/v1/models", timeout=PATIENCE)
            if reply.status_code not in (413, 503):
                break
            time.sleep(0.2)
        assert reply.status_code == 200
    assert {200, 404, 422} <= codes

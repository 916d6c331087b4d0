"""What OpenAPI says of replies is what they hold: no key is missing, none is left out, nothing is a bare object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")

from pydantic import TypeAdapter, ValidationError

from rhoplan.app.serve import replies, schema
from rhoplan.app.serve.app import PLANNING, create_app
from rhoplan.app.serve.examples import COIN, EXAMPLES
from rhoplan.app.serve.refusals import success
from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.tasks import run
from rhoplan.app.serve.uncertain import AskUncertainty
from rhoplan.app.serve.worker import Job, Shelf
from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS
from serving import PATIENCE, server


@cache
def openapi() -> dict[str, Any]:
    """What the server says of itself; it takes a second to say it, and most who load this module do not ask."""
    return create_app().openapi()


@cache
def operations() -> dict[str, Any]:
    return {one["operationId"]: one for path in openapi()["paths"].values() for one in path.values()}


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    return Shelf(200_000)


def reply(shelf: Shelf, task: str, source: Source, **request: Any) -> Any:
    """What a worker replies, as it goes out."""
    told = run(Job(task, source, {"seconds": 600.0, "memory": 1e9, **request}), shelf)
    return json.loads(success(told)[1])


def left_out(kind: Any, told: Any) -> Any:
    """What of a reply its shape does not know; fails where it lacks something."""
    known = TypeAdapter(kind).dump_python(TypeAdapter(kind).validate_python(told), mode="json", exclude_unset=True)
    return list(differences(told, known))


def differences(told: Any, known: Any, place: str = "") -> Iterator[str]:
    if isinstance(told, dict) and isinstance(known, dict):
        for name, value in told.items():
            if name not in known:
                yield f"{place}.{name}"
            else:
                yield from differences(value, known[name], f"{place}.{name}")
    elif isinstance(told, list) and isinstance(known, list):
        for number, (one, other) in enumerate(zip(told, known, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif told != known:
        yield f"{place}: {told!r} is {known!r}"


@pytest.mark.parametrize("name", sorted(WORKED_MODELS))
@pytest.mark.parametrize("task", ["decide", "situation", "advise", "evaluate", "pathway", "what-if"])
def test_replies_on_worked_models_are_as_described(shelf: Shelf, task: str, name: str) -> None:
    takes, gives, _ = PLANNING[task]
    request = takes.model_validate({"problem": name, **({"flips": False} if task == "what-if" else {})}).model_dump()
    assert left_out(gives, reply(shelf, task, Source(name), **request)) == []


def test_flips_and_comparisons_are_as_described(shelf: Shelf) -> None:
    name = "screening-cascade"
    for task, more in {"what-if": {"flips": True, "budget": 0.5}, "compare": {"agent": "planning-ig"}}.items():
        takes, gives, _ = PLANNING[task]
        request = takes.model_validate({"problem": name, **more}).model_dump()
        assert left_out(gives, reply(shelf, task, Source(name), **request)) == []


@pytest.mark.parametrize("name", [*sorted(WORKED_MODELS), *sorted(PROBLEMS)])
def test_models_are_as_described(shelf: Shelf, name: str) -> None:
    assert left_out(replies.Model, reply(shelf, "model", Source(name))) == []


def test_problems_with_places_are_as_described(shelf: Shelf) -> None:
    for name, task in (("rocksample", "decide"), ("rocksample", "situation"), ("navigation", "evaluate")):
        takes, gives, _ = PLANNING[task]
        request = takes.model_validate({"problem": name}).model_dump()
        assert left_out(gives, reply(shelf, task, Source(name), **request)) == []


TAKES: dict[str, Any] = {
    task.replace("-", "_").replace("/", "_"): (task, kind, gives) for task, (kind, gives, _) in PLANNING.items()
}
TAKES |= {
    "journal": ("journal", schema.Journal, replies.Kept),
    "upload_model": ("check", schema.Upload, replies.Checked),
}
TAKES |= {"advise_parts": ("part", schema.AdviseParts, replies.Part)}


@pytest.mark.parametrize("name", sorted(TAKES))
def test_nothing_is_left_out_of_what_comes_of_an_example(shelf: Shelf, name: str) -> None:
    task, kind, gives = TAKES[name]
    request = kind.model_validate(EXAMPLES[name]).model_dump()
    source = Source(request["name"], request["text"]) if name == "upload_model" else Source(request.pop("problem"))
    for part in request.pop("parts", [None]):
        told = reply(shelf, task, source, **request, **({"part": part} if part else {}))
        assert left_out(gives, told) == []


CASES = "strip,outcome\n" + 30 * "positive,ill\nnegative,well\nnegative,well\npositive,well\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    (folder / "coin.yaml").write_text(COIN)
    with server("--workers", "1", str(folder)) as found:
        yield found


def taken(operation: Any) -> Any:
    """What an address takes, if that is JSON."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json")


def test_whatever_takes_json_has_an_example() -> None:
    assert {name for name, one in operations().items() if taken(one)} == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_taken_and_answered_as_described(address: str, name: str) -> None:
    httpx, checker = pytest.importorskip("httpx"), pytest.importorskip("jsonschema_rs")
    (path,) = [path for path, one in openapi()["paths"].items() if operations()[name] in one.values()]
    body = taken(operations()[name])["example"]
    assert body == EXAMPLES[name]
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        if "table" in body:
            sent = client.post("/api/v1/learn/table", content=CASES, headers={"content-type": "text/csv"})
            body = {**body, "table": sent.json()["table"]}
        found = client.post(path, json=body)
    assert found.status_code == 200, found.text
    kind, described = found.headers["content-type"], operations()[name]["responses"]["200"]["content"]
    shape = described[kind.partition(";")[0]]["schema"]
    check = checker.validator_for({**shape, "components": openapi()["components"]})
    for line in found.text.splitlines() if "ndjson" in kind else [found.text]:
        check.validate(json.loads(line))
        assert "error" not in json.loads(line) or json.loads(line)["error"] is None


def test_many_cases_are_advised_on_as_one_by_one(shelf: Shelf) -> None:
    name, seen = "screening-cascade", [["strip", "positive"]]
    own = {"prior": {"ill": 0.3}, "known": [["strip", "negative"]]}
    cases = [{"given": seen, "id": "a"}, {"given": [["strip", "purple"]]}, {"unavailable": ["strip"]}, own]
    request = schema.Batch.model_validate({"problem": name, "cases": cases, "weight": 3}).model_dump()
    told = reply(shelf, "advise/batch", Source(name), **request)
    assert left_out(replies.Batched, told) == []
    assert [one["id"] for one in told["cases"]] == ["a", None, None, None]
    assert told["refused"] == 1
    assert told["cases"][1]["error"]["field"] == "given.0.outcome"
    for place, more in ((0, {"given": seen}), (2, {"unavailable": ["strip"]}), (3, own)):
        alone = schema.Advise.model_validate({"problem": name, "weight": 3, **more}).model_dump()
        found = reply(shelf, "advise", Source(name), **alone)
        assert {key: found[key] for key in told["cases"][place]["advice"]} == told["cases"][place]["advice"]


def test_no_reply_is_a_bare_object() -> None:
    for name, operation in operations().items():
        for media, content in operation["responses"]["200"]["content"].items():
            kind = content["schema"]
            bare = media == "application/json" and not ({"$ref", "anyOf"} & kind.keys())
            assert not bare, f"{name} replies {kind}"


def test_operations_keep_their_names() -> None:
    """Clients are made from these: a name may be added, none may go."""
    lasting = {
        "list_models", "upload_model", "show_model", "forget_model", "report", "decide", "situation", "advise",
        "evaluate", "solve", "pathway", "compare", "what_if", "advise_parts", "journal", "replay", "send_table",
        "forget_table", "draft_plan", "learn", "learned_report",
    }  # fmt: skip
    assert lasting <= operations().keys()


def test_names_in_addresses_may_have_one_letter_but_not_none() -> None:
    names = [one for each in operations().values() for one in each.get("parameters", ()) if one["in"] == "path"]
    lengths = {(one["schema"]["minLength"], one["schema"]["maxLength"]) for one in names}
    assert lengths <= {(1, 60), (1, 500)}


def test_a_year_may_have_so_many_cases() -> None:
    assert AskUncertainty(problem="tiger", cases_per_year=1e9).cases_per_year == 1e9
    for wrong in (0, -1, 1.001e9):
        with pytest.raises(ValidationError):
            AskUncertainty(problem="tiger", cases_per_year=wrong)


def test_seeds_are_numbers_that_everybody_can_hold() -> None:
    for seed in (0, 2**63 - 1):
        assert schema.Decide(problem="tiger", seed=seed).seed == seed
    for wrong in (-1, 2**63):
        with pytest.raises(ValidationError):
            schema.Decide(problem="tiger", seed=wrong)

"""`load`, `loads` and `save`, and how every public function finds the problem that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan import RhoplanError
from test_drn_files import MAZE
from test_pomdp_files import TIGER

SPECS = ("tiger", "chest-pain", "four-diseases", "drilling", "rocksample:n=3,k=2")

MODEL: dict[str, Any] = {
    "states": ["well", "ill"],
    "tests": {
        "scan": {"cost": 1, "outcomes": ["clear", "dark"], "likelihood": {"well": [0.9, 0.1], "ill": [0.2, 0.8]}}
    },
    "losses": {"leave": {"well": 0, "ill": 100}, "treat": {"well": 20, "ill": 10}},
}


def plan_value(problem: rhoplan.POMDP) -> float:
    """The optimum over three actions, which is the same however the problem is written."""
    best = rhoplan.solve(rhoplan.with_horizon(problem, 3), gap=1e-9)
    return float(best.lower)


@pytest.mark.parametrize("ending", [".yaml", ".yml", ".json"])
@pytest.mark.parametrize("spec", SPECS)
def test_a_saved_model_file_is_read_again(spec: str, ending: str, tmp_path: Path) -> None:
    path, problem = tmp_path / f"model{ending}", rhoplan.make(spec)
    rhoplan.save(spec, path)
    for again in (rhoplan.load(path), rhoplan.load(str(path), ending.lstrip(".").replace("yml", "yaml"))):
        assert (again.actions, again.observations) == (problem.actions, problem.observations)
        assert dict(again.belief()) == dict(problem.belief())  # places have other names in files
        for one, other in zip(again.menu(again.start), problem.menu(problem.start), strict=True):
            np.testing.assert_allclose(one.likelihood, other.likelihood)
            np.testing.assert_allclose(one.reward, other.reward)


def test_a_saved_pomdp_file_has_the_same_optimum(tmp_path: Path) -> None:
    path, problem = tmp_path / "tiger.pomdp", rhoplan.make("tiger")
    rhoplan.save(problem, path)
    assert plan_value(rhoplan.load(path)) == pytest.approx(plan_value(problem), abs=1e-6)


@pytest.mark.parametrize(("format", "text"), [("pomdp", TIGER), ("drn", MAZE)])
def test_other_formats_are_read_by_ending_by_format_and_from_a_text(format: str, text: str, tmp_path: Path) -> None:
    named, unnamed = tmp_path / f"some.{format}", tmp_path / "some.txt"
    named.write_text(text)
    unnamed.write_text(text)
    problem = rhoplan.load(named)
    for again in (rhoplan.load(unnamed, format), rhoplan.loads(text, format), rhoplan.make(named)):
        assert (again.actions, again.discount) == (problem.actions, problem.discount)


def test_a_mapping_is_a_model() -> None:
    arrays = {**MODEL, "prior": np.array([0.7, 0.3])}
    assert rhoplan.loads(arrays).belief()["ill"] == 0.3
    assert rhoplan.loads(MODEL).observations == ("clear", "dark")


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "tiger.yaml"
    rhoplan.save("tiger", path)
    text = path.read_text()
    with pytest.raises(RhoplanError):
        rhoplan.save("there-is-none", path)
    assert path.read_text() == text
    assert [one.name for one in tmp_path.iterdir()] == ["tiger.yaml"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda folder: rhoplan.load(folder / "x.foo"), ".pomdp"),
        (lambda folder: rhoplan.load(folder / "x.yaml"), "x.yaml"),
        (lambda folder: rhoplan.load(folder / "x.yaml", "xml"), "pomdpx"),
        (lambda folder: rhoplan.load(3), "path"),
        (lambda folder: rhoplan.loads(3), "rhoplan.load"),
        (lambda folder: rhoplan.loads(MODEL, "json"), "format"),
        (lambda folder: rhoplan.loads({"states": object()}), "lists"),
        (lambda folder: rhoplan.save("tiger", folder / "x.toml"), ".json"),
        (lambda folder: rhoplan.save(3, folder / "x.yaml"), "rhoplan.make"),
        (lambda folder: rhoplan.save("tiger", folder / "file" / "x.yaml"), "cannot be written"),
        (lambda folder: rhoplan.with_horizon(3, 2), "rhoplan.make"),
        (lambda folder: rhoplan.with_horizon("tiger", 1.5), "1.5"),
        (lambda folder: rhoplan.with_horizon("tiger", 0), "0"),
        (lambda folder: rhoplan.check_problem("there-is-none"), "there-is-none"),
    ],
    ids=["ending", "missing", "format", "number", "number-text", "mapping-format", "object", "toml", "no-problem",
         "folder", "horizon-of", "fraction", "zero", "name"],
)  # fmt: skip
def test_what_cannot_be_read_or_written_is_refused_in_one_line(call: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RhoplanError) as caught:
        call(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_and_paths_are_problems(tmp_path: Path) -> None:
    rhoplan.save("tiger", tmp_path / "doors.yaml")
    for named in ("tiger", rhoplan.make("tiger"), tmp_path / "doors.yaml", str(tmp_path / "doors.yaml")):
        rhoplan.check_problem(named)
        assert rhoplan.with_horizon(named, 2).actions == ("listen", "open-left", "open-right")
        assert rhoplan.advise(named, {"listen": "hear-left"}).do == "listen"

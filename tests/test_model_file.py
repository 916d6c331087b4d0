"""Model files: what is read is what was written, and every fault is one line with file, line and field."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import ModelFileError
from rhoplan.io.model_file import LARGEST_FILE, parse_model, read_model, write_model
from rhoplan.problem import Problem

TIGER = """\
name: tiger
unit: points                 # what rewards and costs are counted in
states: [tiger-left, tiger-right]
prior: [0.5, 0.5]
tests:
  listen:
    cost: 1
    outcomes: [hear-left, hear-right]
    likelihood:              # P(outcome | state), rows sum to 1
      tiger-left: [0.85, 0.15]
      tiger-right: [0.15, 0.85]
    repeat: independent
commits:
  open-left: {tiger-left: -100, tiger-right: 10}
  open-right: {tiger-left: 10, tiger-right: -100}
"""

TIGER_TOML = """\
name = "tiger"
unit = "points"
states = ["tiger-left", "tiger-right"]
prior = [0.5, 0.5]

[tests.listen]
cost = 1
outcomes = ["hear-left", "hear-right"]
repeat = "independent"
likelihood.tiger-left = [0.85, 0.15]
likelihood.tiger-right = [0.15, 0.85]

[commits]
open-left = {tiger-left = -100, tiger-right = 10}
open-right = {tiger-left = 10, tiger-right = -100}
"""

SCREENING = """\
states: [healthy, ill]
prior: {healthy: 99%, ill: 1%}
tests:
  pcr: {cost: 5, sensitivity: 0.9, specificity: 95 %}
commits:
  leave: {healthy: 0, ill: -1000}
  treat: [-50, -1e1]
"""


def assert_same(left: Problem, right: Problem) -> None:
    assert (left.name, left.unit, left.states, left.horizon) == (right.name, right.unit, right.states, right.horizon)
    assert np.array_equal(left.prior, right.prior)
    for mine, other in zip(left.flat.tests, right.flat.tests, strict=True):
        assert (mine.name, mine.cost, mine.outcomes, mine.repeatable) == (
            other.name, other.cost, other.outcomes, other.repeatable,
        )  # fmt: skip
        assert np.array_equal(mine.likelihood, other.likelihood)
    for commit, other_commit in zip(left.flat.commits, right.flat.commits, strict=True):
        assert commit.name == other_commit.name
        assert np.array_equal(commit.reward, other_commit.reward)


def test_the_documented_file_is_tiger() -> None:
    problem = parse_model(TIGER + "horizon: 6\n")
    assert_same(problem, rhoplan.make("tiger"))


@pytest.mark.parametrize(
    "spec",
    ["tiger", "testbed", "diagnosis:n=5", "bandit:k=3,accuracy=0.7", "tileworld:n=3,partition=random", "tileworld:n=4"],
)
def test_writing_and_reading_gives_the_same_problem(spec: str) -> None:
    problem = rhoplan.make(spec)
    assert_same(parse_model(write_model(problem)), problem)


def test_awkward_names_survive_the_round_trip() -> None:
    names = ("no", "null", "a: b", "#1", "é", "5", "x, y", "'quoted'")
    tests = (rhoplan.Test("yes", 0.1 + 0.2, ("-", "~"), np.full((8, 2), 0.5), repeatable=False),)
    commits = (rhoplan.Commit("{go}", np.linspace(-1, 1 / 3, 8)),)
    problem = rhoplan.observe_then_commit("x: [y]", names, tests=tests, commits=commits, unit="€ per case")
    assert_same(parse_model(write_model(problem)), problem)


def test_json_and_toml_read_the_same_way(tmp_path: Path) -> None:
    yaml = parse_model(TIGER)
    assert_same(parse_model(TIGER_TOML, language="toml"), yaml)
    record = {
        "name": "tiger", "unit": "points", "states": list(yaml.states), "prior": [0.5, 0.5],
        "tests": {"listen": {"cost": 1, "outcomes": ["hear-left", "hear-right"], "repeat": "independent",
                             "likelihood": {"tiger-left": [0.85, 0.15], "tiger-right": [0.15, 0.85]}}},
        "commits": {c.name: dict(zip(yaml.states, c.reward.tolist(), strict=True)) for c in yaml.flat.commits},
    }  # fmt: skip
    file = tmp_path / "tiger.json"
    file.write_text(json.dumps(record, indent="\t"))
    assert_same(read_model(file), yaml)


def test_shorthands_percent_and_defaults() -> None:
    problem = parse_model(SCREENING, file="screening.yaml")
    assert (problem.name, problem.unit) == ("screening", "points")
    assert problem.prior == pytest.approx([0.99, 0.01])
    (pcr,) = problem.flat.tests
    assert pcr.outcomes == ("negative", "positive")
    assert pcr.likelihood == pytest.approx(np.array([[0.95, 0.05], [0.1, 0.9]]))
    assert not pcr.repeatable
    assert problem.flat.commits[1].reward.tolist() == [-50, -10]


def test_prior_is_uniform_if_left_out() -> None:
    assert parse_model(TIGER.replace("prior: [0.5, 0.5]\n", "")).prior.tolist() == [0.5, 0.5]


FAULTS = {
    "a row that does not sum to 1": ("[0.85, 0.15]", "[0.8, 0.15]", "line 10", "tiger-left' sums to 0.95"),
    "an unknown state": ("open-left: {tiger-left", "open-left: {tigger-left", "line 14", "'tigger-left'"),
    "a missing reward": (", tiger-right: 10}", "}", "line 14", "'tiger-right' is missing"),
    "a negative cost": ("cost: 1", "cost: -1", "line 7", "tests.listen.cost"),
    "a NaN": ("cost: 1", "cost: .nan", "line 7", "tests.listen.cost"),
    "an infinite reward": ("-100, tiger-right: 10", ".inf, tiger-right: 10", "line 14", "commits.open-left.tiger-left"),
    "a number written as text": ("cost: 1", "cost: '1'", "line 7", "the text '1'"),
    "a truth value for a number": ("cost: 1", "cost: true", "line 7", "tests.listen.cost"),
    "a missing cost": ("    cost: 1\n", "", "line 7", "'cost'"),
    "a duplicate test": ("commits:", "  listen: {cost: 1}\ncommits:", "line 13", "'listen' stands twice"),
    "a duplicate state": ("[tiger-left, tiger-right]", "[tiger-left, tiger-left]", "line 3", "stands there twice"),
    "a duplicate outcome": ("[hear-left, hear-right]", "[hear-left, hear-left]", "line 8", "stands there twice"),
    "one name for a test and a commit": ("open-left:", "listen:", "line 14", "both a test and a commit"),
    "a prior that does not sum to 1": ("prior: [0.5, 0.5]", "prior: [0.5, 0.6]", "line 4", "prior must sum to 1"),
    "a prior of the wrong length": ("prior: [0.5, 0.5]", "prior: [1.0]", "line 4", "each of 2 states"),
    "a negative probability": ("[0.85, 0.15]", "[1.85, -0.85]", "line 10", "between 0 and 1"),
    "a probability above 100%": ("prior: [0.5, 0.5]", "prior: [150%, -50%]", "line 4", "between 0 and 1"),
    "an unknown field": ("unit: points", "units: points", "line 2", "'units'"),
    "an unknown field of a test": ("    repeat:", "    repeats:", "line 12", "'repeats'"),
    "an unknown repeat": ("independent", "always", "line 12", "tests.listen.repeat"),
    "states that are no list": ("states: [tiger-left, tiger-right]", "states: 2", "line 3", "list of names"),
    "commits that are empty": (TIGER[TIGER.index("commits:") :], "commits: {}\n", "line 13", "commits must be"),
    "a YAML syntax error": ("{tiger-left: -100", "{tiger-left: : -100", "line 14", "not valid YAML"),
    "a tab": ("  listen:", "\tlisten:", "line 6", "not valid YAML"),
    "likelihood and sensitivity at once": ("cost: 1", "cost: 1\n    sensitivity: 0.9", "line 8", "not both"),
    "a likelihood row for an outcome list of another length": ("0.85, 0.15]", "1.0]", "line 10", "each of 2 outcomes"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_told_in_one_line_with_its_place(fault: str) -> None:
    before, after, line, words = FAULTS[fault]
    assert before in TIGER
    with pytest.raises(ModelFileError) as caught:
        parse_model(TIGER.replace(before, after, 1), file="tiger.yaml")
    message = str(caught.value)
    assert f"tiger.yaml, {line})" in message
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text", ["", "   \n", "# nothing but a comment\n", "---\n", "null", "5", "- 1\n- 2", "[", "{a"]
)
@pytest.mark.parametrize("language", ["yaml", "json", "toml"])
def test_text_that_is_no_model_is_refused(text: str, language: str) -> None:
    with pytest.raises(ModelFileError, match=r"model\.x"):
        parse_model(text, file="model.x", language=language)


def test_sensitivity_needs_two_states() -> None:
    text = SCREENING.replace("[healthy, ill]", "[healthy, ill, dead]").replace("prior: {healthy: 99%, ill: 1%}\n", "")
    with pytest.raises(ModelFileError, match="two states"):
        parse_model(text)


def test_huge_file_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "junk.yaml"
    with file.open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(ModelFileError, match=r"50\.0 MB"):
        read_model(file)


def test_binary_file_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "junk.yaml"
    file.write_bytes(b"name: x\nstates: \xff\xfe\n")
    with pytest.raises(ModelFileError, match="line 2"):
        read_model(file)
    assert LARGEST_FILE > 1_000_000


def test_missing_file_and_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        read_model(tmp_path / "none.yaml")
    with pytest.raises(ModelFileError, match="must end in"):
        read_model(tmp_path / "model.txt")


def test_special_files_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    endless = tmp_path / "zero.yaml"
    endless.symlink_to("/dev/zero")
    for file in (pipe, endless, tmp_path / "folder.yaml"):
        if file.name == "folder.yaml":
            file.mkdir()
        with pytest.raises(ModelFileError, match="regular file"):
            read_model(file)


@pytest.mark.parametrize("name", ["a\\u001b[31m", "a\\ud800", "a\\u007f"])
def test_names_must_be_printable(name: str) -> None:
    text = json.dumps({"states": ["x", "y"], "commits": {"go": [1, 0]}}).replace('"x"', f'"{name}"')
    with pytest.raises(ModelFileError, match="printable"):
        parse_model(text, file="m.json", language="json")


def test_numbers_beyond_all_measure_are_refused() -> None:
    digits = "9" * 5000
    for language, text in (
        ("json", f'{{"horizon": {digits}}}'),
        ("toml", f"horizon = {digits}"),
        ("yaml", f"horizon: {digits}"),
    ):
        with pytest.raises(ModelFileError):
            parse_model(text, language=language)
    with pytest.raises(ModelFileError, match="1e\\+100"):
        parse_model(TIGER.replace("-100", "-1e308"))
    with pytest.raises(ModelFileError, match="horizon"):
        parse_model(TIGER + "horizon: 1e300\n")


def test_aliases_cannot_blow_up() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    with pytest.raises(ModelFileError, match="values"):
        parse_model(bomb)
    with pytest.raises(ModelFileError, match="deep"):
        parse_model("states: &a [*a]\ncommits: {}\n")
    with pytest.raises(ModelFileError, match="deep"):
        parse_model("[" * 5000)


def test_tags_construct_nothing() -> None:
    with pytest.raises(ModelFileError):
        parse_model('!!python/object/apply:os.system ["echo hi"]')


def test_json_faults_name_the_line() -> None:
    with pytest.raises(ModelFileError, match=r"not valid JSON.*line 2"):
        parse_model('{"name": "x",\n "states": [}', file="m.json", language="json")
    with pytest.raises(ModelFileError, match=r"'name' stands twice.*line 2"):
        parse_model('{"name": "x",\n "name": "y"}', file="m.json", language="json")


def test_toml_faults_name_the_line() -> None:
    with pytest.raises(ModelFileError, match=r"rows that sum to 1.*m\.toml, line 10"):
        parse_model(TIGER_TOML.replace("[0.85, 0.15]", "[0.8, 0.15]"), file="m.toml", language="toml")
    with pytest.raises(ModelFileError, match=r"not valid TOML.*line 2"):
        parse_model("a = 1\na = = 2\n", file="m.toml", language="toml")


@pytest.mark.parametrize("seed", range(300))
def test_mutated_file_is_read_or_refused_but_never_crashes(seed: int) -> None:
    draw = random.Random(seed)
    text = list(TIGER if seed % 2 else SCREENING)
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(text))
        action = draw.randrange(3)
        if action == 0:
            text[place] = draw.choice("[]{}:,-#&*!|>'\"%@` \n\t\\0x.eE~é\x00")
        elif action == 1:
            del text[place : place + draw.randint(1, 12)]
        else:
            text.insert(place, draw.choice(["\n", "  ", "- ", ": ", "nan", "1e999", "&a ", "*a", "...", "---\n"]))
    message = "mutant.yaml"
    try:
        rhoplan.check_problem(parse_model("".join(text), file="mutant.yaml"))
    except ModelFileError as error:
        message = str(error)
    assert "mutant.yaml" in message
    assert "\n" not in message

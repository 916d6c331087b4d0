"""Model files: what is read is what was written, and every fault is one line with file, line and field."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from bridge import LARGEST_FILE, model_record, parse_model, write_model
from rhoplan import POMDP, ModelFileError, load

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
prevalence: {ill: 1%}
tests:
  pcr: {cost: 5, sensitivity: 0.9, specificity: 95 %}
commits:
  leave: {healthy: 0, ill: -1000}
  treat: [-50, -1e1]
"""


def assert_same(left: POMDP, right: POMDP) -> None:
    assert (left.name, left.unit, left.states, left.horizon) == (right.name, right.unit, right.states, right.horizon)
    assert np.array_equal(left.prior, right.prior)
    assert left.flat.rules == right.flat.rules
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
    names = ("no", "null", "a: b", "#1", "é\u200b\\", "5", "x, y\u00a0😀", "'quoted' \"twice\"")
    tests = (rhoplan.Test("yes", 0.1 + 0.2, ("-", "~"), np.full((8, 2), 0.5), repeatable=False),)
    commits = (rhoplan.Decision("{go}", np.linspace(-1, 1 / 3, 8)),)
    problem = rhoplan.DiagnosticProblem(name="x: [y]", states=names, tests=tests, decisions=commits, unit="€ per case")
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
    assert_same(load(file), yaml)


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


FULL = """\
name: full
unit: EUR
info:
  about: every field at once
  source: a book, page 5
  note: >
    a note that runs
    over two lines
  illustrative: true
states: [ill, well]
positive: ill
prevalence: 1%
groups:
  blood: {first: 2.10}
  scans: {}
tests:
  smear: {cost: 5, sensitivity: 90%, specificity: 0.95, inconclusive: 5%, group: blood}
  assay:
    cost: 9
    lr_positive: 18
    lr_negative: 0.1
    outcomes: [low, high]
    group: blood
    after: smear
    info: {source: a leaflet}
  scan: {cost: 40, tp: 45, fn: 5, fp: 2, tn: 198, group: scans, after: [smear, assay]}
  look:
    cost: 2
    outcomes: [clear, doubtful, dark]
    likelihood: {ill: [10%, 20%, 70%], well: {dark: 0.05, doubtful: 0.15, clear: 0.8}}
    repeat: independent
losses:
  leave: {well: 0, ill: 1000}
  treat: [10, 50]
cap: {tests: 3, spend: 60.5}
horizon: 4
"""


def test_every_field_is_read() -> None:
    problem = parse_model(FULL)
    smear, assay, scan, look = problem.flat.tests
    assert problem.prior.tolist() == [0.01, 0.99]
    assert smear.outcomes == ("negative", "positive", "inconclusive")
    assert smear.likelihood == pytest.approx(np.array([[0.095, 0.855, 0.05], [0.9025, 0.0475, 0.05]]))
    assert assay.outcomes == ("low", "high")
    high, low = assay.likelihood[0, 1] / assay.likelihood[1, 1], assay.likelihood[0, 0] / assay.likelihood[1, 0]
    assert (high, low) == (pytest.approx(18), pytest.approx(0.1))
    assert scan.likelihood == pytest.approx(np.array([[0.1, 0.9], [0.99, 0.01]]))
    assert look.likelihood[1].tolist() == [0.8, 0.15, 0.05]
    assert [test.repeatable for test in problem.flat.tests] == [False, False, False, True]
    assert [test.group for test in problem.flat.tests] == ["blood", "blood", "scans", ""]
    assert [test.after for test in problem.flat.tests] == [(), ("smear",), ("smear", "assay"), ()]
    assert problem.flat.first_prices == {"blood": 2.1}
    assert (problem.flat.most_tests, problem.flat.budget) == (3, 60.5)
    assert [commit.reward.tolist() for commit in problem.flat.commits] == [[-1000, 0], [-10, -50]]
    assert problem.details == {
        "positive": "ill",
        "losses": True,
        "info": {
            "about": "every field at once",
            "source": "a book, page 5",
            "note": "a note that runs over two lines",
            "illustrative": True,
        },
        "test_info": {"assay": {"source": "a leaflet"}},
        "uncertain": {"tests": {"scan": {"likelihood": {"ill": {"cases": 50.0}, "well": {"cases": 200.0}}}}},
    }


def test_every_field_survives_the_round_trip() -> None:
    problem = parse_model(FULL)
    again = parse_model(write_model(problem))
    assert_same(again, problem)
    assert again.details == problem.details
    assert again.flat.first_prices == problem.flat.first_prices
    assert write_model(again) == write_model(problem)


def test_plain_data_of_a_model_reads_back() -> None:
    problem = parse_model(FULL)
    again = parse_model(json.dumps(model_record(problem)), language="json")
    assert_same(again, problem)
    assert again.details == problem.details


def test_the_positive_state_is_named_by_itself_or_in_the_prevalence() -> None:
    for state, prior in {"ill": [0.01, 0.99], "well": [0.99, 0.01]}.items():
        alone = parse_model(FULL.replace("positive: ill", f"positive: {state}"))
        within = parse_model(FULL.replace("positive: ill\nprevalence: 1%", f"prevalence: {{{state}: 1%}}"))
        both = parse_model(
            FULL.replace("positive: ill\nprevalence: 1%", f"positive: {state}\nprevalence: {{{state}: 1%}}")
        )
        assert_same(alone, within)
        assert_same(alone, both)
        assert alone.prior.tolist() == prior
        assert [one.details["positive"] for one in (alone, within, both)] == [state] * 3
        rows = np.array([[0.1, 0.9], [0.99, 0.01]])
        assert alone.flat.tests[2].likelihood == pytest.approx(rows if state == "ill" else rows[::-1])


NAMELESS = "states: [PE, no PE]\ntests: {x: {cost: 1, %s}}\nlosses: {go: [1, 1]}\n"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("states: [PE, no PE]\nprevalence: 15%\nlosses: {go: [1, 1]}\n", "prevalence"),
        (NAMELESS % "sensitivity: 90%, specificity: 80%", "tests.x.sensitivity"),
        (NAMELESS % "lr_positive: 9, lr_negative: 0.1", "tests.x.lr_positive"),
        (NAMELESS % "tp: 9, fn: 1, fp: 2, tn: 8", "tests.x.tp"),
    ],
)
def test_numbers_about_one_state_need_its_name(text: str, field: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_model(text)
    assert str(caught.value).startswith(f"{field} is about one of the two states and the file must say which")
    assert "positive: PE or positive: no PE" in str(caught.value)
    assert caught.value.field == tuple(field.split("."))


def test_losses_are_rewards_below_zero() -> None:
    losses = parse_model(SCREENING.replace("commits:", "losses:").replace("-", ""))
    assert_same(losses, parse_model(SCREENING))


def test_rewards_that_cannot_be_losses_are_written_as_rewards() -> None:
    problem = parse_model(FULL)
    gain = replace(problem, menu=replace(problem.flat, commits=(rhoplan.Decision("go", np.array([1.0, -1.0])),)))
    assert "commits:\n  go: {ill: 1, well: -1}" in write_model(gain)


FULL_FAULTS = {
    "a shorthand of two kinds": ("tn: 198", "tn: 198, sensitivity: 0.9", "line 26", "not both"),
    "a shorthand and a likelihood": ("    repeat:", "    tp: 3\n    repeat:", "line 31", "not both likelihood and tp"),
    "half a shorthand": ("    lr_negative: 0.1\n", "", "line 19", "'lr_negative'"),
    "inconclusive beside a likelihood": ("    repeat:", "    inconclusive: 5%\n    repeat:", "line 31", "an outcome"),
    "an impossible inconclusive": ("inconclusive: 5%", "inconclusive: 105%", "line 17", "tests.smear.inconclusive"),
    "an LR+ below 1": ("lr_positive: 18", "lr_positive: 0.5", "line 20", "tests.assay.lr_positive must be above 1"),
    "an LR- above 1": ("lr_negative: 0.1", "lr_negative: 1.1", "line 21", "tests.assay.lr_negative"),
    "an LR- below 0": ("lr_negative: 0.1", "lr_negative: -0.1", "line 21", "tests.assay.lr_negative"),
    "a count that is no count": ("tp: 45", "tp: 4.5", "line 26", "tests.scan.tp must be a whole number"),
    "a negative count": ("fp: 2", "fp: -2", "line 26", "tests.scan.fp"),
    "nobody tested": ("tp: 45, fn: 5", "tp: 0, fn: 0", "line 26", "nobody was tested"),
    "too few outcomes": ("[low, high]", "[low]", "line 22", "2 names"),
    "too many outcomes": ("[low, high]", "[low, mid, high]", "line 22", "2 names"),
    "a misspelt group": ("specificity: 0.95, inconclusive: 5%, group: blood", "specificity: 0.95, group: bloood",
                         "line 17", "'bloood', which is not one of blood, scans"),
    "a group without tests": ("group: scans, ", "", "line 15", "groups.scans has no test"),
    "a negative first price": ("first: 2.10", "first: -2.10", "line 14", "groups.blood.first"),
    "a first price as text": ("first: 2.10", "first: two", "line 14", "groups.blood.first"),
    "an unknown field of a group": ("first: 2.10", "fist: 2.10", "line 14", "'fist'"),
    "groups that are a list": (FULL[FULL.index("groups:"):FULL.index("tests:")], "groups: [blood]\n", "line 13", "map"),
    "an order after nothing": ("after: smear", "after: smeer", "line 24", "tests.assay.after names the test 'smeer'"),
    "an order after itself": ("after: smear", "after: assay", "line 24", "waits for itself"),
    "an order in a circle": ("group: blood}", "group: blood, after: scan}", "line 17", "waits for itself"),
    "an order twice": ("[smear, assay]", "[smear, smear]", "line 26", "stands there twice"),
    "an order that is a map": ("after: smear", "after: {smear: 1}", "line 24", "tests.assay.after"),
    "a prior and a prevalence": ("prevalence: 1%", "prevalence: 1%\nprior: [0.5, 0.5]", "line 12", "not both"),
    "a prevalence of another state": ("prevalence: 1%", "prevalence: {well: 1%}", "line 12", "they must agree"),
    "a prevalence of no state": ("prevalence: 1%", "prevalence: {}", "line 12", "must name one state"),
    "a prevalence of both states": ("prevalence: 1%", "prevalence: {ill: 1%, well: 99%}", "line 12", "for more write"),
    "a prevalence of what is no state": ("prevalence: 1%", "prevalence: {fine: 1%}", "line 12", "'fine'"),
    "a prevalence of 1000%": ("prevalence: 1%", "prevalence: 1000%", "line 12", "prevalence"),
    "a positive state that is none": ("positive: ill", "positive: sick", "line 11", "'sick'"),
    "losses and commits": ("losses:", "commits: {go: [1, 1]}\nlosses:", "line 34", "not both"),
    "neither losses nor commits": (FULL[FULL.index("losses:"):FULL.index("cap:")], "", "line 1", "neither"),
    "a negative loss": ("ill: 1000", "ill: -1000", "line 33", "losses.leave.ill must not be negative"),
    "a cap of nothing": ("{tests: 3, spend: 60.5}", "{}", "line 35", "cap must give"),
    "a cap on half a test": ("tests: 3,", "tests: 2.5,", "line 35", "cap.tests must be a whole number"),
    "a negative budget": ("spend: 60.5", "spend: -1", "line 35", "cap.spend"),
    "an unknown cap": ("spend: 60.5", "money: 60.5", "line 35", "'money'"),
    "info that is text": ("info: {source: a leaflet}", "info: a leaflet", "line 25", "tests.assay.info"),
    "an unknown note": ("about: every", "title: every", "line 4", "'title'"),
    "illustrative as text": ("illustrative: true", "illustrative: maybe", "line 9", "true or false"),
    "an empty note": ("source: a book, page 5", "source: ''", "line 5", "info.source must be text"),
    "a key with a line break": ("horizon: 4", '"hor\\nizon": 4', "line 36", "'hor izon'"),
    "a huge number": ("cost: 40", "cost: 1e200", "line 26", "1e+100"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FULL_FAULTS)
def test_fault_in_a_new_field_is_told_with_its_place(fault: str) -> None:
    before, after, line, words = FULL_FAULTS[fault]
    assert before in FULL
    text = FULL.replace(before, after, 1)
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, file="full.yaml")
    message = str(caught.value)
    assert f"full.yaml, {line})" in message
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("field", ["prevalence: 1%", "positive: a"])
def test_prevalence_and_positive_need_two_states(field: str) -> None:
    with pytest.raises(ModelFileError, match=r"two states; the model has 3.*line 2"):
        parse_model(f"states: [a, b, c]\n{field}\ncommits: {{go: [1, 2, 3]}}\n")


def test_group_needs_groups() -> None:
    with pytest.raises(ModelFileError, match=r"tests\.x\.group needs the field groups.*line 2"):
        parse_model("states: [a, b]\ntests: {x: {cost: 1, tp: 1, fn: 1, fp: 1, tn: 1, group: g}}\nlosses: {go: [1, 1]}")


@pytest.mark.parametrize(("high", "low"), [(18.0, 0.1), (1.0001, 0.9999), (1e100, 0.0), (1.5, 0.0), (1e9, 0.999)])
def test_likelihood_ratios_come_back(high: float, low: float) -> None:
    test = f"{{cost: 1, lr_positive: {high!r}, lr_negative: {low!r}}}"
    problem = parse_model(f"states: [a, b]\npositive: b\ntests: {{x: {test}}}\nlosses: {{go: [1, 1]}}")
    (specificity, false), (missed, sensitivity) = problem.flat.tests[0].likelihood
    assert missed / specificity == pytest.approx(low)
    assert sensitivity / false == pytest.approx(high)


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
        load(file)


def test_binary_file_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "junk.yaml"
    file.write_bytes(b"name: x\nstates: \xff\xfe\n")
    with pytest.raises(ModelFileError, match="line 2"):
        load(file)
    assert LARGEST_FILE > 1_000_000


def test_missing_file_and_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        load(tmp_path / "none.yaml")
    with pytest.raises(ModelFileError, match="must end in"):
        load(tmp_path / "model.txt")


def test_special_files_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    endless = tmp_path / "zero.yaml"
    endless.symlink_to("/dev/zero")
    for file in (pipe, endless, tmp_path / "folder.yaml"):
        if file.name == "folder.yaml":
            file.mkdir()
        with pytest.raises(ModelFileError, match="regular file"):
            load(file)


@pytest.mark.parametrize("name", ["a\\u001b[31m", "a\\ud800", "a\\u007f", "a\\u2028b"])
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


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ud800"])
def test_forbidden_character_names_the_line(character: str) -> None:
    with pytest.raises(ModelFileError, match=r"unacceptable character.*tiger\.yaml, line 7"):
        parse_model(TIGER.replace("cost: 1", f"cost: 1{character}"), file="tiger.yaml")


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
    for key in ("colour", '"colour"', "'colour'"):
        with pytest.raises(ModelFileError, match=r"colour.*m\.toml, line 1"):
            parse_model(f"{key} = 1\n{TIGER_TOML}", file="m.toml", language="toml")
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

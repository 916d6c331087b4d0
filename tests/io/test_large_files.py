"""Large and hostile model files: the work of reading grows with the text, and what could unfold is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import ModelFileError
from rhoplan.io.foreign import PER_CHARACTER, UNWRITTEN, Budget
from rhoplan.io.formats import parse_problem
from rhoplan.io.general import GeneralReader
from rhoplan.io.reader import ModelReader
from rhoplan.io.tree import MOST_DIRECTIVES, MOST_REPEATED, Tree, parse_tree
from rhoplan.model.limits import MOST_ACTIONS

TWO, COMMITS = "states: [a, b]\npositive: b\n", "commits: {x: [1, 0], y: [0, 1]}\n"
RATES = "cost: 1, sensitivity: 1, specificity: 1"


def some_tests(count: int, more: Callable[[int], str] = lambda i: "") -> str:
    return "tests:\n" + "".join(f"  t{i}: {{{RATES}{more(i)}}}\n" for i in range(count))


def listed(count: int, what: str) -> str:
    return ", ".join(what.format(i) for i in range(count))


FILES: dict[str, Callable[[int], str]] = {
    "tests": lambda n: TWO + some_tests(n) + COMMITS,
    "a chain of tests": lambda n: TWO + some_tests(n, lambda i: f", after: t{i + 1}" if i < n - 1 else "") + COMMITS,
    "tests in groups": lambda n: (
        TWO + f"groups: {{{listed(n, 'g{}: {{first: 1}}')}}}\n" + some_tests(n, lambda i: f", group: g{i}") + COMMITS
    ),
    "panels": lambda n: (
        TWO
        + some_tests(n)
        + "panels:\n"
        + "".join(f"  p{i}: {{cost: 1, tests: [t0, t{i}]}}\n" for i in range(1, n))
        + COMMITS
    ),
    "states": lambda n: (
        f"states: [{listed(n, 's{}')}]\nprior: {{{', '.join(f's{i}: {1 / n!r}' for i in range(n))}}}\n"
        f"commits: {{x: {{{listed(n, 's{}: 1')}}}}}\n"
    ),
    "subtypes": lambda n: (
        f"states: [{listed(n, 's{}')}]\nsubtypes: {{{listed(n, 's{}: [u, v]')}}}\ncommits: {{x: [{listed(n, '1')}]}}\n"
    ),
    "outcomes": lambda n: (
        f"states: [a]\ntests: {{t: {{cost: 1, outcomes: [{listed(n, 'o{}')}], likelihood: {{a: {{"
        + ", ".join(f"o{i}: {1 / n!r}" for i in range(n))
        + "}}}}\ncommits: {x: [1]}\n"
    ),
    "commits": lambda n: TWO + "commits:\n" + "".join(f"  c{i}: [{i}, {-i}]\n" for i in range(n)) + some_tests(n),
    "places": lambda n: (
        f"factors: {{f: {{states: [u, v]}}}}\nplaces: [{listed(n, 'p{}')}]\nactions:\n"
        + "".join(f"  a{i}: {{cost: 1, at: p{i}, to: p{(i + 1) % n}}}\n" for i in range(n))
    ),
    "changes": lambda n: (
        f"factors: {{f: {{states: [{listed(n, 's{}')}]}}}}\nactions:\n  go: {{parts: {{f: {{change: {{"
        + ", ".join(f"s{i}: {{s{(i + 1) % n}: 1}}" for i in range(n))
        + "}}}}\n  stop: {ends: true}\n"
    ),
    "tallies": lambda n: (
        f"factors: {{f: {{states: [{listed(n, 's{}')}]}}}}\nactions: {{stop: {{ends: true}}}}\n"
        f"tallies: {{{listed(n, 'y{0}: {{states: [s{0}]}}')}}}\n"
    ),
}


class Counted(str):
    """A name that counts how often names are compared."""

    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other) is True


def counting(tree: Tree) -> Tree:
    items = {Counted(key): counting(one) for key, one in tree.items.items()}
    field = tuple(Counted(part) if isinstance(part, str) else part for part in tree.field)
    return dataclasses.replace(
        tree, text=Counted(tree.text), items=items, field=field, list=tuple(map(counting, tree.list))
    )


def comparisons(text: str) -> int:
    tree = counting(parse_tree(text, file="large.yaml", language="yaml"))
    Counted.comparisons = 0
    (GeneralReader if "factors" in tree.items else ModelReader)("large.yaml").problem(tree)
    return Counted.comparisons


@pytest.mark.parametrize("kind", FILES)
def test_twice_as_much_text_takes_twice_as_many_comparisons(kind: str) -> None:
    small, large = (comparisons(FILES[kind](count)) for count in (60, 120))
    assert large < 2.5 * small + 100


LARGE = {
    "keys of a note": TWO + COMMITS + "info:\n" + "".join(f"  k{i}: text\n" for i in range(20_000)),
    "commits": TWO + "commits:\n" + "".join(f"  c{i}: [1, 2]\n" for i in range(MOST_ACTIONS + 1)),
    "aliases": TWO + f"a: &a [{listed(100, '1')}]\nb: [{', '.join(['*a'] * (MOST_REPEATED // 100 + 1))}]\n",
    "a small alias bomb": "a0: &a0 [x, x, x, x]\n"
    + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 12)),
    "an alias of itself": "states: &a {b: *a}\n",
    "an alias of nothing": "states: *a\n",
    "lists in lists": "a: " + "[" * 200_000,
    "lists in lists, closed": "a: " + "[" * 50_000 + "]" * 50_000,
    "maps in maps": "{a: " * 50_000,
    "dashes": "- " * 100_000,
    "questions": "? " * 100_000,
    "two documents": "--- a\n" * 20_000,
    "directives": "".join(f"%TAG !e{i}! tag:x,2000:{i}\n" for i in range(10_000)) + "---\n" + TWO + COMMITS,
    "digits": TWO + "commits: {x: [" + "9" * 200_000 + ", 1]}\n",
    "merged maps": TWO + f"tests: {{t: &t {{{RATES}}}, u: {{<<: *t}}}}\n" + COMMITS,
    "actions at every place": (
        f"factors: {{f: {{states: [u, v]}}}}\nplaces: [{listed(2_000, 'p{}')}]\n"
        f"actions: {{{listed(2_000, 'a{}: {{cost: 1}}')}}}\n"
    ),
    "outcomes that multiply": (
        f"factors: {{{listed(40, 'f{}: {{states: [u, v]}}')}}}\nactions: {{big: {{parts: {{"
        + listed(40, "f{}: {{outcomes: [n, p], likelihood: {{u: [1, 0], v: [0, 1]}}}}")
        + "}}}\n"
    ),
    "a circle of tests": TWO + some_tests(2_000, lambda i: f", after: t{(i + 1) % 2_000}") + COMMITS,
}


@pytest.mark.parametrize("kind", LARGE)
def test_what_unfolds_or_is_wrong_far_down_is_refused(kind: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_problem(LARGE[kind], file="large.yaml", language="yaml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("json", '{"commits": {' + ", ".join(f'"c{i}": [1]' for i in [*range(10_000), 9_999]) + "}}"),
        ("json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("json", '{"a": ' + "[" * 30 + "]" * 30 + "}"),
        ("json", '{"a": ' + "9" * 100_000 + "}"),
        ("toml", "a = " + "[" * 100_000 + "]" * 100_000),
        ("toml", "a" + ".a" * 100_000 + " = 1\n"),
        ("toml", "[a" + ' . "a"' * 50_000 + "]\nx = 1\n"),
        ("toml", "x = {a" + ".a" * 100_000 + " = 1}\n"),
        ("toml", 'states = ["a"]\ninfo.note = """\n[' + " " * 200_000 + '\n"""\n'),
        ("pomdp", "discount: 0.9\nstates: 10000000\nactions: 1\nobservations: 1\nT: * identity\nO: * uniform\n"),
        ("pomdp", "discount: 0.9\nstates: 1\nactions: 10000000\nobservations: 1\nT: * identity\nO: * uniform\n"),
        ("pomdp", "discount: 0.9\nstates: 7000\nactions: 1\nobservations: 1\nT: * uniform\nO: * uniform\n"),
        ("pomdp", "discount: 0.9\nstates: 2000\nactions: 50\nobservations: 1\n" + "T: * identity\n" * 1_000),
        ("pomdp", f"discount: 0.9\nstates: {'9' * 5000}\nactions: 1\nobservations: 1\n"),
        ("pomdp", "discount: 0.9\nstates: ²\nactions: 1\nobservations: 1\n"),
        ("drn", "@type: POMDP\n@model\nstate " + "9" * 5000),
        ("drn", "@type: POMDP\n@model\nstate 0 {0} [0]\naction a" + " " * 200_000 + "b"),
        ("drn", "@type: POMDP\n@reward_models\n" + "r\n" * 50_000),
        ("drn", "@type: POMDP\n@model\nstate 0 {0} [0] init\n" + "action a [0]\n0 : 1\n" * 5_001),
        ("pomdpx", "<a>" * 50_000),
    ],
)
def test_other_languages_refuse_what_unfolds(language: str, text: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_problem(text, file=f"large.{language}", language=language)
    assert "\n" not in str(caught.value)


def test_aliases_within_measure_are_read_with_their_own_fields() -> None:
    text = TWO + f"tests: {{t: &t {{{RATES}}}, u: *t}}\n" + COMMITS
    tree = parse_tree(text, file="m.yaml", language="yaml")
    assert tree.items["tests"].items["u"].items["cost"].label == "tests.u.cost"
    assert [test.name for test in parse_problem(text, file="m.yaml", language="yaml").flat.tests] == ["t", "u"]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("5", "number"), ("-1.5e3", "number"), ("1_000", "number"), (".5", "number"), (".inf", "number"),
        (".nan", "number"), ("0x1F", "number"), ("0o17", "number"), ("true", "truth"), ("FALSE", "truth"),
        ("yes", "text"), ("on", "text"), ("~", "nothing"), ("null", "nothing"), ("'5'", "text"), ("!!str 5", "text"),
        ("!!int '5'", "number"), ("1e", "text"), ("12:30", "text"), ("1.2.3", "text"), ("5%", "text"),
        ("+.INF", "number"),
    ],
)  # fmt: skip
def test_plain_values_are_what_yaml_1_2_says(written: str, kind: str) -> None:
    assert parse_tree(f"a: {written}\n", file="m.yaml", language="yaml").items["a"].kind == kind


@pytest.mark.parametrize("prepare", [lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\n", "\r")])
def test_line_ends_of_other_systems_are_read(prepare: Callable[[str], str]) -> None:
    assert parse_problem(prepare(TWO + COMMITS), file="m.yaml", language="yaml").states == ("a", "b")


def test_what_a_panel_brings_frees_those_who_wait_for_it() -> None:
    rates = np.array([[0.9, 0.1], [0.2, 0.8]])
    one, other = (
        rhoplan.Test(name, 0.0, ("no", "yes"), rates, False, only_in_panels=True) for name in ("one", "other")
    )
    late = rhoplan.Test("late", 1.0, ("no", "yes"), rates, after=("one",))
    commits = (rhoplan.Decision("x", np.array([1.0, 0.0])), rhoplan.Decision("y", np.array([0.0, 1.0])))
    made = {"tests": (one, other, late), "decisions": commits}
    assert rhoplan.DiagnosticProblem(("a", "b"), panels=[rhoplan.Panel("both", 1.0, ["one", "other"])], **made)
    with pytest.raises(rhoplan.ProblemError) as raised:
        rhoplan.DiagnosticProblem(("a", "b"), **made)
    assert raised.value.code == "test-order-cycle"


def test_tests_that_wait_for_one_another_are_named() -> None:
    tests = "tests:\n" + "".join(
        f"  {name}: {{{RATES}, after: [{after}]}}\n" for name, after in (("a", "b"), ("b", "d"), ("d", "b"))
    )
    with pytest.raises(ModelFileError, match=r"\(b, d\)") as raised:
        parse_problem(f"{TWO}{tests}{COMMITS}", file="circle.yaml", language="yaml")
    assert raised.value.code == "test-order-cycle"


@pytest.mark.parametrize(("more", "refused"), [(0, False), (1, True)])
def test_a_file_may_have_so_many_directives(more: int, refused: bool) -> None:
    directives = "".join(f"%TAG !e{i}! tag:x,2000:{i}\n" for i in range(MOST_DIRECTIVES + more))
    text = f"{directives}---\n{TWO}tests: {{t: {{{RATES}}}}}\n{COMMITS}"
    if not refused:
        assert parse_problem(text, file="large.yaml", language="yaml").flat.tests[0].name == "t"
        return
    with pytest.raises(ModelFileError, match=f"it may have {MOST_DIRECTIVES} directives"):
        parse_problem(text, file="large.yaml", language="yaml")


def test_a_longer_text_may_stand_for_more_numbers() -> None:
    for length in (0, 1000):
        most = UNWRITTEN + PER_CHARACTER * length
        budget = Budget("x" * length, "some.pomdp")
        budget.spend(most)
        with pytest.raises(ModelFileError, match=f"may stand for {most:,} numbers at most"):
            budget.spend(1, line=3)
        budget.close()
        budget.spend(10 * most)

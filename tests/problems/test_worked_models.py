"""The models that ship: each tells its story, reads back, advises the same in any currency, and breaks politely."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest

import rhoplan
from bridge import (
    PROBLEMS,
    WORKED_MODELS,
    _guarded,
    make_agent,
    model_record,
    parse_model,
    write_model,
)
from bridge import solve_bounds as solve
from rhoplan import POMDP, Belief, ProblemError
from serving import PATIENCE
from test_model_file import assert_same

OPTIMA = {
    "bridge": ("look-at-deck", -49.7678),
    "chest-pain": ("pain-type", -280.5567),
    "four-diseases": ("listen-to-chest", -73.5594),
    "leak-search": ("valve-4", -812.1171),
    "printer": ("ping", -23.2603),
    "screening-cascade": ("strip", -29.9857),
    "security-lane": ("scan", -32.5546),
    "tiger-doors": ("listen", 5.1599),
}
"""First action and value of the best plan for reward alone, certified by `solve`."""

models = pytest.mark.parametrize("name", OPTIMA)


def test_eight_models_ship_beside_the_problems() -> None:
    assert list(WORKED_MODELS) == list(OPTIMA)
    assert not set(WORKED_MODELS) & set(PROBLEMS)


@models
def test_model_says_what_it_is_and_where_its_numbers_come_from(name: str) -> None:
    problem = rhoplan.make(name)
    info = problem.details["info"]
    assert (problem.name, problem.spec) == (name, name)
    assert info["about"]
    assert info.get("source") or info["illustrative"]


@models
def test_best_plan_tests_before_it_commits(name: str) -> None:
    problem = rhoplan.make(name)
    found = solve(problem, gap=1e-3, seconds=PATIENCE)
    first, value = OPTIMA[name]
    assert found.converged
    assert found.first == first
    assert found.lower <= value + 1e-4
    assert found.upper >= value - 1e-4
    stop = max(float(commit.reward @ problem.prior) for commit in problem.flat.commits)
    assert value > stop + 0.1 * abs(stop)


@models
@pytest.mark.parametrize("agent", ["planning", "efe"])
def test_agents_begin_as_the_best_plan_and_come_close_to_it(name: str, agent: str) -> None:
    problem = rhoplan.make(name)
    chosen = make_agent(agent, problem)
    assert rhoplan.decide(problem, chosen).choice == OPTIMA[name][0]
    score = rhoplan.evaluate(problem, chosen)
    assert score.truncated < 1e-9
    assert score.reward <= OPTIMA[name][1] + 1e-3
    assert score.reward >= OPTIMA[name][1] - 0.01 * abs(OPTIMA[name][1])


@models
def test_model_reads_back(name: str) -> None:
    problem = rhoplan.make(name)
    for again in (
        parse_model(write_model(problem)),
        parse_model(json.dumps(model_record(problem)), language="json"),
    ):
        assert_same(again, problem)
        assert again.details == problem.details


def test_tiger_is_the_registered_tiger() -> None:
    model, tiger = rhoplan.make("tiger-doors"), rhoplan.make("tiger")
    for mine, other in zip(model.menu(model.start), tiger.menu(tiger.start), strict=True):
        assert (mine.name, mine.reward.tolist(), mine.likelihood.tolist()) == (
            other.name,
            other.reward.tolist(),
            other.likelihood.tolist(),
        )


def test_worked_model_has_no_parameters() -> None:
    with pytest.raises(ProblemError, match="has no parameters"):
        rhoplan.make("printer:n=3")
    with pytest.raises(ProblemError, match="the worked models bridge, chest-pain"):
        rhoplan.make("prnter")


def in_other_money(problem: POMDP, factor: float) -> POMDP:
    """`problem` with every price, loss and cap in a unit of which `factor` make one of the old."""
    record = model_record(problem)
    for test in record["tests"].values():
        test["cost"] *= factor
    for group in record.get("groups", {}).values():
        group["first"] *= factor
    if "spend" in record.get("cap", {}):
        record["cap"]["spend"] *= factor
    for row in record.get("commits", record.get("losses")).values():
        row.update({state: amount * factor for state, amount in row.items()})
    return parse_model(json.dumps(record), language="json")


@models
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_other_money_changes_no_advice(name: str, weight: float) -> None:
    problem = rhoplan.make(name)
    versions = [(problem, make_agent("planning-ig", problem, weight=weight))]
    for factor in (0.01, 100.0):
        other = in_other_money(problem, factor)
        versions.append((other, make_agent("planning-ig", other, weight=weight * factor)))
    seen: set[tuple[object, ...]] = set()
    todo: list[tuple[float, list[Belief]]] = [(1.0, [p.belief() for p, _ in versions])]
    while todo:
        share, beliefs = todo.pop()
        belief = np.asarray(beliefs[0])
        key = (beliefs[0].observable, *belief.round(12).tolist())
        if share < 1e-6 or key in seen:
            continue
        seen.add(key)
        decisions = [rhoplan.decide(*version, at) for version, at in zip(versions, beliefs, strict=True)]
        assert len({decision.choice for decision in decisions}) == 1, (belief, [d.choice for d in decisions])
        if decisions[0].choice not in {commit.name for commit in problem.flat.commits}:
            for branches in zip(*(at.branches(decisions[0].choice) for at in beliefs), strict=True):
                todo.append((share * branches[0].probability, [way.belief for way in branches]))
    assert len(seen) > 3


WRONG = [
    "", "-1", "0", "2", "1e999", "-1e308", ".nan", ".inf", "150%", "-5%", "%", "5 %%", "1e-320", "0x1F", "1_000", "'1'",
    "abc", "true", "null", "~", "[]", "{}", "[1, 2]", "{a: 1}", "[[[]]]", "*a", "&a 1", "!!python/name:os", "|", "é",
    "1e99", "99999999999999999999", "2020-01-01", "0.30000000000000004",
]  # fmt: skip


SIGNS = "[]{}:,-#&*!|>'\"%@`\t\\\x00\x1b\u2028é😀\ud800"


def mutated(text: str, draw: random.Random) -> str:
    """`text` with one to three changes of the kinds that people and editors make."""
    lines = text.rstrip("\n").split("\n")
    for _ in range(draw.choice((1, 1, 2, 3))):
        place = draw.randrange(len(lines))
        line = lines[place]
        start = draw.randrange(len(line) + 1)
        parts = [found.span() for found in re.finditer(r"-?\d[\d.]*%?|[a-z][a-z_-]+|(?<=:) .*", line)]
        first, last = draw.choice([*parts, (start, start)])
        changed = line[:first] + draw.choice([*WRONG, *SIGNS, line[first : last - 1]]) + line[last:]
        ways = ([changed],) * 6, ([], [line, line], ["  " + line], ["\t" + line], [line[1:]])
        lines[place : place + 1] = draw.choice([way for group in ways for way in group])
        lines = lines or [""]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("batch", range(20))
def test_malformed_file_is_refused_in_one_line_or_is_a_problem(batch: int) -> None:
    texts = [path.read_text(encoding="utf-8") for path in WORKED_MODELS.values()]
    refused = 0
    for seed in range(50 * batch, 50 * batch + 50):
        draw = random.Random(seed)
        text = mutated(draw.choices(texts, weights=[1 / len(text) for text in texts])[0], draw)
        try:
            problem = parse_model(text, file="mutant.yaml")
        except ProblemError as error:
            refused += 1
            message = str(error)
            assert "mutant.yaml" in message, (seed, message)
            assert message.isprintable(), (seed, message)
            assert len(message) < 500, (seed, message)
        else:
            rhoplan.check_problem(problem)
            assert parse_model(write_model(problem)).flat.rules == problem.flat.rules
            decision = rhoplan.decide(problem, make_agent("efe", problem, horizon=1))
            assert sum(decision.belief.values()) == pytest.approx(1)
    assert refused >= 10


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What `rhoplan ARGUMENTS` prints."""
    assert _guarded(list(arguments)) == 0
    return capsys.readouterr().out


@models
def test_model_is_shown_and_listed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    info = rhoplan.make(name).details["info"]
    out = printed(capsys, "show", name)
    assert f"about: {info['about']}" in out
    assert ("the numbers are made up" in out) == info.get("illustrative", False)
    assert name in printed(capsys, "list")
    assert_same(parse_model(printed(capsys, "show", name, "--yaml")), rhoplan.make(name))


def test_rules_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "show", "chest-pain")
    assert "The first test of group blood costs 2.10 CAD more" in out
    assert "Cap: at most 4 tests and 300.00 CAD spent on tests." in out
    assert "given as losses" in out
    assert "only after" in printed(capsys, "show", "security-lane")
    plain = printed(capsys, "show", "tiger")
    assert not any(word in plain for word in ("group", "only after", "Cap", "losses", "illustrative"))

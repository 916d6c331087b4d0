"""`python3 run.py adversary --freeze FILE`: random models with the oracle's exact answers, as data.

Each line is one model file with three questions: a decision after some evidence, the score of an agent (perhaps in
another world), and the optimum. A question is a command line of rhoplan; its answers are numbers with the sum of the
sizes of their terms, which is what rounding errors are measured by. Questions whose answer depends on a doubtful tie
are left out.
"""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from adversary.case import Case, action_name, draw_case
from adversary.files import Record, as_yaml, draw_world
from adversary.oracle import Doubtful, Goal, ImpossibleOutcome, Oracle, Places, TooLarge
from adversary.plain import read
from adversary.scores import follow

AGENTS = ("myopic", "planning", "info-gain", "planning-ig", "efe", "epistemic-only")
MOST_DEEP = 6
"""Tests in a row up to which the optimum without a horizon is worked out."""

Answer = list[float]
"""A number, and the sum of the sizes of its terms."""


def freeze(path: Path, models: int) -> int:
    """Write so many models that have at least one question, from seed 0 on; how many questions there are."""
    rows: list[dict[str, Any]] = []
    seed = 0
    while len(rows) < models:
        row = frozen(seed)
        rows += [row] if row["questions"] else []
        seed += 1
    path.write_bytes(lzma.compress("\n".join(map(json.dumps, rows)).encode(), preset=9))
    return sum(len(row["questions"]) for row in rows)


def frozen(seed: int) -> dict[str, Any]:
    """The model of a seed and its questions."""
    case = draw_case(seed)
    questions, worlds = [], {}
    for ask in (decision, score, optimum):
        try:
            question = ask(case)
        except (Doubtful, TooLarge):
            continue
        if question:
            worlds |= question.pop("files", {})
            questions.append(question)
    return {"seed": seed, "files": {"model.yaml": as_yaml(case.record), **worlds}, "questions": questions}


def agent(case: Case, rng: Random, most: int) -> tuple[list[str], Goal]:
    """Options of a random agent, and what the oracle must maximise to act like it."""
    name, unit = rng.choice(AGENTS), rng.choice(["nats", "bits"])
    discount, weight, horizon = rng.choice([1.0, 1.0, 0.95, 0.6]), case.weight(rng), case.horizon(rng, most)
    options = ["--agent", name, "--unit", unit, "--discount", repr(discount)]
    if name in ("myopic", "planning"):
        weight = 0.0
    elif name == "efe":
        weight = 1.0
    else:
        options += ["--weight", repr(weight)]
    if name in ("myopic", "info-gain"):
        horizon = 1
    else:
        options += ["--horizon", str(horizon)]
    return options, Goal(
        horizon, weight if unit == "nats" else weight / math.log(2), discount, name != "epistemic-only"
    )


def decision(case: Case) -> dict[str, Any]:
    """`decide` after some results: the belief, every action's value in parts, and the choices that are accepted."""
    rng = case.dice("freeze decide")
    options, goal = agent(case, rng, 4)
    given, evidence = case.evidence(rng, rng.choice([0, 0, 1, 2, 3]))
    oracle, model = Oracle(case.places, goal), case.model
    if given:
        options += ["--given", ",".join(f"{test}={outcome}" for test, outcome in given)]
    actions: dict[str, dict[str, Answer]] = {}
    for test in case.places.allowed(evidence):
        parts = oracle.parts(evidence, test, goal.horizon)
        actions[model.tests[test].name] = {
            "value": list(parts.worth[:2]),
            "reward": [-parts.price, parts.price],
            "information": [parts.information, 1.0],
            "continuation": list(parts.continuation[:2]),
        }
    for name, worth in zip(model.commits, oracle.commits(evidence), strict=True):
        actions[name] = {"value": list(worth[:2]) if goal.commits_count else [0.0, 0.0]}
    return {
        "command": ["decide", "model.yaml", *options],
        "belief": dict(zip(model.states, case.places.belief(evidence), strict=True)),
        "entropy": [case.places.entropy(evidence), 1.0],
        "actions": actions,
        "choices": [action_name(model, action) for action in oracle.choices(evidence)],
    }


def score(case: Case) -> dict[str, Any]:
    """`evaluate`, for two models in five in a world that differs from the agent's."""
    rng = case.dice("freeze evaluate")
    options, goal = agent(case, rng, 3)
    longest = case.model.longest
    cap = rng.choice([longest + 1, 200]) if longest is not None and longest <= 5 else rng.choice([1, 2, 4, 6])
    options += ["--cap", str(cap)]
    world: Record | None = draw_world(case.record, case.seed) if rng.random() < 0.4 else None
    files = {} if world is None else {"world.yaml": as_yaml(world)}
    if world is not None:
        options += ["--world", "world.yaml"]
    question: dict[str, Any] = {"command": ["evaluate", "model.yaml", *options], "files": files}
    try:
        found = follow(Oracle(case.places, goal), cap=cap, world=None if world is None else Places(read(world)))
    except ImpossibleOutcome:
        return {**question, "refused": True}
    numbers = {
        "reward": [found.reward, found.sizes["reward"] + 1e-7 * found.ground],
        "tests": [found.tests, found.tests],
        "success": [found.success, found.success],
        "truncated": [found.truncated, found.truncated],
    }
    if not found.excluded:
        numbers["log_score"] = [found.log_score, found.sizes["log_score"] + 1e-5]
    return {**question, "numbers": numbers, "variance": [found.variance, found.square]}


def optimum(case: Case) -> dict[str, Any]:
    """`solve`: the value of the best plan, for models of which the oracle can follow every plan to its end."""
    rng, longest = case.dice("freeze solve"), case.model.longest
    if longest is None or longest > MOST_DEEP:
        return {}
    weight, discount = rng.choice([0.0, 0.0, case.weight(rng)]), rng.choice([1.0, 1.0, 0.9])
    best = Oracle(case.places, Goal(longest, weight, discount)).value(case.places.start, longest)
    gap = max(1e-6 * best.size, 1e-9)
    options = ["--weight", repr(weight), "--discount", repr(discount), "--gap", repr(gap)]
    return {"command": ["solve", "model.yaml", *options], "value": list(best[:2])}


def load(path: Path) -> Iterator[dict[str, Any]]:
    """The frozen models of a file."""
    return map(json.loads, lzma.decompress(path.read_bytes()).decode().split("\n"))

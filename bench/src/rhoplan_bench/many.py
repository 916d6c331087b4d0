"""What is promised about dozens of tests that run once: CPU seconds of a core, memory, and how good first actions are.

Kernels are compiled before anything is timed. CPU seconds, since those hardly depend on who else uses the machine; of
commands they are those of the whole process, starting Python and reading the model included.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.advice.case import Adviser
from rhoplan.advice.journal import Case
from rhoplan.agents.agent import decide, make_agent
from rhoplan.api import evaluate
from rhoplan.io.model_file import write_model
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.many import search

CERTIFIED = ((10, 0.1), (12, 1.0), (15, 60.0))
"""Tests, and CPU seconds within which the best plan of random models with two states is certified."""

ADVISED = ((60, 2), (35, 19), (50, 5))
"""Tests and states of models that are advised on."""

FIRST_LIMIT, STEP_LIMIT, MEMORY_LIMIT = 2.0, 1.0, 1e9
"""CPU seconds of the first advice and of each later one; bytes."""

WRONG = 100.0
"""What the wrong decision costs in these models; tests cost 1 to 5."""

TELLING = """
import sys, time
from rhoplan.app.cli import main
try:
    main(sys.argv[1:])
finally:
    try:
        with open("/proc/self/status") as told:
            most = next(line.split()[1] for line in told if line.startswith("VmHWM"))
    except OSError:
        most = "nan"
    print(time.process_time(), most, file=sys.stderr)
"""
"""A command that tells its CPU seconds and its largest memory, in kilobytes, when it ends."""

LITTLE = 1e-5 * WRONG
"""Differences that do not count: a first action is a best one if nothing is worth more than it by more than this."""


def random_model(tests: int, seed: int, states: int = 2) -> POMDP:
    """Tests that run once, each with two outcomes whose chances are drawn from 5% to 95% for every state."""
    dice = random.Random(seed)
    made = []
    for k in range(tests):
        chances = np.array([dice.uniform(0.05, 0.95) for _ in range(states)])
        rows = np.stack([chances, 1 - chances], axis=1)
        made.append(Test(f"test-{k}", round(dice.uniform(1, 5), 2), ("positive", "negative"), rows, repeatable=False))
    names = tuple(f"state-{s}" for s in range(states))
    commits = tuple(Decision(f"treat-{name}", -WRONG * (np.arange(states) != s)) for s, name in enumerate(names))
    return DiagnosticProblem(name=f"random-{tests}x{states}-{seed}", states=names, tests=tuple(made), decisions=commits)


def many_rows(*, models: int = 20, judged: int = 100) -> Iterator[dict[str, Any]]:
    """Rows of the benchmark: `models` of each size are certified, first actions of `judged` compared with the best."""
    warm = random_model(16, 0, 6)
    Adviser(warm, make_agent("efe", warm)).advice()
    solve(random_model(10, 0), method="many")
    for tests, limit in CERTIFIED:
        yield _certified_row(tests, limit, models)
    for tests, seconds in ((20, 2.0), (30, 2.0), (60, 2.0)):
        yield _closing_row(tests, seconds)
    for tests, states in ADVISED:
        yield from _advice_rows(tests, states)
    yield from quality_rows(judged)


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds that `work` takes, and what comes out."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def _row(what: str, seconds: float, limit: float | None, detail: str) -> dict[str, Any]:
    return {"what": what, "seconds": seconds, "limit": limit, "ratio": None, "detail": detail}


def _certified_row(tests: int, limit: float, models: int) -> dict[str, Any]:
    taken, met = [], 0
    for seed in range(models):
        seconds, found = cpu(partial(solve, random_model(tests, seed), method="many", seconds=limit))
        taken.append(seconds)
        met += found.converged
    detail = f": worst of {models}, median {statistics.median(taken):.3f} s; certified {met}"
    return _row(f"certified optimum with {tests} tests, two states (CPU)", max(taken), limit, detail)


def _closing_row(tests: int, seconds: float) -> dict[str, Any]:
    problem, gaps = random_model(tests, 1), list[tuple[float, float]]()
    begin = time.process_time()
    found = search(
        problem, gap=1e-9, seconds=seconds,
        progress=lambda lower, upper, _: gaps.append((time.process_time() - begin, upper - lower)),
    )  # fmt: skip
    told = ", ".join(f"{gap:.3g} after {at:.1f} s" for at, gap in gaps[:: max(1, len(gaps) // 4)])
    detail = f": gap {told}; in the end {found.upper - found.lower:.3g} of {-found.lower:.4g}"
    return _row(f"bounds with {tests} tests, two states (CPU)", time.process_time() - begin, None, detail)


def _advice_rows(tests: int, states: int) -> Iterator[dict[str, Any]]:
    problem = random_model(tests, 1, states)
    size, agent = f"{tests} tests x {states} states", make_agent("efe", problem)
    case, dice, later = Case(problem, agent), random.Random(1), list[float]()
    seconds, first = cpu(lambda: case.adviser().part("first"))
    yield _row(f"first advice on {size} (CPU)", seconds, FIRST_LIMIT, f": {first.content.do}, {first.kind}")
    while case.adviser().first.is_test and len(later) < 8:
        now = case.adviser().first
        seen = dice.choices([one.outcome for one in now.results], [one.probability for one in now.results])[0]
        case.enter(now.do, seen)
        later.append(cpu(lambda: case.adviser().part("first"))[0])
    yield _row(f"each later step on {size} (CPU)", max(later, default=0.0), STEP_LIMIT, f": slowest of {len(later)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.yaml")
        path.write_text(write_model(problem), encoding="utf-8")
        seconds, memory = _command("advise", str(path))
    detail = f": {memory / 1e6:,.0f} MB (limit {MEMORY_LIMIT / 1e6:,.0f}); Python, the file and all three parts"
    yield _row(f"`rhoplan advise` on {size} (CPU of the process)", seconds, None, detail)


def _command(*arguments: str) -> tuple[float, float]:
    """CPU seconds and largest memory, in bytes, of a command that finds its input at an end; nan where unknown."""
    command = [sys.executable, "-c", TELLING, *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    seconds, memory = done.stderr.split()[-2:]
    return float(seconds), 1024 * float(memory)


def quality_rows(models: int, tests: int = 12, seconds: float = 1.0) -> Iterator[dict[str, Any]]:
    """How often the first action is a best one, and what following its plan loses, beside one step ahead."""
    best, lost, taken = (dict[str, list[float]]() for _ in range(3))
    for seed in range(models):
        problem = random_model(tests, seed)
        optimum = known_value(problem, problem.belief())
        for name, plan in (("branch and bound", _searched), ("one step ahead", _one_step)):
            spent, (first, value) = cpu(partial(plan, problem, seconds))
            worth = optimum if value >= optimum - LITTLE else first_worth(problem, first)
            best.setdefault(name, []).append(worth >= optimum - LITTLE)
            lost.setdefault(name, []).append((optimum - value) / abs(optimum))
            taken.setdefault(name, []).append(spent)
    for name in best:
        what = f"a plan by {name} for {tests} tests, two states (CPU)"
        mean, worst = (f"{100 * share:.2f}%" for share in (statistics.fmean(lost[name]), max(lost[name])))
        detail = f": worst of {models}; first action a best one in {sum(best[name]):.0f}, loss {mean} above the least"
        yield _row(what, max(taken[name]), None, f"{detail} on average, {worst} at most")


def known_value(problem: POMDP, situation: Belief) -> float:
    """What the best plan from `situation` on is worth."""
    return search(problem, situation, gap=LITTLE / 10).lower


def first_worth(problem: POMDP, name: str) -> float:
    """What the best plan that begins with the action called `name` is worth."""
    start = problem.belief()
    action = next(one for one in problem.menu(start.observable) if one.name == name)
    reward = float(start.beliefs[0] @ action.reward)
    if action.ends_episode:
        return reward
    return reward + sum(one.probability * known_value(problem, one.belief) for one in start.branches(action))


def _searched(problem: POMDP, seconds: float) -> tuple[str, float]:
    found = search(problem, gap=LITTLE, seconds=seconds)
    return found.first, found.reward


def _one_step(problem: POMDP, seconds: float) -> tuple[str, float]:
    agent = make_agent("myopic", problem)
    return decide(problem, agent).choice, evaluate(problem, agent).reward

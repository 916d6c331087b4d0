"""What is promised about time, on two quiet cores: limits that are kept, advice at once, files that are read at once.

No test looks at a clock, so these promises stand here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rhoplan._old.graph import shared_graph
from rhoplan.advice.case import advise
from rhoplan.advice.uncertain.uncertainty import uncertainty
from rhoplan.agents.agent import decide, make_adviser, make_agent
from rhoplan.io.model_file import parse_model
from rhoplan.planning.certified.solve import solve
from rhoplan.problems.registry import WORKED_MODELS, make

TRIES = 3


def row(what: str, limit: float | None, work: Callable[[], object]) -> dict[str, Any]:
    """The row of a benchmark: seconds that `work` takes, beside `limit`, which None promises nothing about."""
    return {"what": what, "seconds": timed(work)[0], "limit": limit, "ratio": None, "detail": ""}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that `work` takes, and what comes out."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def promise_rows() -> Iterator[dict[str, Any]]:
    """Of what needs no compiler: the slowest worked model to read and to advise on, and a solver told to stop."""
    read = {name: timed(partial(_read, name))[0] for name in WORKED_MODELS}
    yield _slowest("read a worked model and decide one test ahead", 2.0, read)
    yield _slowest("advice on a worked model, its graph at hand", 0.3, {name: _advice(name) for name in WORKED_MODELS})
    problem = make("tileworld:n=6")
    yield row("solve tileworld:n=6 for 0.3 s", 5.0, partial(solve, problem, seconds=0.3, gap=1e-6))


def uncertain_row() -> dict[str, Any]:
    """Everything that is told of uncertain numbers, with 10,000 versions drawn."""
    problem = make("chest-pain")
    work = partial(uncertainty, problem, make_adviser(problem), spread=0.1, samples=10_000)
    return row("what uncertain numbers of chest-pain mean, 10,000 versions", 20.0, work)


def compiled_rows() -> Iterator[dict[str, Any]]:
    """Of what is compiled first: decisions in the time allowed, the best of some tries."""
    problem = make("inspection:n=8")
    agent = make_agent("planning", problem, planner="anytime", seconds=0.05)
    seconds = min(timed(partial(decide, problem, agent))[0] for _ in range(TRIES))
    what = "decide on inspection:n=8, planner anytime, 0.05 s allowed (a depth that is begun is ended)"
    yield {"what": what, "seconds": seconds, "limit": 1.0, "ratio": None, "detail": ""}
    for method in ("pomcp", "mcts"):
        yield _search(method, 0.2)


def _read(name: str) -> None:
    problem = parse_model(WORKED_MODELS[name].read_text(encoding="utf-8"), file=name)
    decide(problem, make_agent("efe", problem, horizon=1))


def _advice(name: str) -> float:
    """Seconds for advice after one result, for a weight that nobody has asked about: the best of some tries."""
    problem = make(name)
    first = advise(problem, make_agent("planning-ig", problem, weight=1.0))
    given = [(first.do, first.results[0].outcome)] if first.is_test else []
    agents = [make_agent("planning-ig", problem, weight=1.1 + 0.1 * place) for place in range(TRIES)]
    return min(timed(partial(advise, problem, agent, given, graph=shared_graph(problem)))[0] for agent in agents)


def _search(method: str, seconds: float) -> dict[str, Any]:
    from rhoplan.planning.tree_search import TreeSearch, TreeSearchSettings

    problem = make("rocksample:n=7,k=8")
    settings = TreeSearchSettings(method, problem.horizon, extra_depth=3, simulations=None, seconds=seconds)
    search = TreeSearch(problem, settings, weight=0.0 if method == "pomcp" else 1.0)
    search.run(problem.belief())
    taken, found = timed(partial(search.run, problem.belief(), seed=1))
    what = f"{method} on rocksample:n=7,k=8, {seconds:g} s allowed"
    detail = f": {found.simulations:,} simulations, 1,000 promised"
    return {"what": what, "seconds": taken, "limit": 3 * seconds, "ratio": None, "detail": detail}


def _slowest(what: str, limit: float, seconds: dict[str, float]) -> dict[str, Any]:
    name = max(seconds, key=lambda name: seconds[name])
    detail = f": the slowest of {len(seconds)}, {name}"
    return {"what": what, "seconds": seconds[name], "limit": limit, "ratio": None, "detail": detail}

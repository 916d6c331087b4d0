"""Searches that sample, as the paper tells of them: POMCP with a larger budget, and MCTS-EFE beside POMCP and EFE.

Both searches are the corrected ones (costs are subtracted, rollouts begin from the evidence at hand, what a commit is
worth is known); where a printed number is contradicted, the reason says which way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rhoplan.problems.registry import make
from rhoplan_paper.compare import Number, judge
from rhoplan_paper.context import UNITS, Context, ask, exact_job, search_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Cell, Quote, Row, published, quotes_of, select
from rhoplan_paper.registry import study
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, UNCHECKED, Finding, Outcome, Sheet
from rhoplan_paper.tables.rows import measured
from rhoplan_paper.told.findings import counted, mean, setting, told
from rhoplan_paper.told.results import difference, every_quote, text_of
from rhoplan_paper.verdicts import same

SEEDS = 5
TILES = "tileworld:n=6"

TABLE_HORIZONS = {"tiger": 6, "diagnosis": 3, TILES: 2}
"""Horizons of the problems' own tables."""

Key = tuple[str, str, int, int, str]
"""Problem, agent, simulations, horizon, unit of the weight."""


def _known(result: Mapping[str, Any], column: str, spec: str) -> Number:
    found = measured(result, column, spec)
    if column != "success" or "columns" not in result:
        return found
    # Even all successes leave an error: the spread counts one more success and one more failure.
    episodes = int(result["episodes"])
    share = (found.mean * episodes + 1) / (episodes + 2)
    sd = math.sqrt(share * (1 - share))
    return replace(found, sd=sd, se=sd / math.sqrt(episodes))


def _time(quote: Quote, cell: Cell) -> Finding:
    return told(quote, cell, UNCHECKED, "the time of another program on another machine cannot be measured here")


def _which_way(finding: Finding, cell: Cell, ours: Mapping[str, Number], scale: float) -> Finding:
    """`finding`, and for a contradicted one by how much ours differs, and why."""
    if finding.verdict != CONTRADICTED or cell.value is None:
        return finding
    apart = {unit: one.mean / scale - cell.value for unit, one in ours.items()}
    told_apart = "; ".join(f"{value:+.1f}{f' in {unit}' if len(apart) > 1 else ''}" for unit, value in apart.items())
    return replace(finding, reason=f"{finding.reason}; ours, corrected, differs by {told_apart}")


BUDGET, USUAL = 5000, 1000
POMCP_EPISODES = 1000
POMCP_QUICK = {"tiger": 100, "diagnosis": 500}
"""Episodes per seed of a quick run: enough to tell the printed shares from ours, or not, as a full run does."""


def build_pomcp_compute(context: Context) -> Outcome:
    """POMCP with 5,000 and with 1,000 simulations, beside the exact score of EFE."""
    jobs: dict[tuple[str, Any], Job] = {}
    for spec, horizon in ((spec, TABLE_HORIZONS[spec]) for spec in POMCP_QUICK):
        episodes = {
            USUAL: context.episodes(POMCP_EPISODES),
            BUDGET: POMCP_EPISODES if context.full else POMCP_QUICK[spec],
        }
        jobs |= {(spec, b): search_job(spec, "pomcp", b, horizon, "nats", count) for b, count in episodes.items()}
        jobs |= {(spec, unit): exact_job(spec, "efe", horizon=horizon, unit=unit) for unit in UNITS}
    results = ask(context, jobs)
    total = SEEDS * POMCP_EPISODES

    def check(quote: Quote, cell: Cell) -> Finding:
        if cell.column == "simulations":
            return setting(quote, cell, float(BUDGET), "simulations per decision")
        if cell.column == "compute":
            return setting(quote, cell, BUDGET / USUAL, "simulations against those of the table")
        if cell.column == "milliseconds":
            return _time(quote, cell)
        spec = str(cell.row["problem"])
        if cell.row["agent"] == "efe":
            return mean(quote, cell, {u: _known(results[spec, u], "success", spec) for u in UNITS}, total, "", 0.01)
        ours = {"": _known(results[spec, BUDGET], "success", spec)}
        found = mean(quote, cell, ours, total, text_of(ours[""], percent=True), 0.01)
        return _which_way(replace(found, exact=""), cell, ours, 0.01)

    rows = []
    for (spec, kind), result in results.items():
        name = f"POMCP, {kind:,} simulations" if isinstance(kind, int) else f"EFE, exact, w = 1 per {kind[:-1]}"
        success, reward, tests = (_known(result, column, spec) for column in ("success", "reward", "tests"))
        printed = [one.text for one in select("pomcp-compute success") if one.row["problem"] == spec]
        said = printed[0] if kind == BUDGET else printed[1] if kind in UNITS and len(printed) > 1 else ""
        count = f"{result['episodes']:,}" if "columns" in result else ""
        rows.append((spec, name, count, said, text_of(success, percent=True), text_of(reward), text_of(tests)))
    headings = (
        "problem",
        "agent",
        "episodes: ours",
        "success: published",
        "success: ours",
        "reward: ours",
        "tests: ours",
    )
    notes = ("POMCP plans at the horizon of the problem's own table, and looks 3 actions further",)
    return Outcome(Sheet(headings, tuple(rows), notes), every_quote("pomcp-compute", check))


NAMED = 200
"""The one number of episodes that the paper names, and ours per seed."""

QUICK, FEW = 100, 40
"""Episodes per seed of a quick run, and of the slowest search in a full one."""

DEEPER = 5
"""A second horizon on the grid, where the paper names none: from here to 7 the exact planner's score is the same."""

MORE = 200
"""Simulations with which the search on the grid does what the exact planner does."""

DEEP = (("bandit", 10), ("diagnosis:n=8", 10))
"""Problems with at least three tests, and a horizon that exact planning reaches on them."""


def build_mcts_efe(context: Context) -> Outcome:
    """Every search that the text names, and the exact planner at the same horizon beside it."""
    episodes = NAMED if context.full else QUICK
    rows = [cell.row for quote in quotes_of("mcts-efe") for cell in quote.cells if "agent" in cell.row]
    places = dict.fromkeys((key[0], key[3]) for key in map(_key, rows))
    deep = {place: exact_job(place[0], "efe", horizon=place[1]) for place in DEEP}
    exact = {(spec, "efe", 0, horizon, unit): exact_job(spec, "efe", horizon=horizon, unit=unit)
             for spec, horizon in places for unit in UNITS}  # fmt: skip
    exact[TILES, "efe", 0, DEEPER, "bits"] = exact_job(TILES, "efe", horizon=DEEPER, unit="bits")
    context.results([*exact.values(), *deep.values()])
    planned = {key: context.result(one) for key, one in exact.items()}
    jobs: dict[Key, Job] = {}
    for spec, agent, simulations, horizon in dict.fromkeys(map(_key, rows)):
        if agent != "efe":
            alike = same(*(planned[spec, "efe", 0, horizon, unit] for unit in UNITS))
            for unit in ("nats",) if agent == "pomcp" else UNITS if context.full and not alike else ("bits",):
                key = spec, agent, simulations, horizon, unit
                jobs[key] = search_job(*key, episodes)
    jobs |= {
        (TILES, "pomcp", n, DEEPER, "nats"): search_job(TILES, "pomcp", n, DEEPER, "nats", episodes) for n in (50, 200)
    }
    further = [(TILES, "mcts", MORE, 2, "bits"), *([(TILES, "mcts", 50, DEEPER, "bits")] if context.full else [])]
    jobs |= {key: search_job(*key, context.episodes(NAMED) if key[2] == MORE else FEW) for key in further}
    results = {**ask(context, jobs), **planned}
    reached = [(spec, horizon) for (spec, horizon), one in deep.items() if "limit" not in context.result(one)]

    def ours(row: Row, column: str) -> dict[str, Number]:
        key = _key(row)
        return {u: _known(results[(*key, u)], column, key[0]) for u in UNITS if (*key, u) in results}

    def check(quote: Quote, cell: Cell) -> Finding:
        if quote.id == "search-limits":
            return _limit(quote, cell, reached)
        if cell.column in ("seconds", "milliseconds"):
            return _time(quote, cell)
        if cell.column == "states":
            return counted(quote, cell, float(len(make(TILES).states)), "cells of the grid")
        if cell.column == "success_gap" or (
            quote.id == "mcts-tileworld" and cell.row.get("agent") in ("mcts", "pomcp")
        ):
            return _on_the_grid(quote, cell, results)
        if "agent" not in cell.row:
            return _search_setting(quote, cell)
        return _search_finding(quote, cell, ours(cell.row, cell.column), results)

    shown = [_row(key, results[key], rows) for key in sorted(results, key=_in_order)]
    headings = ("problem", "search", "simulations", "horizon", "weight per", "success: published", "success: ours",
                "reward: published", "reward: ours", "tests: ours")  # fmt: skip
    notes = (
        f"searches: {SEEDS} x {episodes} episodes; with weights per nat too in a full run, where the policy differs; "
        "simulations 0: the exact planner, exact score",
        "the paper names no number of episodes; taken as the fewest, in steps of 200, that can give the printed shares",
        f"the text names no horizon for the grid; tried are 2, as in its tables, and {DEEPER}; POMCP looks 3 further",
    )
    return Outcome(Sheet(headings, tuple(shown), notes), every_quote("mcts-efe", check))


def _key(row: Row) -> tuple[str, str, int, int]:
    """Problem, agent, simulations and horizon; those of Tiger's searches are 500 and 10 where a row leaves them out."""
    spec, agent = str(row["problem"]), str(row["agent"])
    deep = 10 if spec == "tiger" and agent != "efe" else TABLE_HORIZONS[spec]
    return spec, agent, int(float(row.get("simulations", 0))), int(float(row.get("horizon", deep)))


def _in_order(key: Key) -> tuple[Any, ...]:
    spec, agent, simulations, horizon, unit = key
    return ("tiger", "diagnosis", TILES).index(spec), horizon, ("efe", "mcts", "pomcp").index(agent), simulations, unit


def _row(key: Key, result: Mapping[str, Any], rows: list[Row]) -> tuple[str, ...]:
    spec, agent, simulations, horizon, unit = key
    printed = dict.fromkeys(("success", "reward"), "")
    for quote in reversed(quotes_of("mcts-efe")):
        for cell in quote.cells:
            if cell.row in rows and cell.column in printed and _key(cell.row) == key[:4]:
                printed[cell.column] = cell.text
    success, reward, tests = (_known(result, column, spec) for column in ("success", "reward", "tests"))
    return (
        spec, agent, str(simulations), str(horizon), "" if agent == "pomcp" else unit.removesuffix("s"),
        printed["success"], text_of(success, percent=True), printed["reward"], text_of(reward), text_of(tests),
    )  # fmt: skip


def fewest_episodes(cells: Iterable[Cell]) -> int:
    """The least multiple of NAMED in which every printed share of `cells` is a share, up to rounding."""
    shares = [(one.value, one.rounding) for one in cells if one.column == "success" and one.value is not None]
    for episodes in range(NAMED, 10 * NAMED, NAMED):
        steps = [(share, rounding, round(share * episodes / 100) * 100 / episodes) for share, rounding in shares]
        if all(abs(share - possible) <= rounding * (1 + 1e-9) for share, rounding, possible in steps):
            return episodes
    return 10 * NAMED


def _search_finding(quote: Quote, cell: Cell, ours: Mapping[str, Number], results: Mapping[Key, Any]) -> Finding:
    percent = cell.column == "success"
    scale = 0.01 if percent else 1.0
    spec, agent, _, horizon = _key(cell.row)
    by_unit = ours if len(ours) > 1 else {"": next(iter(ours.values()))}
    simulated = "" if agent == "efe" else _texts(by_unit, percent)
    found = mean(quote, cell, by_unit, fewest_episodes(quote.cells), simulated, scale)
    if agent == "efe":
        return found
    units = UNITS if len(ours) > 1 else ("nats",)
    planner = {unit: _known(results[spec, "efe", 0, horizon, unit], cell.column, spec) for unit in units}
    exact = _texts(planner, percent)
    found = replace(found, exact=exact if agent == "mcts" else "")
    found = _which_way(found, cell, by_unit, scale)
    reason = f"{found.reason}; the exact planner at H = {horizon}: {exact}"
    return replace(found, reason=reason)


def _on_the_grid(quote: Quote, cell: Cell, results: Mapping[Key, Any]) -> Finding:
    """A printed number of a search on the grid, whose horizon the paper does not state: beside ours at two horizons."""
    column = "success" if cell.column == "success_gap" else cell.column
    percent = column == "success"

    def known(agent: str, simulations: int, horizon: int, unit: str) -> Number:
        return _known(results[TILES, agent, simulations, horizon, unit], column, TILES)

    units = [unit for unit in UNITS if (TILES, "mcts", 50, 2, unit) in results]
    searches = {f"{unit}, H = 2": known("mcts", 50, 2, unit) for unit in units}
    searches[f"exact planner, bits, H = {DEEPER}"] = known("efe", 0, DEEPER, "bits")
    candidates = searches
    if cell.row.get("agent") == "pomcp" or "versus" in cell.row:
        budget = int(float(cell.row["simulations"]))
        others = {h: known("pomcp", budget, h, "nats") for h in (2, DEEPER)}
        candidates = {f"H = {h}": one for h, one in others.items()}
        if "versus" in cell.row:
            horizons = [2 if name.endswith("H = 2") else DEEPER for name in searches]
            pairs = zip(searches.items(), horizons, strict=True)
            candidates = {name: difference(one, others[h]) for (name, one), h in pairs}
    episodes = fewest_episodes(published().quotes["mcts-tileworld"].cells)
    scale = 0.01 if percent else 1.0
    fits = [name for name, one in candidates.items() if judge(cell, {"": one}, episodes, scale).verdict == CONFIRMED]
    verdict = CONTRADICTED if not fits else CONFIRMED if len(fits) == len(candidates) else UNCHECKED
    shown = "; ".join(f"{text_of(one, percent)} ({name})" for name, one in candidates.items())
    reason = f"no horizon is stated; ours: {shown}; what fits: {', '.join(fits) or 'none'}"
    if cell.row.get("agent") == "mcts":
        more, scans = (
            known("mcts", MORE, 2, "bits"),
            [results[TILES, "efe", 0, h, "bits"]["tests"] for h in (2, DEEPER)],
        )
        reason += (
            f"; with {MORE} simulations at H = 2 it is {text_of(more, percent)}; the printed pair means "
            f"{_implied_tests():.1f} scans per episode, the exact planner takes {scans[0]:.1f} at H = 2 and "
            f"{scans[1]:.1f} at H = {DEEPER}"
        )
    simulated = "; ".join(f"{text_of(one, percent)} ({name})" for name, one in candidates.items() if one.se)
    planner = "; ".join(f"{text_of(one, percent)} ({name})" for name, one in candidates.items() if not one.se)
    return told(quote, cell, verdict, reason, simulated=simulated, exact=planner)


def _texts(by_unit: Mapping[str, Number], percent: bool) -> str:
    several = len(by_unit) > 1
    return "; ".join(f"{text_of(one, percent)}{f' ({unit})' if several else ''}" for unit, one in by_unit.items())


def _implied_tests() -> float:
    """Scans per episode that the printed success and reward of the search on the grid speak for."""
    success, reward = (select(f"mcts-tileworld agent=mcts {column}")[0].number for column in ("success", "reward"))
    flat = make(TILES).flat
    right, wrong = float(flat.commits[0].reward.max()), float(flat.commits[0].reward.min())
    share = success / 100
    return (share * right + (1 - share) * wrong - reward) / float(flat.tests[0].cost)


def _search_setting(quote: Quote, cell: Cell) -> Finding:
    """A setting told by itself: it is used if one of the quote's searches has it."""
    if cell.column == "episodes":
        return setting(quote, cell, float(NAMED), "episodes")
    place = {"simulations": 2, "horizon": 3}[cell.column]
    used = {float(_key(one.row)[place]) for one in quote.cells if one.row.get("agent") in ("mcts", "pomcp")}
    chosen = cell.value if cell.value in used else min(used)
    return setting(quote, cell, float(chosen), cell.column)


def _limit(quote: Quote, cell: Cell, reached: list[tuple[str, int]]) -> Finding:
    """The printed limit of exact search, against horizons that exact planning reaches with three tests or more."""
    limit = max(one.number for one in select("search-limits horizon"))
    beyond = [(spec, horizon) for spec, horizon in reached if horizon > limit]
    parts = [f"{spec} ({len(make(spec).flat.tests)} tests) at H = {horizon}" for spec, horizon in reached]
    reason = f"merging equal beliefs, exact planning reaches {', '.join(parts) or 'no deeper'}"
    return told(quote, cell, CONTRADICTED if beyond else CONFIRMED, reason, exact="; ".join(parts))


study("pomcp-compute", build_pomcp_compute)
study("mcts-efe", build_mcts_efe)

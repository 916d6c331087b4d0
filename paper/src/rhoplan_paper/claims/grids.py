"""Claims about agents that walk: RockSample, Structural Inspection, Navigation."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLEAR, Ours, apart, leads, rows, with_error
from rhoplan_paper.context import UNITS, Context, ask, at_once, exact_job, score_job, simulate_job, unit_jobs
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import CONTRADICTED, UNCHECKED, Found, Verdict
from rhoplan_paper.tables.rows import number
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import percent, signed

LARGEST = "rocksample:n=11,k=11"
APPENDIX = ("rocksample:n=5,k=3,layout=appendix", "rocksample:n=7,k=4,layout=appendix")
INSPECTIONS = ("inspection:n=8", "inspection:n=16")
GRIDS = (3, 5, 7)
WALKERS = ("nav-myopic", "info-gain", "efe")

PRINTED_CAP = 200
"""Steps after which the published Navigation runs gave up, whatever the caption says."""


@claim("rocksample-greedy-row")
def rocksample_greedy_row(context: Context) -> Found:
    problems = [str(one.row["problem"]) for one in select("rocksample reward agent=greedy")]
    sample, leave = (cell("rocksample-setting", "correct", action=name).number for name in ("sample", "exit"))
    cost = -cell("rocksample-setting", "cost").number
    least = ask(context, {problem: job("shortest_walk", problem=problem) for problem in problems})
    rows = {p: {c.column: c for c in select(f"rocksample good bad reward problem={p} agent=greedy")} for p in problems}
    impossible, told = [], []
    for problem, row in rows.items():
        good, bad, reward = (row[name] for name in ("good", "bad", "reward"))
        net = sample * (good.number - bad.number) + leave - reward.number
        rounding = (sample * (good.rounding + bad.rounding) + reward.rounding) / cost
        rocks, moves = least[problem]["rocks"], least[problem]["moves"]
        needed = moves + rocks + 1
        every_rock = good.number + bad.number >= rocks - good.rounding - bad.rounding
        impossible += [problem] if every_rock and net / cost + rounding < needed else []
        told.append(f"{problem} {net / cost:.1f} ± {rounding:.1f} steps of at least {needed}")
    printed = {name: one.text for name, one in rows["rocksample:n=7,k=8"].items()}
    verdict = by_unit({"": not impossible})
    return found(verdict, sample=sample, leave=leave, cost=cost, told=told, impossible=impossible, printed=printed)


@claim("rocksample-11-11-tie")
def rocksample_11_11_tie(context: Context) -> Found:
    depths = (2, 3, 4)
    agents = ("planning", "efe")
    derived = {agent: score_job(LARGEST, agent, planner="anytime", horizon=1, unit="nats") for agent in agents}
    compared, better = at_once(
        lambda: leads(context, [(LARGEST, depth) for depth in depths]), lambda: ask(context, derived)
    )
    tie = {unit: same(compared[0].planning, compared[0].efe[unit]) for unit in UNITS}
    gaps = {unit: [lead.gap(unit) for lead in compared] for unit in UNITS}
    deeper = {u: max(gaps[u][1:]) > 0 for u in UNITS}
    earned = [float(lead.planning["reward"]) for lead in compared]
    more = max(earned[1:]) > earned[0] + SAME
    shallow = "since the search is too shallow: a deeper one earns more, or brings EFE a lead"
    return found(
        by_parts(
            {"EFE and Planning come out equal": tie, shallow: {u: more or deeper[u] for u in UNITS}},
            core=[shallow],  # That they are equal is a number of the table, and judged there; what is said is why.
        ),
        tie=all(tie.values()),
        told=[
            f"{u}: " + ", ".join(f"H={d} {signed(g, 3)}" for d, g in zip(depths, gaps[u], strict=True)) for u in UNITS
        ],
        deeper=any(deeper.values()),
        earned=earned,
        better=better,
        efe=compared[0].efe["nats"]["reward"],
    )


@claim("depth-3-intractable")
def depth_3_intractable(context: Context) -> Found:
    jobs = {"size": job("look_ahead", problem=LARGEST, horizon=3), "score": exact_job(LARGEST, "efe", horizon=3)}
    ours = ask(context, jobs)
    depth = cell("rocksample-11-11-depth", "horizon", tractable="no").text
    if limits := [one["limit"] for one in ours.values() if "limit" in one]:
        return found(by_unit({"": True}), "depth-3-did-not-fit", limit=limits[0], depth=depth)
    return found(by_unit({"": False}), depth=depth, **ours)


@claim("rule-beats-greedy")
def rule_beats_greedy(context: Context) -> Found:
    jobs: dict[tuple[str, str], Job] = {}
    for problem in APPENDIX:
        jobs[problem, "greedy"] = exact_job(problem, "greedy")
        jobs |= {(problem, unit): one for unit, one in unit_jobs(problem, "heuristic", weight=1.0).items()}
    ours = ask(context, jobs)
    bad = {key: float(result["tallies"]["bad"]) for key, result in ours.items()}
    reward = {key: float(result["reward"]) for key, result in ours.items()}
    holds = {
        unit: all(2 * bad[p, unit] < bad[p, "greedy"] and reward[p, unit] > reward[p, "greedy"] for p in APPENDIX)
        for unit in UNITS
    }
    texts = [
        f"{_size(p)} {bad[p, 'nats']:.2f} bad rocks and {signed(reward[p, 'nats'])}, Greedy {bad[p, 'greedy']:.2f} and "
        f"{signed(reward[p, 'greedy'])}"
        for p in APPENDIX
    ]
    return found(by_unit(holds), texts=texts)


@claim("rule-weight-one")
def rule_weight_one(context: Context) -> Found:
    weights = (1.0, 5.0, 10.0)
    keys = list(product(APPENDIX, UNITS, weights))
    ours = ask(context, {(p, u, w): exact_job(p, "heuristic", weight=w, unit=u) for p, u, w in keys})
    reward = {key: float(result["reward"]) for key, result in ours.items()}
    small, large = APPENDIX
    holds = {
        unit: all(math.isclose(reward[small, unit, w], reward[small, unit, 1.0]) for w in weights[1:])
        and all(reward[large, unit, 1.0] > reward[large, unit, w] for w in weights[1:])
        for unit in UNITS
    }
    texts = [
        f"{_size(p)} in {u}: " + ", ".join(f"w={w:g} {signed(reward[p, u, w])}" for w in weights)
        for p, u in product(APPENDIX, UNITS)
    ]
    return found(by_unit(holds), texts=texts)


def _size(problem: str) -> str:
    return problem.partition(",layout")[0]


@claim("inspection-best-trade-off")
def inspection_best_trade_off(context: Context) -> Found:
    others = ("greedy", "planning", "planning-ig")
    named = {(p, a): ("inspection", {"problem": p, "agent": a}) for p in INSPECTIONS for a in (*others, "efe")}
    best_jobs = {problem: job("ceiling", problem=problem) for problem in INSPECTIONS}
    ours, best = at_once(lambda: rows(context, named), lambda: ask(context, best_jobs))
    reward, right = ({key: one.mean(name) for key, one in ours.items()} for name in ("reward", "accuracy"))
    pairs = list(product(INSPECTIONS, others))
    better = [f"{a} on {p}" for p, a in pairs if reward[p, a] >= reward[p, "efe"] and right[p, a] >= right[p, "efe"]]
    texts = [
        f"{p}: "
        + ", ".join(f"{a} {signed(reward[p, a])} at {percent(right[p, a])}" for a in ("planning", "planning-ig", "efe"))
        + (f", best possible {signed(best[p]['optimum'][0])}" if best[p]["optimum"] else "")
        for p in INSPECTIONS
    ]
    small = INSPECTIONS[0]
    return found(
        Verdict(CONTRADICTED if better else UNCHECKED, "nats"),
        better=better,
        richer=[f"{a} on {p}" for p, a in pairs if reward[p, a] > reward[p, "efe"]],
        texts=texts,
        efe=reward[small, "efe"],
        best=best[small]["optimum"][0],
        planning=reward[small, "planning"],
    )


@claim("inspection-16-parity")
def inspection_16_parity(context: Context) -> Found:
    named = {agent: ("inspection", {"problem": INSPECTIONS[1], "agent": agent}) for agent in ("planning", "efe")}
    ours = rows(context, named, simulated=True)
    planning, efe = ours["planning"], ours["efe"]
    gain, gap = (efe.mean(column) - planning.mean(column) for column in ("accuracy", "reward"))
    spread = math.hypot(*(one.simulated("reward").sd or 0.0 for one in ours.values()))
    errors = abs(gap) / (spread / math.sqrt(efe.line.episodes))
    return found(
        by_unit({"nats": gain > 0 and errors < 2}),
        gain=gain,
        gap=gap,
        errors=errors,
        episodes=efe.line.episodes,
        tests={name: one.mean("tests") for name, one in ours.items()},
        simulated=[f"{name} {with_error(one.simulated('reward'))}" for name, one in ours.items()],
        exact=[f"{name} {signed(one.mean('reward'))}, {percent(one.mean('accuracy'))}" for name, one in ours.items()],
    )


def walkers(context: Context) -> dict[tuple[int, str], Ours]:
    """The printed Navigation rows by grid and agent, with the caption's step cap and the sensor of the right cell."""
    return rows(context, {(n, a): ("navigation", {"problem": _grid(n), "agent": a}) for n in GRIDS for a in WALKERS})


def _grid(size: int) -> str:
    return f"navigation:n={size}"


def _with_printed_cap(context: Context, sizes: tuple[int, ...]) -> dict[tuple[int, str], Job]:
    settings: dict[str, dict[str, Any]] = {"nav-myopic": {}, "info-gain": {"weight": 1.0}}
    settings["efe"] = {"weight": 1.0, "horizon": 2}
    episodes = context.episodes(150)
    return {
        (n, agent): simulate_job(_grid(n), agent, episodes=episodes, cap=PRINTED_CAP, unit="nats", **more)
        for n in sizes
        for agent, more in settings.items()
    }


@claim("navigation-myopic-best")
def navigation_myopic_best(context: Context) -> Found:
    # A longer cap costs most where the grid is large and changes least there, so a quick run tries it on the smallest.
    sizes = GRIDS if context.full else GRIDS[:1]
    ours, longer = at_once(lambda: walkers(context), lambda: ask(context, _with_printed_cap(context, sizes)))
    reward = {key: one.number("reward") for key, one in ours.items()}
    ahead = {(n, a): apart(reward[n, a], reward[n, "nav-myopic"]) for n in GRIDS for a in WALKERS[1:]}
    beaten = [
        f"{n}x{n} by {a} ({f'{far:.1f} SE' if math.isfinite(far) else 'exactly'})"
        for (n, a), far in ahead.items()
        if far > CLEAR
    ]
    capped = {key: number(result, "reward", _grid(key[0])) for key, result in longer.items()}
    return found(
        by_parts({f"on {n}x{n}": {"nats": all(ahead[n, a] <= CLEAR for a in WALKERS[1:])} for n in GRIDS}),
        beaten=f"Beaten in reward on {', '.join(beaten)}" if beaten else "It is not beaten in reward",
        finds=all(ours[n, "nav-myopic"].mean("success") >= one.mean("success") for (n, _), one in ours.items()),
        cap=PRINTED_CAP,
        longer=[f"{n}x{n} {a} {with_error(value)}" for (n, a), value in capped.items() if value],
        texts=[f"{n}x{n}: " + ", ".join(f"{a} {with_error(reward[n, a])}" for a in WALKERS) for n in GRIDS],
    )


@claim("navigation-efe-competitive")
def navigation_efe_competitive(context: Context) -> Found:
    size = GRIDS[-1]
    ours = walkers(context)
    efe, one_step = ours[size, "efe"], ours[size, "info-gain"]
    far = {name: apart(efe.number(name), one_step.number(name)) for name in ("reward", "success")}
    texts = [
        f"{name} {with_error(one.number('reward'))} at {percent(one.mean('success'))}"
        for name, one in (("efe", efe), ("info-gain", one_step))
    ]
    return found(by_unit({"nats": min(far.values()) >= -CLEAR}), size=size, far=far, clear=CLEAR, simulated=texts)

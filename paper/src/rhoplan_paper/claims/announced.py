"""Claims that the words alone can decide: what is announced and absent, what a caption fixes and rows vary, what a
size has to do with a computation. What is printed is counted in the data of the paper; the rest is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.tileworld import LONG
from rhoplan_paper.compare import CHANCE, Number, chance_text, share_chance
from rhoplan_paper.context import Context, ask, exact_job
from rhoplan_paper.jobs import job
from rhoplan_paper.published import Cell, published, quotes_of, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.tables.rows import AS_RUN, MEASURED, measured, plan_row
from rhoplan_paper.told.checks import hidden_states
from rhoplan_paper.verdicts import by_parts, by_unit
from rhoplan_paper.words import percent, signed


def results(agent: str) -> list[Cell]:
    """Every printed result of `agent`, in tables and in the text."""
    paper = published()
    cells = [cell for table in paper.tables.values() for cell in table.cells]
    cells += [cell for quote in paper.quotes.values() for cell in quote.cells]
    return [cell for cell in cells if cell.row.get("agent") == agent and cell.column.split()[0] in MEASURED]


def _problems(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(str(cell.row["problem"]) for cell in cells if "problem" in cell.row))


@claim("pomcp-everywhere")
def pomcp_everywhere(context: Context) -> Found:
    announced = [*_problems(select("environments states")), *_problems(select("rocksample reward"))]
    has = set(_problems(results("pomcp")))
    there, absent = ([spec for spec in announced if (spec in has) is here] for here in (True, False))
    return found(by_unit({"": not absent}), announced=len(announced), has=len(there), there=there, absent=absent)


@claim("pomcp-on-rocksample")
def pomcp_on_rocksample(context: Context) -> Found:
    table = published().tables["rocksample-extended"]
    agents = list(dict.fromkeys(str(cell.row["agent"]) for cell in table.cells))
    anywhere = [spec for spec in _problems(results("pomcp")) if spec.startswith("rocksample")]
    checks = [cell for cell in (*table.cells, *select("rocksample checks")) if cell.column == "checks" and cell.value]
    return found(
        by_unit({"": "pomcp" in agents}),
        agents=" and ".join(agents),
        names=agents,
        anywhere=anywhere,
        checks=f"{len(checks)} times" if checks else "nowhere",
        caption=table.gist,
    )


@claim("pomcp-budgets-reported")
def pomcp_budgets_reported(context: Context) -> Found:
    announced = [cell.number for cell in select("pomcp-budgets simulations")]
    usual = {str(row["problem"]): row["simulations"] for row in published().tables["pomcp"].protocol}
    tried: dict[float, dict[str, None]] = {}
    for cell in results("pomcp"):
        budget = cell.row.get("simulations", usual.get(str(cell.row["problem"])))
        tried.setdefault(float(budget or 0.0), {})[str(cell.row["problem"])] = None
    timed = {
        float(cell.row["simulations"])
        for quote in published().quotes.values()
        for cell in quote.cells
        if cell.column in ("seconds", "milliseconds") and cell.row.get("agent") == "pomcp" and "simulations" in cell.row
    }
    without = [budget for budget in announced if budget not in tried]
    return found(
        by_parts({f"a result and a time with {b:,.0f}": b in tried and b in timed for b in announced}),
        announced=announced,
        tried=[budget for budget in announced if budget in tried],
        told=[f"{budget:,.0f} on {', '.join(tried[budget])}" for budget in announced if budget in tried],
        without=without,
        timed=sorted(timed),
    )


@claim("rocksample-episodes")
def rocksample_episodes(context: Context) -> Found:
    table = published().tables["rocksample"]
    columns = ("good", "bad", "reward")
    rows = {
        (spec, str(cell.row["agent"])): cell.row
        for spec in AS_RUN
        for cell in select(f"rocksample reward problem={spec}")
    }
    planned = {key: plan_row(table, row, context).as_run for key, row in rows.items()}
    ours = ask(context, {key: one for key, one in planned.items() if one})
    same: dict[str, int] = dict.fromkeys(AS_RUN, 0)
    every: dict[str, int] = dict.fromkeys(AS_RUN, 0)
    others: dict[str, None] = {}
    for (spec, agent), result in ours.items():
        for column in columns:
            cell = select(f"rocksample {column} problem={spec} agent={agent}")[0]
            every[spec] += 1
            fits = abs(measured(result, column, spec).mean - cell.number) <= cell.rounding * (1 + 1e-9)
            same[spec] += fits
            others |= {} if fits else {agent: None}
    stated = {str(row["problem"]): int(float(row["episodes"])) for row in table.protocol}
    return found(
        by_unit({"nats": not all(same[spec] > every[spec] / 2 for spec in AS_RUN)}),
        told=[f"{same[spec]} of {every[spec]} on {spec} with {episodes} episodes" for spec, episodes in AS_RUN.items()],
        others=list(others),
        stated=[stated[spec] for spec in AS_RUN],
        episodes=" or ".join(map(str, dict.fromkeys(AS_RUN.values()))),
        same=sum(same.values()),
        every=sum(every.values()),
    )


THREE_ORDERS = 3
"""Orders of magnitude that the caption of the sweep gives its penalties, in words."""


@claim("sweep-three-orders")
def sweep_three_orders(context: Context) -> Found:
    ends = [cell.number for cell in select("sweep-range penalty") if "bound" in cell.row]
    low, high = min(ends), max(ends)
    orders = math.log10(high / low)
    verdict = by_unit({"": round(orders) == THREE_ORDERS})
    return found(verdict, low=low, high=high, factor=high / low, orders=orders, said=THREE_ORDERS)


@claim("scaling-horizon")
def scaling_horizon(context: Context) -> Found:
    table = published().tables["tileworld-8"]
    stated = int(float(table.protocol[0]["horizon"]))
    rows = {str(cell.row["agent"]): cell.row for cell in table.cells}
    shallow = [agent for agent, row in rows.items() if row.get("horizon") == 1]
    problem = str(table.protocol[0]["problem"])
    ours = ask(context, {h: exact_job(problem, "efe", horizon=h, unit="bits") for h in (1, stated)})
    rate = select("tileworld-8-collapse success agent=efe")[0]
    chance = {h: share_chance(rate, Number(one["success"], None, counted=0), LONG) for h, one in ours.items()}
    told = [f"H={h} {percent(one['success'])}, chance {chance_text(chance[h])}" for h, one in ours.items()]
    planners = f"agents that plan ahead look {stated} actions ahead"
    verdict = by_parts(
        {planners: chance[stated] >= CHANCE > chance[1], "so does every other agent": not shallow}, core=[planners]
    )
    agents = f"{' and '.join(shallow) or 'Nobody'} look{'s' if len(shallow) < 2 else ''}"
    return found(verdict, rate=rate.text, told=told, agents=agents, stated=stated, shallow=shallow)


@claim("fixed-conditions")
def fixed_conditions(context: Context) -> Found:
    (states, low, high) = (cell.number for cell in quotes_of("observation-scaling")[0].cells)
    problems = {k: f"diagnosis:n={states:g},k={k}" for k in range(int(low), int(high) + 1)}
    best = ask(context, {k: job("optimum", problem=spec) for k, spec in problems.items()})
    groups = {k: _told_apart(spec) for k, spec in problems.items()}
    told = [
        f"K={k}: {groups[k]} of {states:g} conditions can be told apart, at best {percent(groups[k] / states, 0)} are "
        f"named, the optimum earns {signed(best[k]['reward'])} with {best[k]['tests']:.1f} tests"
        for k in problems
    ]
    shown = {f"K={k}:": count for k, count in groups.items()}
    return found(
        by_unit({"": len(set(groups.values())) == 1}), told=told, states=states, low=low, high=high, groups=shown
    )


def _told_apart(spec: str) -> int:
    """How many hidden states differ in what some test makes of them."""
    model = make(spec).flat
    columns = zip(*(map(tuple, test.likelihood.round(12).tolist()) for test in model.tests), strict=True)
    return len(set(columns))


LARGE = ("rocksample:n=7,k=8", "rocksample:n=11,k=11", "inspection:n=8", "inspection:n=16")
DEPTH = 2


@claim("sizes-searched")
def sizes_searched(context: Context) -> Found:
    ours = ask(context, {spec: job("look_ahead", problem=spec, horizon=DEPTH) for spec in LARGE})
    held = {spec: sum(int((factor.prior > 0).sum()) for factor in make(spec).factors) for spec in LARGE}
    sizes = {spec: hidden_states(spec) for spec in LARGE}
    searched = {spec: ours[spec]["situations"][DEPTH] for spec in LARGE}
    enters = any(max(held[spec], searched[spec]) >= sizes[spec] for spec in LARGE)
    done = not any("limit" in one for one in ours.values())
    told = [
        f"{spec} has {sizes[spec]:,} states, its belief {held[spec]} numbers, a search of depth {DEPTH} from the start "
        f"{searched[spec]:,} situations"
        for spec in LARGE
    ]
    small, large = LARGE[2:]
    return found(
        by_parts(
            {"problems with so many states are searched": done, "their number is what the search copes with": enters}
        ),
        told=told,
        small=small,
        large=large,
        states=sizes[large] // sizes[small],
        searched=searched[large] / searched[small],
        sizes=[sizes[spec] for spec in LARGE[1::2]],
        held=[f"{held[spec]} numbers, {searched[spec]:,} situations" for spec in LARGE[1::2]],
    )

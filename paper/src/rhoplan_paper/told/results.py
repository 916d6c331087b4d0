"""Results that the paper tells in its text: bootstrap intervals, kinds of scans, the comparison with pymdp."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from statistics import NormalDist
from typing import Any

from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan_paper.compare import Number
from rhoplan_paper.context import UNITS, Context, ask, exact_job, simulate_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Quote, published, quotes_of, select
from rhoplan_paper.registry import study
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, NO_DIFFERENCE, UNCHECKED, Finding, Outcome, Sheet
from rhoplan_paper.tables.rows import measured, number
from rhoplan_paper.told.findings import disagreement, each_quoted, mean, setting, told
from rhoplan_paper.verdicts import SAME
from rhoplan_paper.verdicts import by_unit as by_unit_of

Numbers = Mapping[str, Number]


def every_quote(part: str, check: Callable[[Quote, Cell], Finding]) -> tuple[Finding, ...]:
    """The finding on every number told about `part`, with what the paper prints elsewhere, ids all different."""
    found = [replace(one, reason=one.reason + again) for one, again in zip(
        each_quoted(part, check), (restated(cell) for quote in quotes_of(part) for cell in quote.cells), strict=True
    )]  # fmt: skip
    return numbered(found)


def numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """`findings`, with a number after those ids that have come before."""
    seen: dict[str, int] = {}
    found = []
    for one in findings:
        seen[one.id] = seen.get(one.id, 0) + 1
        found.append(replace(one, id=f"{one.id}-{seen[one.id]}") if seen[one.id] > 1 else one)
    return tuple(found)


def restated(cell: Cell) -> str:
    """Where a number is told a second time and differs from the first, what the first is; empty otherwise."""
    differs = disagreement(cell) if cell.repeats and cell.value is not None else ""
    return f"; {differs}" if differs else ""


def text_of(one: Number | None, percent: bool = False) -> str:
    """A number with its error where it has one."""
    if one is None:
        return ""
    scale, digits, sign = (100, 2, "%") if percent else (1, 3, "")
    error = f" ± {scale * one.se:.{digits}f}" if one.se else ""
    return f"{scale * one.mean:.{digits}f}{sign}{error}"


def difference(one: Number, other: Number) -> Number:
    """One mean less another, as of independent samples."""
    apart = one.mean - other.mean
    return Number(
        apart if abs(apart) > SAME else 0.0, math.hypot(one.sd or 0.0, other.sd or 0.0), math.hypot(one.se, other.se)
    )


def lead(quote: Quote, cell: Cell, by_unit: Numbers, episodes: int, simulated: str, scale: float = 1.0) -> Finding:
    """A printed lead: confirmed only where the exact one has its sign."""
    found = mean(quote, cell, by_unit, episodes, simulated, scale)
    near = [unit for unit in by_unit if found.unit in (unit, "either")]
    missing = all(by_unit[unit].mean * math.copysign(1, cell.number) <= SAME for unit in near)
    errors = {unit: math.hypot((one.sd or 0) / math.sqrt(episodes), one.se) for unit, one in by_unit.items()}
    reason = f"{found.reason}; the error of such a difference is {max(errors.values()) / scale:.2g}"
    if found.verdict != CONTRADICTED and missing:
        return replace(found, verdict=NO_DIFFERENCE, reason=f"there is no such lead, but {reason}")
    return replace(found, reason=reason)


EPISODES = 5000
RESAMPLES = 10_000
CONFIDENCE = 0.95
HORIZONS = {"bandit": 2, "diagnosis": 3}


def build_bootstrap(context: Context) -> Outcome:
    """Printed means and intervals beside ours: on the published streams, and as the exact distribution has them."""
    places = [(spec, agent) for spec in HORIZONS for agent in ("efe", "planning")]
    jobs: dict[tuple[str, str, str], Job] = {}
    for spec, agent in places:
        settings = {"horizon": HORIZONS[spec], "unit": "bits" if agent == "efe" else "nats"}
        jobs[spec, agent, "simulated"] = job(
            "bootstrap_interval", problem=spec, agent=agent, episodes=EPISODES // len(PUBLISHED_SEEDS),
            seeds=list(PUBLISHED_SEEDS), resamples=RESAMPLES, confidence=CONFIDENCE, **settings,
        )  # fmt: skip
        for unit in UNITS if agent == "efe" else ("nats",):
            jobs[spec, agent, unit] = exact_job(spec, agent, horizon=HORIZONS[spec], unit=unit)
    results = ask(context, jobs)
    data = {
        (spec, agent): _intervals({kind: result for (s, a, kind), result in results.items() if (s, a) == (spec, agent)})
        for spec, agent in places
    }
    findings = every_quote("bootstrap", lambda quote, cell: _bootstrap_finding(quote, cell, data))
    printed = {(str(c.row["problem"]), str(c.row["agent"]), c.column): c.text for c in select("bootstrap") if c.row}
    rows = []
    for spec, agent in places:
        kinds, columns = data[spec, agent], ("reward", "reward_low", "reward_high")
        shown = [f"{printed[spec, agent, c]} / {kinds['simulated'][c].mean:.3f}" for c in columns]
        ends = {unit: (one["reward_low"].mean, one["reward_high"].mean) for unit, one in kinds.items()}
        shown += ["{:.3f} to {:.3f}".format(*ends[unit]) if unit in ends else "" for unit in UNITS]
        rows.append((spec, agent, *shown))
    headings = ("problem", "agent", *(f"{name}: published / simulated" for name in ("mean", "lower end", "upper end")),
                "expected interval: exact, w per bit", "expected interval: exact, w per nat")  # fmt: skip
    notes = (f"simulated: {EPISODES:,} episodes of the published streams, {RESAMPLES:,} resamples",)
    return Outcome(Sheet(headings, tuple(rows), notes), findings)


def _intervals(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Number]]:
    """Mean, lower and upper end by kind of result; the ends of exact ones are those an interval has on average."""
    found = {}
    for kind, result in results.items():
        if kind == "simulated":
            ends = result["mean"], result["lower"], result["upper"]
            found[kind] = dict(
                zip(("reward", "reward_low", "reward_high"), (Number(e, None) for e in ends), strict=True)
            )
            continue
        sd = float(result["reward_sd"])
        half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sd / math.sqrt(EPISODES)
        shifts = {"reward": 0.0, "reward_low": -half, "reward_high": half}
        found[kind] = {name: Number(result["reward"] + shift, sd) for name, shift in shifts.items()}
    return found


def _bootstrap_finding(quote: Quote, cell: Cell, data: Mapping[tuple[str, str], Any]) -> Finding:
    if cell.column == "episodes":
        return _implied_episodes(quote, cell, data)
    if not cell.row:
        used = {"confidence": 100 * CONFIDENCE, "resamples": float(RESAMPLES)}[cell.column]
        return setting(quote, cell, used, f"{cell.column} of the bootstrap")
    kinds = data[str(cell.row["problem"]), str(cell.row["agent"])]
    exact = {unit: kinds[unit] for unit in kinds if unit != "simulated"}
    exact = exact if len(exact) > 1 else {"": next(iter(exact.values()))}
    by_unit = {unit: found[cell.column] for unit, found in exact.items()}
    finding = mean(quote, cell, by_unit, EPISODES, f"{kinds['simulated'][cell.column].mean:.3f}")
    return _within_interval(finding, cell, {unit: found["reward"].mean for unit, found in exact.items()})


def _within_interval(finding: Finding, cell: Cell, means: Mapping[str, float]) -> Finding:
    """`finding`, unless the exact mean lies outside the printed interval: then what the interval says is not so.

    An interval is a statement about the mean itself, so no sampling error excuses it, and no other table does.
    """
    row = " ".join(f"{name}={cell.row[name]}" for name in ("problem", "agent"))
    low, high = (select(f"bootstrap {row} {end}")[0] for end in ("reward_low", "reward_high"))
    inside = {u: low.number - low.rounding <= mean <= high.number + high.rounding for u, mean in means.items()}
    if all(inside.values()) or finding.verdict == CONTRADICTED:
        return finding
    outside = ", ".join(
        f"{means[u]:.3f}{f' in {u}' if len(means) > 1 else ''}" for u, fits in inside.items() if not fits
    )
    verdict = by_unit_of({u: fits and finding.unit in (u, "either") for u, fits in inside.items()})
    reason = (
        f"the exact mean, {outside}, lies outside the printed interval, {low.text} to {high.text}; {finding.reason}"
    )
    return replace(finding, verdict=verdict.word, unit=verdict.unit, reason=reason)


def _implied_episodes(quote: Quote, cell: Cell, data: Mapping[tuple[str, str], Any]) -> Finding:
    """How many episodes the widths of the printed intervals speak for, given the exact spread."""
    z, holds, parts = NormalDist().inv_cdf((1 + CONFIDENCE) / 2), [], []
    for (spec, agent), kinds in data.items():
        row = f"bootstrap problem={spec} agent={agent}"
        low, high = (select(f"{row} {end}")[0] for end in ("reward_low", "reward_high"))
        sd = next(kinds[unit]["reward"].sd for unit in kinds if unit != "simulated")
        width, slack = high.number - low.number, low.rounding + high.rounding
        counts = [(2 * z * sd / w) ** 2 for w in (width + slack, width - slack)]
        # The spread of 5,000 episodes is itself known to a few percent only, its square to twice that.
        holds.append(0.9 * counts[0] <= cell.number <= 1.1 * counts[1])
        parts.append(f"{spec} {agent} {counts[0]:,.0f} to {counts[1]:,.0f}")
    reason = f"the widths of the printed intervals speak for so many episodes: {'; '.join(parts)}"
    return told(quote, cell, CONFIRMED if all(holds) else CONTRADICTED, reason, exact="; ".join(parts))


GRID = "tileworld:n=6"
PARTITIONS = {"bitwise": GRID, **{kind: f"{GRID},partition={kind},seed=42" for kind in ("random", "overlapping")}}
CAPS = {"random": 40}
"""Where scans split cells at random, beliefs hardly ever meet again: exact scores follow so many tests only."""

PARTITION_PER_SEED = 200


def build_partition(context: Context) -> Outcome:
    """EFE and Planning on three kinds of scans: exact scores, and the published streams."""
    exact: dict[tuple[str, str, str], Job] = {}
    drawn: dict[tuple[str, str], Job] = {}
    for kind, spec in PARTITIONS.items():
        for agent, unit in (("planning", "nats"), ("efe", "bits"), ("efe", "nats")):
            exact[kind, agent, unit] = exact_job(spec, agent, horizon=2, unit=unit, cap=CAPS.get(kind))
        for agent, unit in (("planning", "nats"), ("efe", "bits")):
            weight = 1.0 if agent == "efe" else None
            episodes = context.episodes(PARTITION_PER_SEED)
            drawn[kind, agent] = simulate_job(spec, agent, episodes=episodes, horizon=2, weight=weight, unit=unit)
    context.results([*exact.values(), *drawn.values()])

    def ours(kind: str, agent: str, column: str) -> tuple[Numbers, Number]:
        units = UNITS if agent == "efe" else ("nats",)
        found = {unit: number(context.result(exact[kind, agent, unit]), column, GRID) for unit in units}
        sampled = measured(context.result(drawn[kind, agent]), column, GRID)
        return {unit: one for unit, one in found.items() if one}, sampled

    def check(quote: Quote, cell: Cell) -> Finding:
        kind = str(cell.row["partition"])
        episodes = len(PUBLISHED_SEEDS) * PARTITION_PER_SEED
        if cell.column == "reward_gap":
            (efe, one), (planning, other) = (ours(kind, agent, "reward") for agent in ("efe", "planning"))
            gaps = {unit: difference(efe[unit], planning["nats"]) for unit in UNITS}
            return lead(quote, cell, gaps, episodes, text_of(difference(one, other)))
        by_unit, sampled = ours(kind, str(cell.row["agent"]), cell.column)
        by_unit = by_unit if len(by_unit) > 1 else {"": by_unit["nats"]}
        percent = cell.column == "success"
        return mean(quote, cell, by_unit, episodes, text_of(sampled, percent), 0.01 if percent else 1.0)

    rows = []
    for kind in PARTITIONS:
        for agent in ("efe", "planning"):
            line = []
            for column in ("reward", "success"):
                by_unit, sampled = ours(kind, agent, column)
                printed = select(f"partition-{agent} {column} partition={kind}")[0].text
                exacts = [by_unit.get("bits"), by_unit["nats"]]
                line += [printed, *(text_of(one, column == "success") for one in (sampled, *exacts))]
            rows.append((kind, agent, *line))
    kinds = ("published", "simulated", "exact, w per bit", "exact, w per nat")
    headings = ("scans", "agent", *(f"{column}: {kind}" for column in ("reward", "success") for kind in kinds))
    cut = max(context.result(exact[key])["truncated"] for key in exact if key[0] in CAPS)
    notes = (
        f"exact scores with random scans end at {CAPS['random']} tests, which cuts off {100 * cut:.2g}% of episodes",
    )
    return Outcome(Sheet(headings, tuple(rows), notes), every_quote("partition", check))


TWO_STATES = ("tiger", "testbed")
ROUNDING = 1e-9
"""Nats by which two computations of one information gain may differ."""


def build_pymdp(context: Context) -> Outcome:
    """Information gains and one-step decisions beside pymdp's, where it is installed."""
    installed = find_spec("pymdp") is not None and find_spec("jax") is not None
    jobs = [job("with_pymdp", problem=spec) for spec in TWO_STATES] if installed else []
    results = context.results(jobs) if installed else [{"missing": True}] * len(TWO_STATES)
    findings = [one for spec, result in zip(TWO_STATES, results, strict=True) for one in _pymdp_findings(spec, result)]
    rows = tuple((one.id.split("/")[1], one.id.split("/")[2], one.published, one.exact, one.reason) for one in findings)
    return Outcome(Sheet(("problem", "compared", "published", "exact", "how it comes out"), rows), tuple(findings))


def _pymdp_findings(spec: str, result: Mapping[str, Any]) -> Iterable[Finding]:
    claim = published().claims["pymdp-agrees"]
    said = {"information": "agree in kind", "decisions": "agree at every belief tried"}

    def finding(what: str, exact: str, verdict: str, reason: str) -> Finding:
        name = f"pymdp/{spec}/{what}"
        return Finding(
            name, claim.place, f"{spec}: {what} beside pymdp", said[what], "", exact, "nats", verdict, reason
        )

    if result["missing"]:
        return [finding(what, "", UNCHECKED, "pymdp is not installed (extra 'validation')") for what in said]
    gap, beliefs, agree = result["information_gap"], result["beliefs"], result["agree"]
    told_reason = (
        f"both test or both commit at {agree['faint']} of {beliefs} beliefs ({result['tests']} of them tests) if "
        f"a payoff tells pymdp nothing, at {agree['told']} if it is an observation, which pymdp credits with H(b)"
    )
    decided = CONFIRMED if min(agree.values()) == beliefs else UNCHECKED if agree["faint"] == beliefs else CONTRADICTED
    if decided == UNCHECKED:
        told_reason += "; the paper does not say which it was"
    return [
        finding(
            "information", f"largest difference {gap:.1g} nats", CONFIRMED if gap <= ROUNDING else CONTRADICTED,
            f"one-step gains are the same number at {beliefs} beliefs, not only in kind" if gap <= ROUNDING
            else f"gains differ by up to {gap:.2g} nats",
        ),
        finding("decisions", f"{agree['faint']} of {beliefs}", decided, told_reason),
    ]  # fmt: skip


study("bootstrap", build_bootstrap)
study("partition", build_partition)
study("pymdp", build_pymdp)

"""The table of asymmetry, informativeness and weights (Proposition 2), and the table of effect sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from rhoplan.belief_math.information import NATS_PER_BIT, entropy
from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan.problems.registry import make
from rhoplan_paper.compare import Number, judge
from rhoplan_paper.context import UNITS, Context, ask, exact_job
from rhoplan_paper.figures.weights import BROAD, WEIGHTS, curve_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Row, Table, published
from rhoplan_paper.registry import study
from rhoplan_paper.statistics import effect_label
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, NO_DIFFERENCE, Finding, Outcome, Sheet, Verdict
from rhoplan_paper.tables.rows import plan_row
from rhoplan_paper.verdicts import SAME, by_unit, same

PER = {"bits": NATS_PER_BIT, "nats": 1.0}
"""What a weight of 1 per nat is in each unit; informativeness goes the other way."""

Steps = Sequence[Mapping[str, float]]


def asymmetry(right: float, wrong: float) -> float:
    """alpha of Proposition 2."""
    return abs(wrong) / right


def formula(accuracy: float, cost: float, right: float, wrong: float) -> dict[str, dict[str, float]]:
    """Asymmetry, informativeness and threshold as Proposition 2 has them, by unit of information where it matters.

    The threshold is the least weight at which one test of two equally likely states beats committing at once.
    """
    most = math.log(2.0) - float(entropy(np.array([accuracy, 1 - accuracy])))
    least = (cost - (accuracy - 0.5) * (right - wrong)) / most
    return {
        "alpha": {"": asymmetry(right, wrong)},
        "eta": {unit: most / cost / PER[unit] for unit in UNITS},
        "threshold": {unit: least * PER[unit] for unit in UNITS},
    }


def formulas(spec: str) -> dict[str, dict[str, float]]:
    """The same of a problem, as if it had two states and one test."""
    flat = make(spec).flat
    accuracy, cost = float(flat.tests[0].likelihood.max()), float(flat.tests[0].cost)
    return formula(accuracy, cost, float(flat.commits[0].reward.max()), float(flat.commits[0].reward.min()))


def build_alpha_eta(context: Context) -> Outcome:
    """Each number by the paper's own formula, the threshold also by the decision, the best weights by exact steps."""
    table = published().tables["alpha-eta"]
    rows = {spec: list(cells) for spec, cells in groupby(table.cells, key=lambda cell: str(cell.row["problem"]))}
    curves = {spec: curve_job(spec, make(spec).horizon) for spec in rows}
    firsts = {spec: job("first_test_weight", problem=spec) for spec in rows}
    context.results([*curves.values(), *firsts.values()])
    shown: list[tuple[str, ...]] = []
    findings: list[Finding] = []
    for spec, cells in rows.items():
        first = context.result(firsts[spec])
        steps = {unit: in_unit(context.result(curves[spec])["steps"], unit) for unit in UNITS}
        found = {
            "alpha": _formula_finding(table, cells[0], spec),
            "eta": _formula_finding(table, cells[1], spec),
            "threshold": _formula_finding(table, cells[2], spec, float(first["weight"])),
            "sufficient": _sufficient(table, cells[3], spec, first["tests_at_one"]),
            "best_weight": _best_weight(table, cells[4], spec, steps),
        }
        findings += found.values()
        ours = formulas(spec)
        shown.append(
            (
                spec,
                cells[0].text, f"{ours['alpha']['']:.2f}",
                cells[1].text, *(f"{ours['eta'][unit]:.3f}" for unit in UNITS),
                cells[2].text, *(f"{ours['threshold'][unit]:.2f}" for unit in UNITS),
                *(f"{first['weight'] * PER[unit]:.2f}" for unit in UNITS),
                cells[3].text, found["sufficient"].exact,
                cells[4].text, *(_span(best_steps(steps[unit])) for unit in UNITS),
            )
        )  # fmt: skip
    per = [f"per {unit.removesuffix('s')}" for unit in UNITS]
    headings = ("problem", "alpha: published", "alpha: exact", "eta: published", *(f"eta: exact, {p}" for p in per),
                "threshold: published", *(f"threshold: formula, w {p}" for p in per),
                *(f"threshold: the problem itself, w {p}" for p in per),
                "w = 1 enough: published", "w = 1 enough: exact",
                "best weight: published", *(f"best weights: exact, w {p}" for p in per))  # fmt: skip
    notes = (
        "the formula is Proposition 2's, with each problem's accuracy, cost and stakes as if it had two states and one "
        "test; 'the problem itself' is the weight from which an agent of horizon 1 begins with a test there",
        "best weights earn the most exact reward of all weights from 0 to 200",
        *(f"{spec}: weights within {width:g} of one another count as one" for spec, width in BROAD.items()),
    )
    return Outcome(Sheet(headings, tuple(shown), notes), tuple(findings))


def _formula_finding(table: Table, cell: Cell, spec: str, itself: float | None = None) -> Finding:
    values = formulas(spec)[cell.column]
    judged = judge(cell, {unit: Number(value, None) for unit, value in values.items()}, 1)
    exact = "; ".join(f"{value:.3f}{f' ({unit})' if unit else ''}" for unit, value in values.items())
    reason = judged.reason if judged.verdict == CONFIRMED else f"the paper's formula gives {exact}"
    if cell.column == "alpha" and min(make(spec).flat.commits[0].reward) >= 0:
        reason += "; a wrong commit costs nothing here, so the proposition does not cover this problem"
    if itself is not None:
        sign = "" if (itself > SAME) == (cell.number > 0) else ", of the other sign than printed"
        reason += f"; an agent of horizon 1 begins with a test from w = {itself:.2f} per nat on{sign}"
    return _finding(table, cell, spec, "", exact, Verdict(judged.verdict, judged.unit), reason)


def _sufficient(table: Table, cell: Cell, spec: str, tests: Mapping[str, bool]) -> Finding:
    """Whether a weight of 1 makes an agent of horizon 1 test before it commits, as the table says."""
    verdict = by_unit({unit: tests[unit] == cell.text.startswith("Yes") for unit in UNITS})
    words = {True: "yes", False: "no"}
    exact = "; ".join(f"{words[tests[unit]]} ({unit})" for unit in UNITS)
    reason = f"an agent of horizon 1 and weight 1 begins with a test: {exact}"
    return _finding(table, cell, spec, "", exact, verdict, reason)


def in_unit(steps: Steps, unit: str) -> Steps:
    """Steps whose weights are per nat, with weights per `unit`."""
    per = PER[unit]
    return [{"lower": s["lower"] * per, "upper": s["upper"] * per, "reward": s["reward"]} for s in steps]


def reward_at(steps: Steps, weight: float) -> float:
    """Reward of the step that holds `weight`."""
    return next(float(step["reward"]) for step in reversed(steps) if step["lower"] <= weight * (1 + 1e-12))


def best_steps(steps: Steps) -> list[tuple[float, float]]:
    """The stretches of weights that earn the most; neighbours are one."""
    top = max(step["reward"] for step in steps)
    found: list[tuple[float, float]] = []
    for before, step in zip([None, *steps], steps, strict=False):
        if step["reward"] >= top - SAME:
            joined = before is not None and before["reward"] >= top - SAME
            found = [*found[:-1], (found[-1][0], step["upper"])] if joined else [*found, (step["lower"], step["upper"])]
    return found


def _best_weight(table: Table, cell: Cell, spec: str, steps: Mapping[str, Steps]) -> Finding:
    printed = {unit: reward_at(steps[unit], cell.number) for unit in UNITS}
    top = {unit: max(step["reward"] for step in steps[unit]) for unit in UNITS}
    tried = {unit: {weight: reward_at(steps[unit], weight) for weight in WEIGHTS} for unit in UNITS}
    best = {unit: max(rewards.values()) for unit, rewards in tried.items()}
    holds = {unit: printed[unit] >= best[unit] - SAME for unit in UNITS}
    verdict = by_unit(holds)
    exact = "; ".join(f"{_span(best_steps(steps[unit]))} ({unit})" for unit in UNITS)
    parts: dict[str, list[str]] = {}
    for unit in UNITS:
        weights = ", ".join(f"{weight:g}" for weight, reward in tried[unit].items() if reward >= best[unit] - SAME)
        lost = top[unit] - printed[unit]
        cost = "as much as any weight" if lost <= SAME else f"{lost:.3f} less than the best"
        text = f"it earns {printed[unit]:.3f}, {cost}; of the weights tried, most is earned at {weights}"
        parts.setdefault(text, []).append(unit)
    reason = "; ".join(f"in {' and '.join(units)} {text}" for text, units in parts.items())
    return _finding(table, cell, spec, "", exact, verdict, reason)


def _span(stretches: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}" for low, high in stretches)


PER_SEED = 1000
"""Episodes per seed of the runs that the effect sizes belong to; the table itself does not say."""

TUNING = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""The weights that tuned agents were chosen from."""


def build_effect_sizes(context: Context) -> Outcome:
    """Cohen's d from exact means and spreads, from the published streams, and as printed, with the words for it."""
    table = published().tables["effect-sizes"]
    agents = {spec: _rows_by_agent(spec) for spec in dict.fromkeys(str(cell.row["problem"]) for cell in table.cells)}
    exact = {
        spec: {name: _exact_jobs(spec, row, context) for name, row in rows.items()} for spec, rows in agents.items()
    }
    sampled = {spec: _sampled_job(spec, rows, context) for spec, rows in agents.items()}
    context.results(
        [*(one for jobs in exact.values() for units in jobs.values() for one in units.values()), *sampled.values()]
    )
    pairs = [(table.cells[place], table.cells[place + 1]) for place in range(0, len(table.cells), 2)]
    shown, findings = [], []
    for size, word in pairs:
        spec, versus, metric = (str(size.row[key]) for key in ("problem", "versus", "metric"))
        scores = {unit: [context.result(exact[spec][name][unit]) for name in ("efe", versus)] for unit in UNITS}
        d = {unit: exact_d(*pair, metric=metric) for unit, pair in scores.items()}
        alike = {unit: same(*pair) for unit, pair in scores.items()}
        drawn = context.result(sampled[spec])
        place = [name for name in agents[spec] if name != "efe"].index(versus)
        sampled_d = drawn["d"][place][metric]
        simulated = f"{sampled_d:+.3f} ± {error_of_d(sampled_d, drawn['episodes']):.3f}"
        found = _size_finding(table, size, d, alike, simulated)
        if found.verdict == CONTRADICTED and "weight" in agents[spec][versus]:
            found = _at_other_weights(size, found, agents[spec][versus], scores["bits"][0], context)
        words = {unit: effect_label(value) for unit, value in d.items()}
        findings += [found, _word_finding(table, word, d, drawn["labels"][place][metric], found.verdict)]
        values = [f"{d[unit]:+.4f}" for unit in UNITS]
        shown.append((spec, versus, metric, size.text, simulated, *values, word.text, *(words[u] for u in UNITS)))
    per = [f"w per {unit.removesuffix('s')}" for unit in UNITS]
    headings = ("problem", "EFE against", "of", "d: published", "d: simulated", *(f"d: exact, {p}" for p in per),
                "word: published", *(f"word: exact, {p}" for p in per))  # fmt: skip
    notes = (
        f"episodes are not stated; taken as the {5 * PER_SEED:,} per agent of the main tables",
        "weights of Info Gain and Planning+IG are those of the problem's own table",
    )
    return Outcome(Sheet(headings, tuple(shown), notes), tuple(findings))


def exact_d(one: Mapping[str, Any], other: Mapping[str, Any], *, metric: str) -> float:
    """Cohen's d of two agents with equally many episodes, from exact scores."""
    difference = float(one[metric]) - float(other[metric])
    if abs(difference) <= SAME:
        return 0.0
    return difference / math.sqrt((_spread(one, metric) ** 2 + _spread(other, metric) ** 2) / 2)


def error_of_d(d: float, episodes: int) -> float:
    """Standard error of Cohen's d between two independent samples of `episodes` each (Hedges and Olkin)."""
    return math.sqrt(2 / episodes + d * d / (4 * episodes))


def _spread(score: Mapping[str, Any], metric: str) -> float:
    if metric == "success":
        return math.sqrt(max(score["success"] * (1 - score["success"]), 0.0))
    return float(score["reward_sd"])


def _size_finding(
    table: Table, cell: Cell, d: Mapping[str, float], alike: Mapping[str, bool], simulated: str
) -> Finding:
    numbers = {unit: Number(value, None, error_of_d(value, 5 * PER_SEED)) for unit, value in d.items()}
    judged = judge(cell, numbers, 5 * PER_SEED)
    verdict, reason = Verdict(judged.verdict, judged.unit), judged.reason
    near = [unit for unit in UNITS if judged.unit in (unit, "either")]
    if verdict.word != CONTRADICTED and cell.number and all(alike[unit] for unit in near):
        verdict = replace(verdict, word=NO_DIFFERENCE)
        reason = f"the two agents are one policy (in {' and '.join(near)}): d is 0, and what is printed is noise"
    elif any(alike.values()):
        reason += f"; one policy in {', '.join(unit for unit in UNITS if alike[unit])}"
    exact = "; ".join(f"{value:+.4f} ({unit})" for unit, value in d.items())
    return _finding(table, cell, _pair(cell.row), simulated, exact, verdict, reason)


def _at_other_weights(cell: Cell, found: Finding, row: Row, efe: Mapping[str, Any], context: Context) -> Finding:
    """`found`, and which of the tuning weights would give the printed d."""
    spec, name, metric = str(cell.row["problem"]), str(cell.row["versus"]), str(cell.row["metric"])
    horizon = None if name == "info-gain" else int(float(row["horizon"]))
    jobs = {w: exact_job(spec, name, horizon=horizon, weight=w, unit="bits") for w in TUNING}
    sizes = {w: exact_d(efe, score, metric=metric) for w, score in ask(context, jobs).items()}
    numbers = {w: Number(value, None, error_of_d(value, 5 * PER_SEED)) for w, value in sizes.items()}
    fitting = [w for w, number in numbers.items() if judge(cell, {"": number}, 1).verdict == CONFIRMED]
    told = ", ".join(f"w = {w:g} would ({sizes[w]:+.3f})" for w in fitting) or "no weight of the tuning grid would"
    reason = f"{found.reason}; {name} has w = {float(row['weight']):g} in its table, which does not fit: {told}"
    return replace(found, reason=reason)


def _word_finding(table: Table, cell: Cell, d: Mapping[str, float], simulated: str, of_size: str) -> Finding:
    """of_size: the verdict on the printed d that the word goes with."""
    words = {unit: effect_label(value) for unit, value in d.items()}
    verdict = by_unit({unit: word == cell.text for unit, word in words.items()})
    exact = "; ".join(f"{word} ({unit})" for unit, word in words.items())
    reason = "by the paper's own limits, from " + ", ".join(f"d = {value:+.3f} in {unit}" for unit, value in d.items())
    if verdict.word == CONTRADICTED and of_size != CONTRADICTED:
        verdict = replace(verdict, word=NO_DIFFERENCE)
        reason += "; the printed d is within its error of that, and beyond the limit by chance"
    return _finding(table, cell, _pair(cell.row), simulated, exact, verdict, reason)


def _rows_by_agent(spec: str) -> dict[str, Row]:
    """The printed rows of a problem's own table, by agent."""
    rows: dict[str, Row] = {}
    for cell in published().tables[spec].cells:
        if cell.row["agent"] in ("efe", "myopic", "planning", "info-gain", "planning-ig"):
            rows.setdefault(str(cell.row["agent"]), cell.row)
    return rows


def scores_by_agent(spec: str, context: Context) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Exact scores of the agents of a problem's own table, by agent and unit."""
    jobs = {
        (name, unit): one
        for name, row in _rows_by_agent(spec).items()
        for unit, one in _exact_jobs(spec, row, context).items()
    }
    results = ask(context, jobs)
    return {name: {unit: results[name, unit] for unit in UNITS} for name in _rows_by_agent(spec)}


def _exact_jobs(spec: str, row: Row, context: Context) -> dict[str, Job]:
    found = plan_row(published().tables[spec], row, context).exact
    return {unit: found.get(unit, found["nats"]) for unit in UNITS}


def _sampled_job(spec: str, rows: Mapping[str, Row], context: Context) -> Job:
    def settings(name: str) -> dict[str, Any]:
        row = rows[name]
        chosen: dict[str, Any] = {"name": name}
        chosen |= {"weight": float(row["weight"])} if name in ("info-gain", "planning-ig") else {}
        chosen |= {"horizon": int(float(row["horizon"]))} if name in ("planning", "planning-ig", "efe") else {}
        return chosen

    others = [settings(name) for name in rows if name != "efe"]
    return job(
        "effect_sizes", problem=spec, agent=settings("efe"), versus=others, episodes=context.episodes(PER_SEED),
        seeds=list(PUBLISHED_SEEDS), unit="bits",
    )  # fmt: skip


def _pair(row: Row) -> str:
    return f"{row['problem']}-{row['versus']}-{row['metric']}"


def _finding(
    table: Table, cell: Cell, about: str, simulated: str, exact: str, verdict: Verdict, reason: str
) -> Finding:
    name, claim = f"{table.id}/{about}/{cell.column}", f"{about.replace('-', ' ')}: {cell.column.replace('_', ' ')}"
    return Finding(name, table.place, claim, cell.text, simulated, exact, verdict.unit, verdict.word, reason)


study("alpha-eta", build_alpha_eta)
study("effect-sizes", build_effect_sizes)

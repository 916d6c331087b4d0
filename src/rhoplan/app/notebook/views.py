"""Results as a notebook shows them: advice, a pathway, a report, a comparison, a what-if, a sweep, a learned model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rhoplan.advice.branches import Pathway
from rhoplan.advice.case import Advice, Adviser, Evidence
from rhoplan.advice.compare import Frontier, Row
from rhoplan.advice.part import Part
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import counted, likeliest, money, percent, percents
from rhoplan.agents.agent import BoundAgent
from rhoplan.app import records
from rhoplan.app.notebook.shown import Shown, bars, cells
from rhoplan.model.pomdp import POMDP
from rhoplan.present.content import Report
from rhoplan.present.drawing import Drawing
from rhoplan.present.page.page import page
from rhoplan.present.page.parts import safe
from rhoplan.present.picture import Picture, drawn, plot_belief, plot_frontier
from rhoplan.present.plots import draw_sweep, swept
from rhoplan.present.telling import as_mermaid, as_text

if TYPE_CHECKING:
    from rhoplan.learning.learning import Result

MOST_LINES, FRAME = 12, 640
"""States that a text names at most; the height of a report inside a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class CaseAdvice(Shown):
    """Advice on a case: `advice` has all of it, `record` is what `rhoplan advise` knows as JSON.

    then(test, outcome): the advice after one more result. rows: the tests that could be run, with parts that add up.
    """

    problem: POMDP
    agent: BoundAgent
    advice: Advice

    @property
    def do(self) -> str:
        """What to do next: a test, or the commit that ends the case."""
        return self.advice.do

    @property
    def belief(self) -> dict[str, float]:
        """The chance of each diagnosis."""
        return self.advice.belief

    @property
    def record(self) -> dict[str, Any]:
        return records.advice_record(self.problem, self.agent, self.advice)

    def then(self, test: str, outcome: str) -> CaseAdvice:
        """The advice once `test` has shown `outcome`."""
        told = self.advice
        return CaseAdvice.on(self.problem, self.agent, [*told.given, (test, outcome)], told.unavailable)

    @classmethod
    def on(
        cls, problem: POMDP, agent: BoundAgent, given: Evidence, unavailable: Iterable[str], seconds: float = 20.0
    ) -> CaseAdvice:
        """The advice of `agent` after `given`; seconds: for each part that is told after what to do next."""
        adviser = Adviser(problem, agent, given, unavailable=unavailable)
        told = adviser.advice(seconds=seconds)
        return cls(problem, adviser.agent, told)

    def lines(self) -> Sequence[str]:
        told, unit = self.advice, self.problem.unit
        ranked = likeliest(told.belief)[:MOST_LINES]
        chances = percents([share for _, share in ranked]) if len(ranked) == len(told.belief) else None
        named = [
            f"{name} {chances[place] if chances else percent(share)}" for place, (name, share) in enumerate(ranked)
        ]
        first = f"{'do next' if told.is_test else 'commit'}: {told.do}"
        return [first, f"because {told.reason}", told.beside, f"belief: {', '.join(named)}", *self._ends(unit)]

    def _ends(self, unit: str) -> list[str]:
        told, stop = self.advice, self.advice.stop
        worth = (
            f"loss {money(-stop.value, unit)}" if counts_losses(self.problem) else f"worth {money(stop.value, unit)}"
        )
        lines = [f"if you stop now: {stop.commit}, {worth}, wrong in {percent(stop.wrong)} of cases"]
        if told.ahead is not None and told.is_test:
            kind = "" if told.kinds.get("ahead") == "exact" else f" ({told.kinds.get('ahead')})"
            lines.append(f"still to come{kind}: {told.ahead.tests:.1f} tests, about {money(told.ahead.cost, unit)}")
        opinion = told.second.words if told.second is not None else ""
        return [*lines, *filter(None, [opinion, told.words.get("first", "")])]

    def html(self) -> str:
        told = self.advice
        first = f"<p><b>{'Do next' if told.is_test else 'Commit'}: {safe(told.do)}</b><br>because {safe(told.reason)}"
        ranked = dict(likeliest(told.belief)[:MOST_LINES])
        ends = "".join(
            f"<div class='soft'>{safe(line)}</div>" for line in (told.beside, *self._ends(self.problem.unit))
        )
        chances = [percent(share) for share in ranked.values()]
        if len(ranked) == len(told.belief):
            chances = percents(list(ranked.values()))
        return f"{first}</p>{bars(ranked, chances)}{ends}{self._options()}"

    def _options(self) -> str:
        """The tests in parts; information has a column where it counts."""
        told, counts = self.advice, self.agent.weight != 0
        heads = ["test", "cost", "decides", *(["information x weight"] if counts else []), "net"]
        rows = [
            [o.test, money(o.cost), money(o.decides), *([money(o.weighted)] if counts else []), money(o.net)]
            for o in told.options
        ]
        return cells(heads, rows, marked=0 if told.is_test else -1) if rows else ""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [{**asdict(option), "behind": self.advice.behind[option.test]} for option in self.advice.options]

    def plot(self) -> Picture:
        """The belief as bars."""
        return plot_belief(dict(likeliest(self.belief)), f"{self.problem.name}: what is believed")


@dataclass(frozen=True, repr=False)
class DrawnPathway(Shown):
    """The recommended pathway as a tree; rows: its leaves, which add up to the whole."""

    pathway: Pathway

    @property
    def record(self) -> dict[str, Any]:
        return self.pathway.as_dict()

    @property
    def svg(self) -> str:
        """The drawing."""
        return Drawing(self.pathway).svg()

    @property
    def mermaid(self) -> str:
        """A flowchart for Markdown."""
        return as_mermaid(self.pathway)

    def lines(self) -> Sequence[str]:
        return as_text(self.pathway).rstrip("\n").split("\n")

    def html(self) -> str:
        return self.svg

    def rows(self) -> Sequence[Mapping[str, Any]]:
        leaves = self.pathway.leaves
        kept = ("number", "kind", "action", "share", "spent", "tests", "cost", "loss", "reward", "right")
        return [
            {name: getattr(leaf, name) for name in kept} | {f"P({name})": p for name, p in leaf.belief.items()}
            for leaf in leaves
        ]


@dataclass(frozen=True, repr=False)
class MadeReport(Shown):
    """The printable report; rows: ways of deciding side by side."""

    report: Report

    @property
    def page(self) -> str:
        """The whole report as one HTML page."""
        return page(self.report)

    def save(self, path: Path | str) -> Path:
        """Write the page to a file, whose name ends in .html."""
        from rhoplan.files import write_text

        write_text(Path(path), self.page)
        return Path(path)

    def lines(self) -> Sequence[str]:
        first = self.report.advice
        verb = "first" if first.is_test else "at once"
        cautions = [f"caution: {one.text}" for one in self.report.cautions]
        return [f"report on {self.report.problem.name}: {verb} {first.do}; .save('report.html') writes it", *cautions]

    def html(self) -> str:
        return (
            f"<iframe title='report' sandbox='' style='width:100%;height:{FRAME}px;border:1px solid #8884' "
            f'srcdoc="{escape(self.page, quote=True)}"></iframe>'
        )

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [asdict(row) for row in self.report.rows]


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Ways of deciding side by side, and reward against success over the weight (`frontier`, where there is one)."""

    problem: POMDP
    agent: BoundAgent
    found: tuple[Row, ...]
    frontier: Frontier | None

    @property
    def record(self) -> dict[str, Any]:
        return records.comparison_record(self.problem, self.agent, self.found, self.frontier)

    def lines(self) -> Sequence[str]:
        return [
            f"{row.label}: {'not known' if row.reward is None else money(row.reward, self.problem.unit)}"
            f"{f', {row.tests:.2f} tests' if row.tests is not None else ''}"
            f"{f', right in {percent(row.right)}' if row.right is not None else ''}"
            f"{f'; first {row.first}' if row.first else ''}"
            for row in self.found
        ]

    def html(self) -> str:
        heads = ["", "first", f"reward ({self.problem.unit})", "tests", "right"]
        rows = [
            [
                *(row.label, row.first, "" if row.reward is None else money(row.reward)),
                *("" if row.tests is None else f"{row.tests:.2f}", "" if row.right is None else percent(row.right)),
            ]
            for row in self.found
        ]
        return cells(heads, rows, numbers=2)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [asdict(row) for row in self.found]

    def plot(self) -> Picture:
        """The frontier; ValueError where there is none."""
        if self.frontier is None:
            raise ValueError(
                "there is no frontier over the weight: the agent does not look ahead exactly for information"
            )
        return plot_frontier(self.frontier, self.problem.unit)


@dataclass(frozen=True, repr=False)
class WhatIf(Shown):
    """Advice with other numbers (`changed`) beside the model's own (`own`), and where the first action flips."""

    own: CaseAdvice
    changed: CaseAdvice
    flips: Part

    @property
    def is_other(self) -> bool:
        """Whether the first action is another one."""
        return self.own.do != self.changed.do

    def lines(self) -> Sequence[str]:
        near = sorted(
            (flip for flip in self.flips.content or () if flip.nearest < float("inf")), key=lambda f: f.nearest
        )
        told = f"with these numbers: {self.changed.do}; with the model's own: {self.own.do}"
        lines = [told, *([self.flips.words] if self.flips.words else [])]
        for flip in near[:5]:
            edge = min((flip.down, flip.up), key=lambda one: one.distance)
            side = "below" if edge is flip.down else "above"
            lines.append(f"{flip.parameter}, now {flip.value:.6g}: {edge.then} {side} {edge.value:.6g}")
        return lines

    def rows(self) -> Sequence[Mapping[str, Any]]:
        kept = []
        for flip in self.flips.content or ():
            row = {"parameter": flip.parameter, "id": flip.id, "kind": flip.kind, "value": flip.value, "now": flip.now}
            for name, edge in (("down", flip.down), ("up", flip.up)):
                row |= {f"{name}_status": edge.status, f"{name}_value": edge.value, f"{name}_then": edge.then}
            kept.append(row)
        return kept


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """Exact scores over one setting, a row for each value and agent."""

    spec: str
    name: str
    scores: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = field(default=())

    def lines(self) -> Sequence[str]:
        told = [
            f"{self.name} {row['setting']}, {row['agent']}: "
            + ", ".join(f"{column} {text}" for column, text in self._told(row).items())
            for row in self.scores
        ]
        return [f"{self.spec}: exact scores over {self.name}", *told, *self.notes]

    def html(self) -> str:
        rows = [[row["setting"], row["agent"], *self._told(row).values()] for row in self.scores]
        return cells([self.name, "agent", *swept(self.scores)], rows, numbers=2)

    def _told(self, row: Mapping[str, Any]) -> dict[str, str]:
        told: dict[str, Callable[[float], str]] = {"tests": "{:.3f}".format, "success": percent}
        return {column: told.get(column, "{:.6g}".format)(row[column]) for column in swept(self.scores)}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self.scores

    def plot(self) -> Picture:
        """The scores over the setting, one line for each agent."""
        return drawn(lambda path: draw_sweep(path, self.scores, self.name, self.spec, ""))


@dataclass(frozen=True, repr=False)
class LearnedModel(Shown):
    """A model learned from cases, and its bill; rows: what a case costs by each way of deciding."""

    result: Result

    @property
    def problem(self) -> POMDP:
        """The model: advise, pathway, report and compare take it."""
        return self.result.problem

    @property
    def record(self) -> dict[str, Any]:
        return self.result.record

    def save(self, path: Path | str) -> Path:
        """Write the model to a file, whose name ends in .yaml."""
        from rhoplan.files import write_text
        from rhoplan.io.model_file import write_model

        write_text(Path(path), write_model(self.problem))
        return Path(path)

    def lines(self) -> Sequence[str]:
        from rhoplan.learning.bill import sentence

        bill, unit = self.result.bill, self.result.cases.plan.unit
        told = [f"{row['policy']}: {row['cost']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in self.rows()]
        split = f"{unit} a case on {counted(bill.cases, 'case')} not seen, 95% intervals"
        return [sentence(bill, unit), split, *told, *(f"warning: {one}" for one in self.result.cases.warnings)]

    def html(self) -> str:
        from rhoplan.learning.bill import sentence

        bill, unit = self.result.bill, self.result.cases.plan.unit
        rows = [[r["policy"], f"{r['cost']:.2f}", f"{r['low']:.2f} to {r['high']:.2f}"] for r in self.rows()]
        table = cells(["", f"{unit} a case, not seen", "95% interval"], rows, marked=0)
        told = "".join(f"<div class='soft'>warning: {safe(one)}</div>" for one in self.result.cases.warnings)
        return f"<p><b>{safe(sentence(bill, unit))}</b></p>{table}{told}"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        found = {"learned policy": self.result.bill.heldout, **self.result.bill.baselines}
        return [{"policy": name, "cost": e.mean, "low": e.low, "high": e.high} for name, e in found.items()]


Given = Evidence | Mapping[str, str]
"""What was seen: pairs of test and outcome in order, or a map where no test comes twice."""

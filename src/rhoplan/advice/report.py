"""The printable report on a model: everything is worked out here, `page` says it in HTML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rhoplan.advice.bands import Band, bands
from rhoplan.advice.case import Advice, advise
from rhoplan.advice.cautions import Caution, cautions
from rhoplan.advice.compare import Row, compare
from rhoplan.advice.pathway import Node, Pathway, Step, as_mermaid, as_svg, as_text, pathway
from rhoplan.advice.sensitivity import Flip, flips
from rhoplan.agent import Agent
from rhoplan.planning.graph import Graph
from rhoplan.problem import Problem

MOST_LEAVES, MOST_COLUMNS = 26, 5
"""Leaves and columns of a tree that can be read on one sheet of A4."""

COARSER = (1e-3, 3e-3, 1e-2, 3e-2)
"""Shares of cases below which branches are folded, the first that gives a readable figure."""


@dataclass(frozen=True)
class Report:
    """What a report on `problem` says. figure: the pathway as far as it can be read on one page."""

    problem: Problem
    agent: Agent
    advice: Advice
    pathway: Pathway
    figure: Pathway
    bands: tuple[Band, ...]
    rows: tuple[Row, ...]
    flips: tuple[Flip, ...]
    cautions: tuple[Caution, ...]
    budget: float


def make_report(problem: Problem, agent: Agent, *, seconds: float = 5.0, budget: float = 20.0) -> Report:
    """The report on what `agent` recommends for `problem`.

    seconds: for the cost-only plan, the optimum and deeper plans, each. budget: seconds for the sensitivity analysis.
    """
    graph = Graph(problem)
    full = pathway(problem, agent, graph=graph)
    figure = full
    for smallest in COARSER[1:]:
        if len(figure.leaves) <= MOST_LEAVES and _columns(figure.root) <= MOST_COLUMNS:
            break
        figure = pathway(problem, agent, smallest=smallest, graph=graph)
    rows = compare(problem, agent, seconds=seconds)
    plain = next(row for row in rows if row.key == "cost-only")
    return Report(
        problem=problem,
        agent=agent,
        advice=advise(problem, agent, graph=graph),
        pathway=full,
        figure=figure,
        bands=bands(problem, agent),
        rows=rows,
        flips=flips(problem, agent, budget=budget),
        cautions=cautions(problem, agent, seconds=seconds, plain=plain),
        budget=budget,
    )


def _columns(node: Node) -> int:
    return 1 + max((_columns(o.child) for o in node.outcomes), default=0) if isinstance(node, Step) else 1


def write_report(report: Report, out: Path) -> tuple[Path, ...]:
    """Write the page to `out` and the pathway beside it as .svg, .mmd and .txt; the paths written."""
    from rhoplan.advice.page import page
    from rhoplan.report.files import write_text

    texts = {
        out: page(report),
        out.with_suffix(".svg"): as_svg(report.pathway),
        out.with_suffix(".mmd"): as_mermaid(report.pathway),
        out.with_suffix(".txt"): as_text(report.pathway),
    }
    for path, text in texts.items():
        write_text(path, text)
    return tuple(texts)

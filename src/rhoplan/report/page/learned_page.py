"""The report on what was learned from past cases, as one HTML page that needs nothing else and prints on A4.

All of it comes from the model: `learned` of its details, which a model file carries, and the pathway of its policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rhoplan.advice.pathway import Pathway, pathway
from rhoplan.agents.agent import LEARNED, Agent, make_agent
from rhoplan.errors import LimitError, ProblemError
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Problem
from rhoplan.report.content import MOST_NODES
from rhoplan.report.page.bill import bill_box
from rhoplan.report.page.learned import (
    calibration_section,
    caps_section,
    decision_section,
    dependence_section,
    planned_section,
    second_section,
    size_section,
    split_words,
    tests_section,
)
from rhoplan.report.page.parts import safe
from rhoplan.report.page.pathway import pathway_section
from rhoplan.report.page.tripod import tripod
from rhoplan.version import __version__

PATHWAY_BYTES = 500_000_000
"""Memory that situations of the pathway may take: with cheap tests there are millions, most of them as good as never
reached, and a report is to be had in seconds."""


@dataclass(frozen=True)
class Drawn:
    """A model and the pathway that its policy takes."""

    problem: Problem
    agent: Agent
    pathway: Pathway


def learned_page(problem: Problem) -> str:
    """The whole page on `problem`, which was learned from cases."""
    learned: dict[str, Any] | None = problem.details.get(LEARNED)
    if learned is None:
        raise ProblemError(f"'{problem.name}' was not learned from cases: it has no field learned")
    name = safe(problem.name)
    steps, at_the_end = _pathway(problem)
    body = [
        f"<header><h1>{name}: learned from {learned['table']['cases']:,} cases</h1><p class='soft'>What a policy made "
        f"of them costs on cases it has not seen. Scored {safe(split_words(learned))}; rhoplan "
        f"{safe(__version__)}.</p></header>",
        bill_box(learned),
        "<h2>Planned and held-out cost</h2>",
        planned_section(learned),
        "<h2>Is it as sure as it should be?</h2>",
        calibration_section(learned),
        "<h2>Is it of use?</h2>",
        decision_section(learned),
        second_section(learned),
        "<h2>What fewer tests or less money would cost</h2>",
        caps_section(learned),
        "<h2>Tests</h2>",
        tests_section(learned, problem),
        "<h2>What tests have in common</h2>",
        dependence_section(learned),
        "<h2>Cases</h2>",
        size_section(learned),
        "<h2>Pathway</h2>",
        "<p class='lead'>What the policy made of all cases does, and what the model expects of it.</p>",
        steps,
        "<h2>Checklist: TRIPOD+AI</h2>",
        tripod(learned, problem),
        at_the_end,
    ]
    style = files("rhoplan.report.page").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{name}: learned from cases</title><style>{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _pathway(problem: Problem) -> tuple[str, str]:
    """The pathway's section, and its sheets for the end of the report."""
    agent, graph = make_agent(LEARNED, problem), Graph(problem)
    graph.node_limit = min(graph.node_limit, PATHWAY_BYTES // graph.node_bytes)
    try:
        return pathway_section(Drawn(problem, agent, pathway(problem, agent, most_nodes=MOST_NODES, graph=graph)))
    except LimitError as error:
        return f"<p>The pathway is too large to be drawn: {safe(error)}.</p>", ""

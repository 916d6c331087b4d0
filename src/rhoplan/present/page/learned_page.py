"""The report on what was learned from past cases, as one HTML page that needs nothing else and prints on A4.

All of it comes from the model: `learned` of its details, which a model file carries, and the pathway of its policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rhoplan._old.followed import Plans
from rhoplan._old.menu import nodes_within
from rhoplan.advice.pathway import Pathway, pathway
from rhoplan.agents.agent import BoundAgent, decide, make_adviser
from rhoplan.errors import LimitError, ProblemError
from rhoplan.io.learned import LEARNED
from rhoplan.model.pomdp import POMDP
from rhoplan.present.content import MOST_NODES
from rhoplan.present.page.bill import bill_box
from rhoplan.present.page.learned import (
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
from rhoplan.present.page.parts import safe
from rhoplan.present.page.pathway import pathway_section
from rhoplan.present.page.tripod import tripod
from rhoplan.present.signed import signed
from rhoplan.version import __version__

SMALLEST = 0.005
"""Share of cases below which a branch of the pathway is folded: a few hundred cases tell nothing of smaller ones."""

ROOM = 500_000_000
"""Bytes that following the policy to all its ends may take, about."""


@dataclass(frozen=True)
class Drawn:
    """A model and the pathway that its policy takes."""

    problem: POMDP
    agent: BoundAgent
    pathway: Pathway


def learned_page(problem: POMDP) -> str:
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
    style = files("rhoplan.present.page").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>{name}: learned from cases</title><style>{style}</style>"
    text = f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"
    return signed(text, problem)


def _pathway(problem: POMDP) -> tuple[str, str]:
    """The pathway's section, and its sheets for the end of the report."""
    agent, plans = make_adviser(problem), Plans(problem)
    try:
        with plans.graph.limited(nodes_within(problem, ROOM)):
            return pathway_section(
                Drawn(problem, agent, pathway(problem, agent, plans=plans, smallest=SMALLEST, most_nodes=MOST_NODES))
            )
    except LimitError:
        words = (
            f"The policy has too many branches to follow them all to their ends. It begins with "
            f"{decide(problem, agent).choice}; rhoplan advise goes on from there, result by result."
        )
        return f"<p>{safe(words)}</p>", ""

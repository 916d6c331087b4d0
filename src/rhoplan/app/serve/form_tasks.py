"""What the gallery and the form ask of a worker: a card of a model, its text as a form, a form as text."""

from __future__ import annotations

from typing import Any

from rhoplan.app.serve.sources import Source
from rhoplan.app.serve.worker import build
from rhoplan.problems.registry import PROBLEMS

Record = dict[str, Any]


def card(source: Source) -> Record:
    """A model in a few words; it is not kept at hand, for nobody has asked to plan with it."""
    problem = build(source)
    about = problem.details.get("info", {}).get("about") or problem.note
    if not about and source.name in PROBLEMS:
        about = (PROBLEMS[source.name].__doc__ or "").split("\n")[0]
    tests = None if problem.listed is None else len(problem.listed.tests)
    return {"title": problem.name, "about": about.rstrip("."), "tests": tests}

"""Finished reports beside the documentation: a Sphinx extension that writes those of the worked models as they are.

Each is what `rhoplan report NAME` and `rhoplan carry NAME` write; they stand in the folder `reports` of the site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rhoplan.advice.carried import carry
from rhoplan.agents.agent import make_adviser
from rhoplan.files import write_text
from rhoplan.present.carry.page import carried_page
from rhoplan.present.content import make_report
from rhoplan.present.origin import origin_of
from rhoplan.present.page.page import page
from rhoplan.problems.registry import WORKED_MODELS, make


def write_reports(app: Any, error: Exception | None) -> None:
    """Write the reports and the plans to carry once the site is built."""
    if error is not None or app.builder.format != "html":
        return
    for name in WORKED_MODELS:
        problem = make(name)
        agent, folder = make_adviser(problem), Path(app.outdir) / "reports"
        write_text(folder / f"{name}.html", page(make_report(problem, agent)))
        write_text(folder / f"{name}-plan.html", carried_page(carry(problem, agent), origin_of(problem)))


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write_reports)
    return {"parallel_read_safe": True}

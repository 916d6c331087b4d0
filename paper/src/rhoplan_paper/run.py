"""One reproduction from start to end: own the folder, do the jobs, write every study at once, then the report."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rhoplan.files import write_text
from rhoplan_paper.context import Context
from rhoplan_paper.report.output import write_manifest, write_study, write_verdicts
from rhoplan_paper.report.page import page
from rhoplan_paper.runner import Progress, on_cluster, on_this_machine, reproduce
from rhoplan_paper.store import Store
from rhoplan_paper.study import VERDICTS, Study


def run(
    studies: list[Study],
    folder: Path,
    *,
    full: bool,
    jobs: int,
    watch: Progress,
    cluster: str | None = None,
    unit: str = "both",
) -> dict[str, Any]:
    """Reproduce `studies` into `folder`; what was found, in short."""
    begin = time.perf_counter()
    store = Store(folder)
    execute = on_cluster(cluster) if cluster else on_this_machine(jobs)
    context = Context(full=full)
    with store.locked():
        outcomes = reproduce(
            studies,
            context,
            store,
            execute,
            watch,
            lambda study, outcome: write_study(folder, study, outcome, unit),
        )
        findings = write_verdicts(folder, outcomes)
        seconds = time.perf_counter() - begin
        settings = {"full": full, "unit": unit}
        timing = _earlier(folder)
        if not context.reused:  # a run that found results in the folder says nothing about how long it takes
            timing["full" if full else "quick"] = seconds
        write_text(folder / "report.html", page(studies, outcomes, folder / "figures", settings, timing))
        write_manifest(folder, studies, settings, timing)
    counts = Counter(finding.verdict for finding in findings)
    return {
        "studies": len(studies),
        "seconds": seconds,
        "verdicts": {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]},
        "report": str(folder / "report.html"),
    }


def _earlier(folder: Path) -> dict[str, float]:
    """How long runs of the other size took in this folder, if any did."""
    try:
        kept = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["timing"]
        return {size: float(kept[size]) for size in ("quick", "full") if size in kept}
    except (OSError, ValueError, KeyError, TypeError):
        return {}

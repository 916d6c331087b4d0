"""One reproduction from start to end: own the folder, do the jobs, write every study at once, then the report.

Jobs run on this machine's cores or on a Dask cluster (`rhoplan.parallel`), and every result is kept at once. Studies
are built as soon as their jobs are done.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from rhoplan.files import write_text
from rhoplan.parallel import run_jobs
from rhoplan_paper.context import Context, Pending
from rhoplan_paper.jobs import Job, run_job
from rhoplan_paper.report.output import write_manifest, write_study, write_verdicts
from rhoplan_paper.report.page import page
from rhoplan_paper.store import Store
from rhoplan_paper.study import VERDICTS, Outcome, Study

Execute: TypeAlias = Callable[[list[Job]], Iterator[tuple[Job, dict[str, Any]]]]


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
    how = on_cluster(cluster) if cluster else on_this_machine(jobs)
    context = Context(full=full)
    with store.locked():
        outcomes = reproduce(
            studies,
            context,
            store,
            how,
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


class Progress(Protocol):
    """What a run tells whoever watches it."""

    def wanted(self, jobs: int, done: int) -> None:
        """So many jobs are known to be needed, so many of them are done."""

    def finished(self, study: Study, outcome: Outcome) -> None:
        """A study is complete."""


def reproduce(
    studies: list[Study],
    context: Context,
    store: Store,
    execute: Execute,
    progress: Progress,
    write: Callable[[Study, Outcome], None],
) -> dict[str, Outcome]:
    """Build every study, in whatever order their jobs allow; `write` is called with each as soon as it is complete."""
    outcomes: dict[str, Outcome] = {}
    waiting = list(studies)
    while waiting:
        needs = {study.id: _try(study, context, store, outcomes, progress, write) for study in waiting}
        waiting = [study for study in waiting if study.id not in outcomes]
        jobs = list(dict.fromkeys(one for study in waiting for one in needs[study.id]))
        total, done = len(jobs), 0
        progress.wanted(total, done)
        for finished, outcome in execute(jobs) if jobs else ():
            store.put(finished, outcome)
            context.known[finished] = outcome["result"]
            done += 1
            progress.wanted(total, done)
            for study in list(waiting):
                needs[study.id] = [one for one in needs[study.id] if one != finished]
                if not needs[study.id]:
                    needs[study.id] = _try(study, context, store, outcomes, progress, write)
                    if study.id in outcomes:
                        waiting.remove(study)
    return {study.id: outcomes[study.id] for study in studies}


def _try(
    study: Study,
    context: Context,
    store: Store,
    outcomes: dict[str, Outcome],
    progress: Progress,
    write: Callable[[Study, Outcome], None],
) -> list[Job]:
    """Build `study` if its results are there or kept; otherwise the jobs it waits for."""
    while True:
        try:
            outcome = study.build(context)
        except Pending as pending:
            kept = {one: store.get(one) for one in pending.jobs}
            context.known.update({one: found["result"] for one, found in kept.items() if found})
            missing = [one for one, found in kept.items() if not found]
            context.reused += len(kept) - len(missing)
            if missing:
                return missing
            continue
        outcomes[study.id] = outcome
        write(study, outcome)
        progress.finished(study, outcome)
        return []


def on_this_machine(workers: int) -> Execute:
    """Execute jobs in `workers` processes, or in this one where there is one worker."""
    return lambda jobs: run_jobs(run_job, jobs, workers=workers)


def on_cluster(address: str) -> Execute:
    """Execute jobs on the Dask cluster whose scheduler listens at `address`."""
    return lambda jobs: run_jobs(run_job, jobs, cluster=address)

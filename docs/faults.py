"""Tables on faults put into the library, from the run that is kept in faults.json and from what was explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RUN = Path(__file__).with_name("faults.json")


def scores() -> str:
    """How many faults of each area were noticed, as a table; the share is of those that can change an answer."""
    lines = [
        "| area | faults | at first | noticed | explained | missed | share noticed |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for area, one in _run()["areas"].items():
        missed = one["faults"] - one["noticed"] - one["explained"]
        share = one["noticed"] / (one["faults"] - one["explained"])
        cells = (area, one["faults"], one["noticed_at_first"], one["noticed"], one["explained"], missed, f"{share:.0%}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def fresh() -> str:
    """The same of a draw that nobody had looked at before its faults were tried."""
    lines = ["| area | faults | noticed | explained | missed | share noticed |", "|---|---:|---:|---:|---:|---:|"]
    run = _run()["fresh"]
    for area, one in (*run["areas"].items(), (f"all, seed {run['again']['seed']}", run["again"])):
        missed = one["faults"] - one["noticed"] - one["explained"]
        share = one["noticed"] / (one["faults"] - one["explained"])
        cells = (area, one["faults"], one["noticed"], one["explained"], missed, f"{share:.0%}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def survivors() -> str:
    """The faults that no test noticed, each with what is known about it."""
    lines: list[str] = []
    for one in _run()["survivors"]:
        why = one["why"] or "missed: no test that was tried notices it"
        lines.append(
            f"- `{one['file'].removeprefix('src/rhoplan/')}`, `{one['before']}` becomes `{one['after']}`: {why}."
        )
    return "\n".join(lines) + "\n"


def _run() -> dict[str, Any]:
    run: dict[str, Any] = json.loads(RUN.read_text(encoding="utf-8"))
    return run

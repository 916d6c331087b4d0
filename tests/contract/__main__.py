"""`python3 run.py record` and `python3 run.py golden`: record golden results anew, or compare with those recorded.

record          run every case, write both sets, print what differs from before, by kind
golden          compare the full set; exit 1 if anything differs
golden quick    compare the quick set, as the tests do
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

from contract.commands import Case, corpus
from contract.golden import SETS, Recorded, compare_rows, differences, load, run_cases, save, summary

PROCESSES = 2
CHUNK = 25


def record() -> int:
    """Run every case, write both sets, and print what differs from the recording before.

    An answer that agrees with the one recorded before stays as it was recorded, so that tolerances do not add up.
    """
    made = corpus()
    rows = _shared(run_cases, made.cases, made.files)
    before = {row.case.name: row for path in SETS.values() if path.exists() for row in load(path)[1]}
    found = {row.case.name: differences(before.get(row.case.name, row), row) for row in rows}
    kept = [row if found[row.case.name] else before.get(row.case.name, row) for row in rows]
    rows = [replace(old, case=row.case) for row, old in zip(rows, kept, strict=True)]
    save(SETS["quick"], made.files, [row for row in rows if row.case.is_quick])
    save(SETS["full"], made.files, [row for row in rows if not row.case.is_quick])
    print(f"{len(found.keys() - before.keys())} new cases, {len(before.keys() - found.keys())} no longer recorded")
    print("\n".join(summary([one for its in found.values() for one in its])) or "no differences")
    for name, path in SETS.items():
        its = [row for row in rows if row.case.is_quick == (name == "quick")]
        print(f"{name}: {len(its)} cases, {sum(row.seconds for row in its):.0f} CPU s, {path.stat().st_size:,} bytes")
    return 0


def compare(names: Sequence[str]) -> int:
    """Compare the named sets with what rhoplan answers now."""
    begin, found, count = time.monotonic(), [], 0
    for name in names:
        files, rows = load(SETS[name])
        found += _shared(compare_rows, rows, files)
        count += len(rows)
    print("\n".join(summary(found)) or "no differences")
    print(f"{count} cases compared in {time.monotonic() - begin:.0f} s")
    return 1 if found else 0


def _shared(work: Any, items: Sequence[Any], files: dict[str, str]) -> list[Any]:
    """What `work` returns for chunks of `items`, shared among processes; requests stay together."""
    posts = [one for one in items if _case(one).command[0] == "POST"]
    others = [one for one in items if _case(one).command[0] != "POST"]
    chunks = [chunk for chunk in (posts, *(others[k : k + CHUNK] for k in range(0, len(others), CHUNK))) if chunk]
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        return [one for found in pool.map(work, chunks, [files] * len(chunks)) for one in found]


def _case(one: Case | Recorded) -> Case:
    return one.case if isinstance(one, Recorded) else one


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["golden"]
    sys.exit(record() if what == "record" else compare(rest or ["full", "quick"]))

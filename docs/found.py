"""Writes docs/what-we-found.md from a finished reproduction: python docs/found.py FOLDER."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from rhoplan_paper.compare import CHANCE

HERE = Path(__file__).parent

LONG = 320
"""Characters up to which a reason is told in full clauses; the first is told however long it is."""

REST = " (the report has the rest)"
"""What follows a sentence that is not told to its end."""

ORDER = (
    ("contradicted", "What the computation contradicts"),
    ("holds in part", "What holds in part"),
    ("within noise, but the claimed difference is not there", "Differences that are not there"),
    ("holds only in bits", "What holds only with weights per bit"),
    ("holds only in nats", "What holds only with weights per nat"),
    ("cannot be checked as stated", "What cannot be checked as stated"),
    ("confirmed", "What is confirmed"),
)
"""Verdicts that are judgements, with a heading for the claims that have them."""

APART = {
    "setting": "more are settings, the same here as there, and confirm nothing",
    "told again": "more repeat a number that the paper prints elsewhere, and are judged there",
}
"""Verdicts on numbers that are counted apart."""

SIZES = {
    False: "a quick run, `rhoplan reproduce`, which simulates a tenth of the paper's episodes",
    True: "a full run, `rhoplan reproduce --full`, with as many episodes as the paper's",
}
"""Which run a page is from, by whether it was a full one."""


def main(folder: Path) -> None:
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    claims = [row for row in rows if "/" not in row["id"]]
    numbers = [row for row in rows if "/" in row["id"] and row["verdict"] not in APART]
    apart = Counter(row["verdict"] for row in rows if row["verdict"] in APART)
    lines = [
        "# What we found",
        "",
        "Every number that the paper prints and everything it claims in words, held against exact computation where",
        "the engine reaches and against seeded episodes elsewhere. The verdicts are computed: this page is written",
        f"by `docs/found.py` from {SIZES[manifest['full']]} (rhoplan {manifest['version']}).",
        "The report that the command makes shows each verdict with its table or figure, the command and the reason.",
        "A number is contradicted where chance alone would put it so far from ours, or farther, less than once in",
        f"{round(1 / CHANCE):,} times: means by their standard error, shares by the exact distribution of their count.",
        "",
        f"- {len(numbers)} printed numbers that are results: {_counts(numbers)}.",
        *(f"- {apart[verdict]} {told}." for verdict, told in APART.items() if apart[verdict]),
        f"- {len(claims)} claims in words: {_counts(claims)}.",
        "",
    ]
    for verdict, title in ORDER:
        chosen = [row for row in claims if row["verdict"] == verdict]
        if chosen:
            lines += [f"## {title}", ""]
            for row in chosen:
                claim, place, reason = (_plain(text) for text in (row["claim"], row["place"], first(row["reason"])))
                parts = f" *{_plain(row['parts'])}.*" if row["parts"] else ""
                lines.append(f"- **{claim}** ({place}).{parts} {reason}.")
            lines.append("")
    (HERE / "what-we-found.md").write_text("\n".join(lines), encoding="utf-8")


def first(reason: str) -> str:
    """The first clauses of a reason, whole, about as much as two or three lines; the report has all of it."""
    kept, *others = clauses(" ".join(reason.split()))
    for clause in others:
        if len(kept) + len(clause) > LONG:
            return kept if kept.endswith(".") else kept.rstrip(";") + REST
        kept = f"{kept} {clause}"
    return kept


def clauses(text: str) -> list[str]:
    """`text` in parts that can be read by themselves: sentences, and what semicolons outside brackets part."""
    parts, start, depth = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        after = text[place + 1 : place + 3]
        if depth == 0 and after.startswith(" ") and (letter == ";" or (letter == "." and after[1:].isupper())):
            parts.append(text[start : place + 1])
            start = place + 2
    return [*parts, text[start:]]


def _counts(rows: list[dict[str, str]]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict, _ in reversed(ORDER) if counts[verdict])


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, without a full stop at its end."""
    return "".join(f"\\{c}" if c in "*_`[]<>|$" else c for c in " ".join(text.split())).rstrip(".:;")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Writes docs/what-we-found.md from a finished reproduction: python docs/found.py FOLDER."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent

LONG = 160
"""Characters after which a reason is long."""

ORDER = (
    ("contradicted", "What the computation contradicts"),
    ("within noise, but the claimed difference is not there", "Differences that are not there"),
    ("holds only in bits", "What holds only with weights per bit"),
    ("holds only in nats", "What holds only with weights per nat"),
    ("cannot be checked as stated", "What cannot be checked as stated"),
    ("confirmed", "What is confirmed"),
)


def main(folder: Path) -> None:
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    claims = [row for row in rows if "/" not in row["id"]]
    numbers = [row for row in rows if "/" in row["id"]]
    size = "full" if manifest["full"] else "quick"
    lines = [
        "# What we found",
        "",
        "Every number that the paper prints and everything it claims in words, held against exact computation where",
        "the engine reaches and against seeded episodes elsewhere. The verdicts are computed: this page is written",
        f"by `docs/found.py` from a {size} run of `rhoplan reproduce` (rhoplan {manifest['version']}). The report that",
        "the command makes shows each verdict with its table or figure, the command behind it and the reason.",
        "",
        f"- {len(numbers)} printed numbers: {_counts(numbers)}.",
        f"- {len(claims)} claims in words: {_counts(claims)}.",
        "",
    ]
    for verdict, title in ORDER:
        chosen = [row for row in claims if row["verdict"] == verdict]
        if chosen:
            lines += [f"## {title}", ""]
            for row in chosen:
                claim, place, reason = (_plain(text) for text in (row["claim"], row["place"], first(row["reason"])))
                lines.append(f"- **{claim}** ({place}). {reason}.")
            lines.append("")
    (HERE / "what-we-found.md").write_text("\n".join(lines), encoding="utf-8")


def first(reason: str) -> str:
    """The first sentences of a reason, about as much as a line or two; the report has all of it."""
    kept = ""
    for sentence in re.split(r"(?<=[.:;]) (?=[A-Z])", " ".join(reason.split())):
        if kept and len(kept) + len(sentence) > LONG:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if len(kept) <= 2 * LONG else kept[: 2 * LONG].rsplit(" ", 1)[0] + " ..."


def _counts(rows: list[dict[str, str]]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict, _ in reversed(ORDER) if counts[verdict])


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, without a full stop at its end."""
    return "".join(f"\\{c}" if c in "*_`[]<>|$" else c for c in " ".join(text.split())).rstrip(".:;")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

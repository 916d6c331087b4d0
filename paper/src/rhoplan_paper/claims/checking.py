"""The paper's claims in words: each has a small function that returns its finding, registered with `@claim("id")`.

One study is made of them all. A claim function asks for all its jobs at once (`ask`), works out from the
numbers whether the claim holds, by unit of information where a weight matters (`by_unit`), and puts it into words with
`found`. The functions are in the other modules of this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rhoplan_paper.context import Context, Pending
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Claim, published
from rhoplan_paper.registry import add_study, claims
from rhoplan_paper.study import (
    Finding,
    Headline,
    Outcome,
    Part,
    Sheet,
    Study,
)

Result = Mapping[str, Any]
Key = TypeVar("Key")

UNITS = ("bits", "nats")

SAME = 1e-9
"""Exact scores closer than this are the same score: what is left is the arithmetic of floats."""


def build_claims(context: Context) -> Outcome:
    """A finding for every registered claim; Pending with the jobs that all of them miss together."""
    findings: list[Finding] = []
    missing: dict[Job, None] = {}
    for check in claims().values():
        try:
            findings.append(check(context))
        except Pending as pending:
            missing.update(dict.fromkeys(pending.jobs))
    if missing:
        raise Pending(missing)
    rows = tuple((f.place, f.claim, f.published, f.exact or f.simulated, f.verdict, f.reason) for f in findings)
    return Outcome(Sheet(("place", "claim", "published", "ours", "verdict", "reason"), rows), tuple(findings))


def found(
    id: str,
    verdict: str,
    reason: str,
    *,
    published: str = "",
    simulated: str = "",
    exact: str = "",
    unit: str = "",
    parts: tuple[Part, ...] = (),
    headline: tuple[str, str] | None = None,
) -> Finding:
    """The finding on claim `id`; its place and its words are the paper's data. headline: a number and a sentence."""
    about = _about(id)
    return Finding(
        id,
        about.place,
        about.gist,
        published,
        simulated,
        exact,
        unit,
        verdict,
        reason,
        parts,
        Headline(*headline) if headline else None,
    )


def _about(id: str) -> Claim:
    return published().claims[id]


add_study(
    Study("claims", "claims", "What the paper says in words", "", "throughout", build_claims, None, (60.0, 120.0))
)

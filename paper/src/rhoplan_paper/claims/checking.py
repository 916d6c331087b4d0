"""The paper's claims in words: each has a small function that returns its finding, registered with `@claim("id")`.

One study is made of them all. A claim function asks for all its jobs at once (`ask`), works out from the
numbers whether the claim holds, by unit of information where a weight matters (`by_unit`), and gives the verdict with
the values that the claim's sentences in `reasons.json` name (`found`). The functions are in the other modules of this
folder.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rhoplan_paper.context import Context, at_once
from rhoplan_paper.registry import claims, study
from rhoplan_paper.study import Finding, Found, Outcome, Sheet, Verdict


def build_claims(context: Context) -> Outcome:
    """A finding for every registered claim; Pending with the jobs that all of them miss together."""
    findings: tuple[Finding, ...] = at_once(*(partial(check, context) for check in claims().values()))
    rows = tuple((f.place, f.claim, f.published, f.exact or f.simulated, f.verdict, f.reason) for f in findings)
    return Outcome(Sheet(("place", "claim", "published", "ours", "verdict", "reason"), rows), findings)


def found(verdict: Verdict, words: str = "", /, **values: Any) -> Found:
    """What a claim function found; `@claim` puts it into words, with `values` where the claim's sentences name them.

    words: an entry of `reasons.json` instead of the claim's own, where it came out in another way.
    """
    return Found(verdict, words, values)


study("claims", build_claims)

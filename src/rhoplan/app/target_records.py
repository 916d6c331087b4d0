"""Answers to targets and frontiers as plain records, for `rhoplan target --json` and the API."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rhoplan.advice.edges import Edge
    from rhoplan.advice.targets import Answer, Share
    from rhoplan.io.constraints import Target
    from rhoplan.model.pomdp import POMDP

SMALLEST, MOST_NODES = 1e-3, 200
"""Share of cases below which a branch of a pathway is folded, and lines that it may have."""


def answer_record(answer: Answer, *, trees: bool) -> dict[str, Any]:
    """An answer; with `trees`, the pathway of each plan."""
    from rhoplan.advice.target_words import answer_words
    from rhoplan.version import __version__

    unit = answer.problem.unit
    return {
        "problem": answer.problem.spec,
        "kind": "exact",
        "reward_unit": unit,
        "targets": targets_record(answer.targets, unit, answer.limits),
        "minimised": answer.counts,
        "depth": answer.depth,
        "whole": answer.whole,
        "mixture": [_share_record(answer, part, trees) for part in answer.mixture],
        "together": asdict(answer.together),
        "gap": answer.gap,
        "prices": [
            {"kind": one.target.kind, "state": one.target.state, "price": one.price, "own": list(one.own)}
            for one in answer.prices
        ],
        "certain": answer.certain and _share_record(answer, answer.certain, trees),
        "certain_least": answer.certain_least if math.isfinite(answer.certain_least) else None,
        "proven": answer.proven,
        "plain": _share_record(answer, answer.plain, False),
        "words": answer_words(answer),
        "version": __version__,
    }


def _share_record(answer: Answer, part: Share, trees: bool) -> dict[str, Any]:
    return {
        "share": part.share,
        "numbers": asdict(part.numbers),
        "pathway": pathway_text(answer, part) if trees else None,
    }


def pathway_text(answer: Answer, part: Share) -> str:
    """A plan of an answer as numbered text."""
    from rhoplan.advice.following import drawn
    from rhoplan.present.telling import as_text

    return as_text(drawn(answer.ground, part.course, smallest=SMALLEST, most_nodes=MOST_NODES))


def targets_record(targets: Sequence[Target], unit: str, limits: Sequence[float] = ()) -> list[dict[str, Any]]:
    """Targets, what they are in words, and as shares of all cases where `limits` are known."""
    from rhoplan.advice.targets import target_words

    known = list[float | None](limits) or [None] * len(targets)
    return [
        {**asdict(one), "limit": limit, "words": target_words(one, unit)}
        for one, limit in zip(targets, known, strict=True)
    ]


def edge_record(problem: POMDP, edge: Edge) -> dict[str, Any]:
    """A frontier."""
    return {**asdict(edge), "own": list(edge.own), "problem": problem.spec, "reward_unit": problem.unit}

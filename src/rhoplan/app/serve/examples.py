"""A request to each address that takes JSON, as OpenAPI shows it; the tests send them all."""

from __future__ import annotations

from typing import Any

HEARD = {"problem": "tiger", "given": [["listen", "hear-left"]]}
POSITIVE = {"problem": "screening-cascade", "given": [["strip", "positive"]]}
COIN = """\
states: [fair, bent]
tests:
  toss: {cost: 1, outcomes: [head, tail], likelihood: {fair: [0.5, 0.5], bent: [0.9, 0.1]}}
losses:
  keep: {fair: 0, bent: 20}
  drop: {fair: 10, bent: 0}
"""

EXAMPLES: dict[str, dict[str, Any]] = {
    "decide": {**HEARD, "agent": "efe", "horizon": 3},
    "situation": HEARD,
    "advise": POSITIVE,
    "advise_parts": {**POSITIVE, "parts": ["first", "ahead", "pathway"]},
    "advise_batch": {
        "problem": "screening-cascade",
        "cases": [{"id": "first", "given": []}, {"id": "second", "given": [["strip", "positive"]]}],
    },
    "evaluate": {"problem": "tiger", "agent": "efe,planning"},
    "solve": {"problem": "tiger", "weight": 1.0, "gap": 0.01},
    "pathway": {"problem": "screening-cascade", "smallest": 0.001},
    "compare": {"problem": "screening-cascade", "frontier": False},
    "what_if": {**POSITIVE, "costs": {"lab-assay": 700}, "flips": False},
    "journal": {"problem": "screening-cascade", "entries": [{"test": "strip", "outcome": "positive"}]},
    "upload_model": {"name": "coin", "text": COIN, "check_only": True},
}


def example(name: str) -> dict[str, Any] | None:
    """What an address adds to its description: an example of what it takes, where there is one."""
    if name not in EXAMPLES:
        return None
    return {"requestBody": {"content": {"application/json": {"example": EXAMPLES[name]}}}}

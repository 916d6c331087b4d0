"""A request to each address that takes JSON, as OpenAPI shows it; the tests send them all."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from rhoplan.advice.journal import digest_of
from rhoplan.version import __version__

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

KEPT = {
    "version": __version__,
    "problem": "coin",
    "model": COIN,
    "digest": digest_of(COIN),
    "agent": {"name": "planning", "horizon": 1, "planner": "exact", "weight": 0.0, "unit": "nats", "discount": 1.0},
    "entries": [],
}
TABLE = "dGhlIHRhYmxlJ3MgdG9rZW4"
"""Stands for what `learn/table` gave a table that was sent."""

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
    "carry_case": {**POSITIVE, "prior": {"ill": 0.05}},
    "upload_model": {"name": "coin", "text": COIN, "check_only": True},
    "save_model": {"name": "coin", "text": COIN},
    "read_form": {"text": COIN, "name": "coin"},
    "check_form": {
        "form": {
            "states": ["well", "ill"],
            "positive": "ill",
            "prevalence": "2%",
            "tests": [{"name": "strip", "cost": "5", "numbers": {"sensitivity": "90%", "specificity": "95%"}}],
            "decisions": [{"name": "leave", "amounts": ["0", "900"]}, {"name": "treat", "amounts": ["60", "0"]}],
        },
    },
    "convert": {"states": ["well", "ill"], "test": {"ppv": "30%", "npv": "99.5%", "share_positive": "10%"}},
    "uncertainty": {"problem": "screening-cascade", "spread": 0.1, "samples": 200},
    "meet_targets": {"problem": "screening-cascade", "miss": "1 in 1,000"},
    "draw_frontier": {"problem": "screening-cascade"},
    "replay": {"text": json.dumps(KEPT)},
    "draft_plan": {"table": TABLE, "target": "outcome"},
    "learn": {
        "table": TABLE,
        "plan": {
            "target": "outcome",
            "tests": {"strip": {"cost": 5}},
            "losses": {"leave": {"well": 0, "ill": 900}, "treat": {"well": 60, "ill": 0}},
        },
    },
}


def add_examples(app: FastAPI) -> None:
    """Show with each address of `app` what it may be sent."""
    for route in app.routes:
        shown = EXAMPLES.get(route.operation_id or route.name) if isinstance(route, APIRoute) else None
        if shown is not None and isinstance(route, APIRoute):
            route.openapi_extra = {"requestBody": {"content": {"application/json": {"example": shown}}}}

"""What can be carried away, made inside a worker: the report, the interactive plan and the card, with their origin."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rhoplan.advice.carried import carry
from rhoplan.advice.start import Standing
from rhoplan.present.carry.card import card_page, make_card
from rhoplan.present.carry.page import carried_page
from rhoplan.present.content import make_report
from rhoplan.present.origin import Origin, origin_of
from rhoplan.present.page.page import page

if TYPE_CHECKING:
    from rhoplan.app.serve.tasks import Asked

SETTINGS = ("weight", "horizon", "near", "author")
"""What a request for a page may set, and what the command line calls it."""


def printable(asked: Asked) -> dict[str, Any]:
    """The printable report as a page, made within the time limit."""
    parts = asked.seconds
    report = make_report(asked.problem, asked.agent, seconds=min(5.0, parts / 8), budget=min(20.0, parts / 2))
    return {"html": page(report, _origin(asked, "report"))}


def carried(asked: Asked) -> dict[str, Any]:
    """The interactive plan, or the card."""
    model, agent = asked.model, asked.agent
    standing = Standing(asked.get("prior"), asked.get("known"), asked.given, tuple(asked.unavailable))
    if asked.get("card"):
        return {"html": card_page(make_card(model, agent, standing=standing), _origin(asked, "carry", "--card"))}
    return {"html": carried_page(carry(model, agent, standing=standing), _origin(asked, "carry"))}


def _origin(asked: Asked, command: str, *flags: str) -> Origin:
    """Where the page comes from; the command where there is one: for models that have a name at the command line too,
    and cases in which every test can be had."""
    given = [(name, str(asked.get(name))) for name in SETTINGS if asked.get(name) not in (None, "")]
    if prior := asked.get("prior"):
        given.append(("prior", ",".join(f"{state}={share}" for state, share in prior.items())))
    given += [(name, "=".join(pair)) for name in ("known", "given") for pair in asked.get(name) or ()]
    words = [
        "rhoplan",
        command,
        asked.source.name,
        *flags,
        *(w for name, value in given for w in (f"--{name}", value)),
    ]
    told = shlex.join(words) if asked.source.text is None and not asked.unavailable else ""
    return origin_of(asked.model, author=asked.get("author") or "", date=asked.get("date") or "", command=told)

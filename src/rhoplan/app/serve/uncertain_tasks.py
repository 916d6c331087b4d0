"""What uncertain numbers mean, worked out inside a worker for the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rhoplan.advice.uncertain.uncertainty import uncertainty
from rhoplan.app.uncertain import uncertainty_record

if TYPE_CHECKING:
    from rhoplan.app.serve.tasks import Asked


def uncertain_numbers(asked: Asked) -> dict[str, Any]:
    """`rhoplan uncertainty --json`."""
    request = asked.request
    axes = request.get("map")
    found = uncertainty(
        asked.problem, asked.agent, spread=request.get("spread"), samples=request["samples"], seed=request["seed"],
        axes=None if axes is None else (axes[0], axes[1]), given=asked.given, unavailable=asked.unavailable,
    )  # fmt: skip
    return uncertainty_record(asked.problem, asked.agent, found, request.get("cases_per_year"))

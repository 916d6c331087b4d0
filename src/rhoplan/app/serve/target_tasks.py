"""What workers do for /api/v1/target and /api/v1/frontier, by the same calls and records as `rhoplan target`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rhoplan.errors import ProblemError
from rhoplan.io.constraints import KINDS

if TYPE_CHECKING:
    from rhoplan.app.serve.tasks import Asked


def meet(asked: Asked) -> dict[str, Any]:
    """`rhoplan target --json`."""
    from rhoplan.advice.targets import meet as keep
    from rhoplan.app.target_records import answer_record
    from rhoplan.io.constraints import read_targets

    problem, request = asked.problem, asked.request
    problem.flat  # noqa: B018  (says so where the problem is not flat)
    names = {kind: kind.replace("-", "_") for kind in KINDS}
    given = {kind: request[name] for kind, name in names.items() if request.get(name) is not None}
    try:
        targets = read_targets(
            given or problem.details.get("targets") or {}, problem.diagnoses, request["state"] or _positive(asked)
        )
        found = keep(problem, targets, horizon=request["horizon"], minimise=request["minimise"])
    except ProblemError as error:
        field = tuple(names.get(str(part), part) for part in error.field or ())
        raise ProblemError(error.message, field=field or None, code=error.code) from None
    return answer_record(found, trees=request["trees"])


def frontier(asked: Asked) -> dict[str, Any]:
    """The frontiers, and the targets that stand in the model."""
    from rhoplan.advice.edges import edges, together
    from rhoplan.app.target_records import edge_record, targets_record
    from rhoplan.io.constraints import read_targets

    problem, request = asked.problem, asked.request
    problem.flat  # noqa: B018
    found = edges(problem, state=request["state"], horizon=request["horizon"])
    kept = read_targets(problem.details.get("targets") or {}, problem.diagnoses, None)
    return {
        "frontiers": [edge_record(problem, edge) for edge in found],
        "state": request["state"] or _positive(asked),
        "states": list(problem.diagnoses),
        "targets": targets_record(kept, problem.unit),
        "lower_set": asdict(together(problem, state=request["state"], horizon=request["horizon"]))
        if request["lower_set"]
        else None,
    }


def _positive(asked: Asked) -> str | None:
    from rhoplan.advice.edges import positive_of

    return positive_of(asked.problem)

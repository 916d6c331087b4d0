"""Cases as they are kept, inside a worker: the line of the log for what was done, and a log computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rhoplan.advice.journal import Case, agent_of, start_of
from rhoplan.advice.replay import replay_text
from rhoplan.app.serve.sources import Source
from rhoplan.belief.information import per_nat
from rhoplan.errors import AgentError, EvidenceError, ProblemError, RhoplanError

if TYPE_CHECKING:
    from rhoplan.app.serve.tasks import Asked

Record = dict[str, Any]


def journal(asked: Asked) -> Record:
    """The line of the case log that `rhoplan advise --log` writes for a case with these entries."""
    problem, agent = asked.problem, asked.agent
    case = asked.case(asked.model, asked.source.key, agent, asked.start)
    for place, entry in enumerate(asked.request["entries"]):
        who = entry.pop("agent")
        try:
            case.ask(agent_of(who, problem) if who else agent)
            case.take({name: value for name, value in entry.items() if value is not None})
        except AgentError as error:  # the agent as a whole, or one of its settings
            raise error.within("entries", place, *([] if error.field == ("agent",) else ["agent"])) from None
        except EvidenceError as error:
            raise error.within("entries", place) from None
    case.ask(agent)
    return case.as_dict()


def replayed(asked: Asked) -> Record:
    """`rhoplan replay --json`, and the last case, to go on with."""

    def start(record: Record) -> Case:
        kept = Source(record["problem"], record["model"])
        problem = asked.shelf.problem(kept)
        return asked.case(problem, kept.key, agent_of(record["agent"], problem), start_of(record))

    try:
        cases, difference, last = replay_text(asked.request["text"], "the text", case_of=start)
    except (ProblemError, AgentError) as error:
        raise RhoplanError(str(error), field=("text",)) from None
    if last is None:
        raise RhoplanError("the text must hold a case; it is empty", field=("text",))
    price = per_nat(last["agent"]["weight"], last["agent"]["unit"])
    return {"cases": cases, "difference": difference, "case": last, "weight_per_nat": price}

"""Computing the advice in a case log again, to see whether it is still the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rhoplan.advice.chain import Line, faults, read_lines, read_seal
from rhoplan.advice.journal import BESIDE, Case, agent_of, digest_of, is_case, read_log, start_of, told
from rhoplan.agents.settings import is_number
from rhoplan.errors import EvidenceError, ModelFileError, ProblemError
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import POMDP

CLOSE = 1e-9
"""Numbers of the advice that differ by less are the same."""

LARGEST_LOG = 100_000_000

Difference = dict[str, Any]
"""case, step: where it is, counted from 1 (step 0: the model). what: in words. then, now: what was kept, what is so."""

Fault = dict[str, Any]

CaseOf = Callable[[dict[str, Any]], Case]


@dataclass(frozen=True)
class Replayed:
    """What came of a log.

    cases: how many were computed again, up to the first difference in what was advised; last: the record of the last
    one. faults: what is wrong with the lines and their chain (see `chain`), each with its case, line and what. sealed:
    whether the log's seal stood beside it, without which cases at its end can be gone unnoticed.
    """

    cases: int
    difference: Difference | None
    last: dict[str, Any] | None
    faults: tuple[Fault, ...]
    sealed: bool

    @property
    def is_sound(self) -> bool:
        return self.difference is None and not self.faults


def replay(path: Path, problem: POMDP | None = None) -> tuple[int, Difference | None]:
    """Compute the advice of every case in the log again: how many cases, and the first difference, if any.

    A fault of the log itself counts as a difference. problem: the model to advise by, whatever was kept; each case's
    own where None.
    """
    found = replay_log(path, problem)
    fault = next(({**one, "step": 0, "then": None, "now": None} for one in found.faults), None)
    return found.cases, fault or found.difference


def replay_log(path: Path, problem: POMDP | None = None) -> Replayed:
    """The log at `path` computed again, and its chain checked."""
    if path.stat().st_size > LARGEST_LOG:
        raise ProblemError(f"a case log may have {LARGEST_LOG:,} bytes at most")
    text = read_log(path)
    found = replay_text(text, str(path), case_of=lambda record: start_case(record, problem), seal=read_seal(path))
    if found.last is None:
        raise ProblemError(f"{path} holds no case")
    return found


def replay_text(text: str, where: str, *, case_of: CaseOf, seal: dict[str, Any] | None = None) -> Replayed:
    """The text of a log computed again; a line that is damaged is told and left out.

    case_of: a case without entries for a record, advised by the record's agent.
    """
    lines = [line if line.record is None or is_case(line.record) else _no_case(line) for line in read_lines(text)]
    if lines and not any(line.record for line in lines):
        raise ModelFileError("this is no case that rhoplan kept", file=where, line=lines[0].number)
    wrong = tuple(faults(text, lines, seal))
    count, record, difference = 0, None, None
    for place, line in enumerate(lines, 1):
        if line.record is None:
            continue
        count, record = count + 1, line.record
        difference = check_case(record, f"{where}, line {line.number}", case_of)
        if difference is not None:
            difference = {"case": place, **difference}
            break
    return Replayed(count, difference, record, wrong, seal is not None)


def _no_case(line: Line) -> Line:
    return replace(line, record=None, fault="it is no case that rhoplan kept")


def start_case(record: dict[str, Any], problem: POMDP | None = None) -> Case:
    """A case of the record's model, or of `problem`, without entries."""
    loaded = parse_model(record["model"], file=record["problem"]) if problem is None else problem
    return Case(loaded, agent_of(record["agent"], loaded), **start_of(record))


def check_case(record: dict[str, Any], place: str, case_of: CaseOf) -> Difference | None:
    """The first difference between a kept case and what comes of it now."""
    if digest_of(record["model"]) != record["digest"]:
        what = "the model is not the one whose digest was kept"
        return {"step": 0, "what": what, "then": record["digest"], "now": digest_of(record["model"])}
    try:
        case = case_of(record)
    except ModelFileError as error:
        raise ModelFileError(f"the model kept with the case is not sound: {error}", file=place) from None
    except EvidenceError as error:
        return {"step": 0, "what": f"the case cannot start so: {error}", "then": start_of(record), "now": None}
    for step, entry in enumerate(record["entries"], 1):
        case.ask(agent_of(entry.get("agent", record["agent"]), case.problem))
        now = told(case.adviser().first)
        now = {name: value for name, value in now.items() if name in entry["advised"] or name not in BESIDE}
        if not alike(entry["advised"], now):
            return {"step": step, "what": "the advice differs", "then": entry["advised"], "now": now}
        try:
            case.take(entry)
        except EvidenceError as error:
            return {"step": step, "what": f"this cannot be entered: {error}", "then": said(entry), "now": None}
        followed = case.entries[-1]["followed"]
        if entry.get("followed", followed) != followed:
            what = "whether the advice was followed differs"
            return {"step": step, "what": what, "then": entry["followed"], "now": followed}
    return None


def said(entry: dict[str, Any]) -> dict[str, Any]:
    """What the person said in an entry, without the advice."""
    return {name: value for name, value in entry.items() if name not in ("advised", "followed", "agent")}


def alike(kept: Any, now: Any) -> bool:
    """Whether two pieces of advice are the same, numbers within rounding."""
    if isinstance(now, dict):
        return isinstance(kept, dict) and kept.keys() == now.keys() and all(alike(kept[k], now[k]) for k in now)
    if isinstance(now, list | tuple):
        return isinstance(kept, list) and len(kept) == len(now) and all(map(alike, kept, now))
    if isinstance(now, float):
        return is_number(kept) and abs(kept - now) <= CLOSE * max(1.0, abs(now))
    return bool(kept == now)

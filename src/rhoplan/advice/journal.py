"""A case as it goes on: results entered, taken back, tests that cannot be had, and the log that can be replayed.

A line of the log is one case: the model and its digest, the agent's settings, and per entry the advice with its parts,
what the person did, and why where they did something else. `replay` computes the advice again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rhoplan.advice.case import Advice, advise, follow, without
from rhoplan.agent import Agent, make_agent
from rhoplan.errors import EvidenceError, ModelFileError, ProblemError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.planning.graph import Graph
from rhoplan.problem import Problem
from rhoplan.report.files import write_text
from rhoplan.version import __version__

CLOSE = 1e-9
"""Numbers of the advice that differ by less are the same."""

LARGEST_LOG = 100_000_000

SETTINGS = ("horizon", "weight", "unit", "discount")


class Case:
    """One case of `problem`, advised by `agent`. entries: what was done, in order, each with the advice it followed."""

    def __init__(self, problem: Problem, agent: Agent) -> None:
        self.problem, self.agent = problem, agent
        self.entries: list[dict[str, Any]] = []
        self._advice: Advice | None = None
        self._graphs: dict[tuple[str, ...], Graph] = {}

    @property
    def given(self) -> list[tuple[str, str]]:
        return [(entry["test"], entry["outcome"]) for entry in self.entries if "outcome" in entry]

    @property
    def unavailable(self) -> list[str]:
        return [entry["unavailable"] for entry in self.entries if "unavailable" in entry]

    @property
    def ended(self) -> bool:
        return bool(self.entries) and "commit" in self.entries[-1]

    @property
    def spent(self) -> float:
        return follow(self.problem, self.given)[1]

    def advice(self) -> Advice:
        """What to do now."""
        if self._advice is None:
            key = tuple(sorted(set(self.unavailable)))
            if key not in self._graphs:
                self._graphs[key] = Graph(without(self.problem, key))
            self._advice = advise(self.problem, self.agent, self.given, unavailable=key, graph=self._graphs[key])
        return self._advice

    def enter(self, test: str, outcome: str, why: str = "") -> None:
        """The result of a test, recommended or not."""
        follow(self.problem, [*self.given, (test, outcome)])  # refuses what the model does not allow
        if test in self.unavailable:
            raise EvidenceError(f"test '{test}' was said not to be available")
        self._add({"test": test, "outcome": outcome}, test, why)

    def skip(self, test: str) -> None:
        """`test` cannot be had in this case."""
        without(self.problem, [test])  # refuses what is no test
        self._add({"unavailable": test}, None, "")

    def stop(self, commit: str | None = None, why: str = "") -> None:
        """End the case with `commit`, the best one by default."""
        names = [known.name for known in self.problem.flat.commits]
        chosen = self.advice().stop.commit if commit is None else commit
        if chosen not in names:
            raise EvidenceError(f"'{self.problem.name}' has no commit '{chosen}'; it has {', '.join(names)}")
        self._add({"commit": chosen}, chosen, why)

    def undo(self) -> None:
        if not self.entries:
            raise EvidenceError("there is nothing to take back")
        self.entries.pop()
        self._advice = None

    def what_if(self, test: str, outcome: str) -> str:
        """What would follow from a result, in a sentence."""
        later = advise(self.problem, self.agent, [*self.given, (test, outcome)], unavailable=self.unavailable)
        top = max(later.belief.items(), key=lambda pair: pair[1])
        return f"after {test}={outcome}: {top[0]} {100 * top[1]:.1f}%; next {later.do}, because {later.reason}"

    def _add(self, entry: dict[str, Any], did: str | None, why: str) -> None:
        if self.ended:
            raise EvidenceError("the case has ended; undo takes the commit back")
        advice = self.advice()
        followed = did is None or did == advice.do
        self.entries.append({**entry, "advised": told(advice), "followed": followed, "why": why})
        self._advice = None

    def as_dict(self) -> dict[str, Any]:
        """The case as it is kept: with the whole model where it is one that can be written down."""
        settings = {name: getattr(self.agent, name) for name in SETTINGS}
        text = write_model(self.problem)
        return {
            "version": __version__,
            "problem": self.problem.spec,
            "model": text,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "agent": {"name": self.agent.name, **settings},
            "entries": self.entries,
        }

    def save(self, path: Path) -> None:
        write_text(path, json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n")

    def append_to(self, path: Path) -> None:
        """Add the case to a log, one line per case."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(self.as_dict(), ensure_ascii=False) + "\n")


def told(advice: Advice) -> dict[str, Any]:
    """The advice as the log keeps it: what, why, and the parts that add up."""
    parts = [asdict(option) for option in advice.options]
    return {
        "do": advice.do,
        "reason": advice.reason,
        "belief": advice.belief,
        "stop": asdict(advice.stop),
        "options": parts,
    }


def load_case(path: Path, problem: Problem, agent: Agent) -> Case:
    """The case that `save` kept, to go on with; it must be of the same model."""
    record = _read(_text(path), str(path))
    case = Case(problem, agent)
    if record["digest"] != case.as_dict()["digest"]:
        raise ProblemError(f"the case in '{path}' is of another model than '{problem.spec}'")
    case.entries = record["entries"]
    follow(problem, case.given)
    return case


def replay(path: Path) -> tuple[int, dict[str, Any] | None]:
    """Compute the advice of every case in the log again: how many cases, and the first difference, if any."""
    if path.stat().st_size > LARGEST_LOG:
        raise ProblemError(f"a case log may have {LARGEST_LOG:,} bytes at most")
    lines = [line for line in _text(path).splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        record = _read(line, f"{path}, line {number}")
        difference = _check(record)
        if difference is not None:
            return number, {"case": number, **difference}
    return len(lines), None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ModelFileError("this is no case that rhoplan kept", file=str(path)) from None


def _read(text: str, where: str) -> dict[str, Any]:
    """The record in `text`, with the shape that `as_dict` gives it."""
    try:
        record: dict[str, Any] = json.loads(text)
        agent = record["agent"]
        sound = all(isinstance(record[name], str) for name in ("model", "digest", "problem"))
        sound &= isinstance(record["entries"], list) and all(map(_is_entry, record["entries"]))
        sound &= isinstance(agent["name"], str) and isinstance(agent["unit"], str) and type(agent["horizon"]) is int
        sound &= all(type(agent[name]) in (int, float) for name in ("weight", "discount"))
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise ModelFileError("this is no case that rhoplan kept", file=where)
    return record


def _is_entry(entry: Any) -> bool:
    """Whether `entry` is a result, a test that cannot be had, or a commit, with the advice it followed."""
    if not isinstance(entry, dict) or not isinstance(entry.get("advised"), dict):
        return False
    said = {name: entry[name] for name in ("test", "outcome", "unavailable", "commit") if name in entry}
    one_of = set(said) in ({"test", "outcome"}, {"unavailable"}, {"commit"})
    return one_of and all(isinstance(value, str) for value in said.values())


def _check(record: dict[str, Any]) -> dict[str, Any] | None:
    problem = parse_model(record["model"], file=record["problem"])
    if hashlib.sha256(record["model"].encode()).hexdigest() != record["digest"]:
        return {
            "step": 0,
            "what": "the model is not the one whose digest was kept",
            "then": record["digest"],
            "now": "",
        }
    settings = {name: record["agent"][name] for name in SETTINGS}
    case = Case(problem, make_agent(record["agent"]["name"], problem, **settings))
    for step, entry in enumerate(record["entries"], 1):
        now = told(case.advice())
        if not _alike(entry["advised"], now):
            return {"step": step, "what": "the advice differs", "then": entry["advised"], "now": now}
        case.entries.append(entry)
        case._advice = None
    return None


def _alike(kept: Any, now: Any) -> bool:
    """Whether two pieces of advice are the same, numbers within rounding."""
    if isinstance(now, dict):
        return isinstance(kept, dict) and kept.keys() == now.keys() and all(_alike(kept[k], now[k]) for k in now)
    if isinstance(now, list | tuple):
        return isinstance(kept, list) and len(kept) == len(now) and all(map(_alike, kept, now))
    if isinstance(now, float):
        return isinstance(kept, int | float) and abs(kept - now) <= CLOSE * max(1.0, abs(now))
    return bool(kept == now)

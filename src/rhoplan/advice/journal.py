"""A case as it goes on: results entered, taken back, tests that cannot be had, and the line of the log that keeps it.

A line of the log is one case: the model and its digest, the agent's settings, the case's own prior and what was known
at its start, and per entry the advice with its parts, what the person did, and why where they did something else. The
terminal, the page and the API all write it here, and `replay` computes the advice again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rhoplan._old.graph import Graph
from rhoplan.advice.case import Advice, Adviser, Evidence, First, check_fixed, follow, without
from rhoplan.advice.chain import append, read_lines
from rhoplan.advice.margin import Lead
from rhoplan.advice.start import Prior, started
from rhoplan.advice.words import likeliest
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.fitting import MEMORY
from rhoplan.agents.settings import KEPT, is_number
from rhoplan.errors import EvidenceError, ModelFileError, ProblemError
from rhoplan.files import write_text
from rhoplan.io.model_file import write_model
from rhoplan.model.pomdp import POMDP
from rhoplan.version import __version__

KINDS = ({"test", "outcome"}, {"unavailable"}, {"commit"})
"""What an entry may say: a result, a test that cannot be had, or the commit that ends the case."""

STARTS = ("prior", "known")
"""What a record says of the start where it is not the model's."""

BESIDE = tuple(field.name for field in fields(Lead))
"""What the log keeps of what stands beside the advice; logs of earlier versions lack it."""

GraphOf = Callable[[tuple[str, ...]], Graph]


class Case:
    """One case of `problem`, advised by `agent`. entries: what was done, in order, each with the advice it followed.

    prior, known: what is this case's own at the start (see `start`); model: without it, problem: with it. graph_of: the
    graph to plan on when these tests cannot be had; one of the case's own by default. memory: bytes that planning may
    take.
    """

    def __init__(
        self,
        model: POMDP,
        agent: BoundAgent,
        *,
        prior: Prior | None = None,
        known: Evidence = (),
        graph_of: GraphOf | None = None,
        memory: float = MEMORY,
    ) -> None:
        model.flat  # noqa: B018  (says so where the problem is not flat)
        self.model, self.memory = model, memory
        self.prior, self.known = dict(prior or {}), [(test, outcome) for test, outcome in known]
        self.problem = problem = started(model, prior, known)
        self.entries: list[dict[str, Any]] = []
        self._graph_of = graph_of or (lambda left: Graph(without(problem, left)))
        self._graphs: dict[tuple[str, ...], Graph] = {}
        self.ask(agent)

    def ask(self, agent: BoundAgent) -> None:
        """Let `agent` advise from here on."""
        check_fixed(agent)
        self.agent = agent
        self._adviser: Adviser | None = None

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

    def adviser(self) -> Adviser:
        """Who works out, part by part, what to do now."""
        if self._adviser is None:
            self._adviser = self._asked(self.given)
        return self._adviser

    def advice(self) -> Advice:
        """What to do now, and all that is told with it."""
        return self.adviser().advice()

    def _asked(self, given: list[tuple[str, str]]) -> Adviser:
        key = tuple(sorted(set(self.unavailable)))
        if key not in self._graphs:
            self._graphs[key] = self._graph_of(key)
        return Adviser(self.problem, self.agent, given, unavailable=key, graph=self._graphs[key], memory=self.memory)

    def enter(self, test: str, outcome: str, why: str = "") -> None:
        """The result of a test, recommended or not."""
        self.problem.belief(given=self.given).update(test, outcome)  # refuses what is not allowed
        if test in self.unavailable:
            raise EvidenceError(f"test '{test}' was said not to be available", field=("test",))
        self._add({"test": test, "outcome": outcome}, test, why)

    def skip(self, test: str, why: str = "") -> None:
        """`test` cannot be had in this case."""
        without(self.problem, [test])  # refuses what is no test
        self._add({"unavailable": test}, None, why)

    def stop(self, commit: str | None = None, why: str = "") -> None:
        """End the case with `commit`, the best one by default."""
        names = [known.name for known in self.problem.flat.commits]
        chosen = self.adviser().first.stop.commit if commit is None else commit
        if chosen not in names:
            raise EvidenceError(
                f"'{self.problem.name}' has no commit '{chosen}'; it has {', '.join(names)}", field=("commit",)
            )
        self._add({"commit": chosen}, chosen, why)

    def take(self, entry: Mapping[str, Any]) -> None:
        """Do what `entry` says, in the words of a record: a result, a test that cannot be had, or a commit."""
        why = entry.get("why") or ""
        if "outcome" in entry:
            self.enter(entry["test"], entry["outcome"], why)
        elif "unavailable" in entry:
            self.skip(entry["unavailable"], why)
        else:
            self.stop(entry["commit"], why)

    def explain(self, why: str) -> None:
        """Keep `why` with the last entry."""
        if not self.entries:
            raise EvidenceError("there is nothing yet to give a reason for")
        self.entries[-1]["why"] = why

    def undo(self, step: int | None = None) -> None:
        """Take back an entry, the last one by default; those after it are entered again.

        step: counted from 1. Where one of the others is not allowed then, all stays as it was.
        """
        if not self.entries:
            raise EvidenceError("there is nothing to take back")
        place = len(self.entries) if step is None else step
        if not 1 <= place <= len(self.entries):
            raise EvidenceError(f"there are steps 1 to {len(self.entries)} to take back; it is {place}")
        kept, agent = self.entries, self.agent
        self.entries = kept[: place - 1]
        self._adviser = None
        for number, entry in enumerate(kept[place:], place + 1):
            try:
                self.ask(agent_of(entry["agent"], self.problem))
                self.take(entry)
            except EvidenceError as error:
                self.entries = kept
                self.ask(agent)
                raise EvidenceError(f"step {place} cannot be taken back while step {number} stands: {error}") from None
        self.ask(agent)

    def what_if(self, test: str, outcome: str) -> str:
        """What would follow from a result, in a sentence."""
        later = self._asked([*self.given, (test, outcome)]).first
        top = likeliest(later.belief)[0]
        next_one = f"next {later.do}, because {later.reason}; {later.beside}"
        return f"after {test}={outcome}: {top[0]} {100 * top[1]:.1f}%; {next_one}"

    def _add(self, entry: dict[str, Any], did: str | None, why: str) -> None:
        if self.ended:
            raise EvidenceError("the case has ended; undo takes the commit back")
        advice = self.adviser().first
        followed = did is None or did == advice.do
        said = {"advised": told(advice), "followed": followed, "why": why, "agent": settings_of(self.agent)}
        self.entries.append({**entry, **said})
        self._adviser = None

    def as_dict(self) -> dict[str, Any]:
        """The case as it is kept, with the whole model; an entry names its agent where that is not the last one."""
        mine = settings_of(self.agent)
        return {
            "version": __version__,
            "problem": self.model.spec,
            "model": write_model(self.model),
            "digest": digest(self.model),
            "agent": mine,
            **({"prior": self.prior} if self.prior else {}),
            **({"known": [list(pair) for pair in self.known]} if self.known else {}),
            "entries": [
                {key: value for key, value in entry.items() if key != "agent" or value != mine}
                for entry in self.entries
            ],
        }

    def line(self) -> str:
        """The case as a line of a log."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: Path) -> None:
        """Keep the case in a file of its own: a log of one line."""
        write_text(path, self.line())

    def append_to(self, path: Path, by: str | None = None) -> None:
        """Add the case to a log, one line per case, chained to the one before (see `chain`); by: who did it."""
        append(path, self.as_dict(), by=by)


def digest(problem: POMDP) -> str:
    """The same for the same model, however its file was written."""
    return digest_of(write_model(problem))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def told(advice: First) -> dict[str, Any]:
    """The advice as the log keeps it: what, why, what stands beside it, and the parts that add up."""
    parts = {"stop": asdict(advice.stop), "options": [asdict(option) for option in advice.options]}
    beside = {name: getattr(advice, name) for name in BESIDE}
    beside["margin"] = advice.margin if math.isfinite(advice.margin) else None
    return {"do": advice.do, "reason": advice.reason, **beside, "belief": advice.belief, **parts}


def settings_of(agent: BoundAgent) -> dict[str, Any]:
    """The agent as the log keeps it; a precision without limit is None, which JSON can hold."""
    found = agent.settings
    return {"name": agent.name, **{setting.name: found[setting.name] for setting in KEPT}}


def agent_of(settings: Mapping[str, Any], problem: POMDP) -> BoundAgent:
    """The agent that `settings_of` described."""
    given = {one.word: settings[one.name] for one in KEPT if settings.get(one.name) is not None}
    return make_agent(settings["name"], problem, **given)


def load_case(path: Path, problem: POMDP, agent: BoundAgent | None = None) -> Case:
    """The case that `save` kept, to go on with; it must be of the same model.

    agent: who advises from here on; the one that advised last where None.
    """
    records = [record for _, record in read_cases(read_log(path), str(path))]
    if len(records) != 1:
        raise ModelFileError(f"a case file must hold one case; this one holds {len(records)}", file=str(path))
    [record] = records
    if record["digest"] != digest(problem):
        raise ProblemError(f"the case in '{path}' is of another model than '{problem.spec}'")
    case = Case(problem, agent or agent_of(record["agent"], problem), **start_of(record))
    case.entries = [{"agent": record["agent"], **entry} for entry in record["entries"]]
    follow(case.problem, case.given)
    return case


def start_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The prior and what was known, as a kept case has them."""
    return {name: record[name] for name in STARTS if name in record}


def read_log(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ModelFileError("this is no case that rhoplan kept", file=str(path)) from None


def read_cases(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cases in the text of a log, each with its place; a case may also go over several lines."""
    for line in read_lines(text):
        if line.record is None or not is_case(line.record):
            raise ModelFileError("this is no case that rhoplan kept", file=where, line=line.number)
        yield f"{where}, line {line.number}", line.record


def is_case(record: Any) -> bool:
    """Whether `record` has the shape that `as_dict` gives it."""
    return (
        isinstance(record, dict)
        and _is_agent(record.get("agent"))
        and _is_start(record)
        and all(isinstance(record.get(name), str) for name in ("model", "digest", "problem"))
        and isinstance(record.get("entries"), list)
        and all(map(_is_entry, record["entries"]))
    )


def _is_start(record: dict[str, Any]) -> bool:
    """Whether what is the case's own at the start, if anything, has the shape that it has."""
    prior, known = record.get("prior", {}), record.get("known", [])
    pairs = isinstance(known, list) and all(isinstance(one, list) and len(one) == 2 for one in known)
    named = pairs and all(isinstance(word, str) for one in known for word in one)
    return named and isinstance(prior, dict) and all(map(is_number, prior.values()))


def _is_agent(agent: Any) -> bool:
    named = isinstance(agent, dict) and isinstance(agent.get("name"), str)
    return named and all(setting.reads(agent.get(setting.name)) for setting in KEPT)


def _is_entry(entry: Any) -> bool:
    """Whether `entry` is a result, a test that cannot be had, or a commit, with the advice it followed."""
    if not isinstance(entry, dict) or not isinstance(entry.get("advised"), dict):
        return False
    said = {name: entry[name] for kind in KINDS for name in kind if name in entry}
    sound = isinstance(entry.get("why", ""), str) and ("agent" not in entry or _is_agent(entry["agent"]))
    return sound and set(said) in KINDS and all(isinstance(value, str) for value in said.values())

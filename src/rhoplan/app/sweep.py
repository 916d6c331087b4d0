"""One setting varied, everything else fixed: exact scores as rows, a CSV file and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rhoplan.agents.agent import make_agent
from rhoplan.app.records import exact_record
from rhoplan.errors import AgentError, MissingExtra, ProblemError
from rhoplan.evaluation.exact import evaluate
from rhoplan.files import write_rows
from rhoplan.present.plots import draw_sweep
from rhoplan.problems.registry import FILE_ENDINGS, PROBLEMS, make, parameters, with_parameter
from rhoplan.version import __version__

AGENT_SETTINGS = ("weight", "horizon", "discount", "precision")


def sweep(
    spec: str, agents: Sequence[str], name: str, values: Sequence[str], settings: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """A row with the exact score of each agent for each value of the setting `name`, and the agents' notes."""
    if not values:
        raise AgentError("there must be at least one value to sweep over", field=("values",))
    rows: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    problem = make(spec)
    for value in values:
        setting = _converted(spec, name, value)
        if name in AGENT_SETTINGS:
            chosen = {**settings, name: setting}
        else:
            problem, chosen = make(with_parameter(spec, name, value)), settings
        for agent_name in agents:
            agent = make_agent(agent_name, problem, **chosen)
            notes.update(dict.fromkeys(agent.notes))
            score = exact_record(evaluate(problem, agent.policy(problem)))
            del score["tests_distribution"]
            tallies = score.pop("tallies")
            whose = {word: agent.settings[word] for word in ("horizon", "weight", "unit", "discount", "utility")}
            where = {"problem": problem.spec, "setting": setting, "agent": agent.name}
            rows.append({**where, **whose, **score, **tallies})
    return rows, list(notes)


def write_sweep(
    rows: list[dict[str, Any]], name: str, target: Path, *, title: str, command: str
) -> tuple[list[Path], list[str]]:
    """Write `rows` to target.csv and their plot to target.png; the paths written, and notes on what was not."""
    table, plot = target.with_name(target.name + ".csv"), target.with_name(target.name + ".png")
    write_rows(table, [{**row, "version": __version__, "command": command} for row in rows])
    try:
        draw_sweep(plot, rows, name, title, command)
    except MissingExtra as error:
        return [table], [f"{plot} is not drawn: {error}"]
    return [table, plot], []


def _converted(spec: str, name: str, value: str) -> Any:
    wanted = {"weight": float, "discount": float, "precision": float, "horizon": int}.get(name)
    if wanted is None:
        if spec.lower().endswith(FILE_ENDINGS):
            raise ProblemError(f"a model file can be swept over {', '.join(AGENT_SETTINGS)}, not over '{name}'")
        registered = spec.partition(":")[0]
        known = {p.name: p.annotation for p in parameters(registered)} if registered in PROBLEMS else {}
        if name not in known:
            choices = ", ".join([*AGENT_SETTINGS, *known])
            raise ProblemError(f"'{registered}' cannot be swept over '{name}'; it can over {choices}")
        wanted = known[name]
    try:
        return wanted(value)
    except ValueError:
        word = "a whole number" if wanted is int else "a number"
        raise AgentError(f"{name} must be {word}; it is '{value}'", field=(name,)) from None

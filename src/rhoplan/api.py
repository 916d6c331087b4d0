"""The functions of the public API that take a problem: they accept names and paths as well as problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, TypeAlias

from rhoplan.errors import ModelFileError, ProblemError, WrongKind, in_a_row
from rhoplan.files import replacing
from rhoplan.io.formats import FORMATS, parse_problem, read_problem
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.io.writer import model_record, write_model
from rhoplan.model import check, limited
from rhoplan.model.problem import Problem
from rhoplan.problems.registry import make

ProblemLike: TypeAlias = Problem | Path | str
"""A problem, the name of a built-in problem with its parameters ("tiger", "bandit:n=4"), or the path of a file."""

WRITTEN_FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".pomdp": "pomdp"}
"""The formats that `save` writes, by the ending of the file."""


def resolve_problem(problem: ProblemLike) -> Problem:
    """`problem` itself, or the problem that a name or a path stands for."""
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, str | Path):
        return make(problem)
    raise WrongKind(
        "a problem must be a problem, the name of one or the path of a file; it is "
        f"{shortened(problem)}: see rhoplan.make, load and from_arrays",
        field=("problem",),
    )


def load(path: Path | str, format: str | None = None) -> Problem:
    """The problem in the file at `path`.

    format: yaml, json, toml, pomdp, pomdpx or drn; by default that of the ending of the file.
    """
    if not isinstance(path, str | Path):
        raise WrongKind(f"path must be the path of a file; it is {shortened(path)}", field=("path",))
    return read_problem(path, None if format is None else _known_format(format))


def loads(model: str | Mapping[str, Any], format: str | None = None) -> Problem:
    """The problem that a text, or a mapping with the fields of a model file, describes.

    format: that of the text: yaml (the default), json, toml, pomdp, pomdpx or drn.
    """
    if isinstance(model, Mapping):
        if format is not None:
            raise WrongKind("format is that of a text; a mapping has none: leave it out", field=("format",))
        return parse_problem(_as_json(model), file="model", language="json")
    if not isinstance(model, str):
        raise WrongKind(f"a model must be a text or a mapping; it is {shortened(model)}: to read a file use "
                        "rhoplan.load", field=("model",))  # fmt: skip
    return parse_problem(model, file="model", language=_known_format(format or "yaml"))


def save(problem: ProblemLike, path: Path | str) -> None:
    """Write `problem` to the file at `path`, in the format of its ending: .yaml, .json or .pomdp.

    A file that exists is replaced as a whole, or left as it is if writing fails.
    """
    written = WRITTEN_FORMATS.get(Path(path).suffix.lower())
    if written is None:
        raise ModelFileError(f"a problem is written to a file that ends in {in_a_row(WRITTEN_FORMATS)}", file=str(path))
    found = resolve_problem(problem)
    if written == "json":
        text = json.dumps(model_record(found), indent=2, ensure_ascii=False) + "\n"
    else:
        text = write_pomdp(found) if written == "pomdp" else write_model(found)
    try:
        with replacing(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelFileError(f"the file cannot be written: {error.strerror or error}", file=str(path)) from None


def check_problem(problem: ProblemLike) -> None:
    """Raise ProblemError unless the names, priors, likelihoods, rewards and transitions of `problem` are sound.

    Visits the observable states nearest to the initial one, at most `rhoplan.model.limits.MOST_MENUS` of them.
    """
    check.check_problem(resolve_problem(problem))


def with_horizon(problem: ProblemLike, actions: int) -> Problem:
    """`problem` cut off after so many actions: then the best terminal action is taken, or the episode ends.

    A first observation that is free and takes no time is not counted. Rule agents and the leaf value are left out.
    """
    return limited.with_horizon(resolve_problem(problem), actions)


def _known_format(format: str) -> str:
    known = [*dict.fromkeys(FORMATS.values())]
    if format not in known:
        raise ProblemError(f"format must be one of {in_a_row(known)}; it is {shortened(format)}", field=("format",))
    return format


def _as_json(model: Mapping[str, Any]) -> str:
    """`model` as JSON; arrays of NumPy become lists."""
    try:
        return json.dumps(dict(model), default=lambda one: one.tolist())
    except (TypeError, ValueError, AttributeError):
        raise WrongKind("a model must hold mappings, lists, text and numbers only", field=("model",)) from None

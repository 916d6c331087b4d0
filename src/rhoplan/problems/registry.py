"""Problems by name: `tiger`, `diagnosis:n=16,k=4`, a worked model (`chest-pain`), or the path of a file.

The parameters of a problem are the keyword arguments of the function that builds it; their types come from its
signature, so a new problem is one function and one line in `_PROBLEMS`, or an entry point of another distribution.
Worked models are the model files that ship with the package, named like their file; they have no parameters.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from os.path import isdir, isfile
from pathlib import Path
from reprlib import repr as shortened

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.classics import bandit, diagnosis, testbed, tiger
from rhoplan.problems.drilling import drilling
from rhoplan.problems.inspection import inspection
from rhoplan.problems.navigation import navigation
from rhoplan.problems.rocksample import rocksample
from rhoplan.problems.rocksample_standard import rocksample_standard
from rhoplan.problems.tileworld import tileworld
from rhoplan.work.plugins import Registry

_PROBLEMS: dict[str, Callable[..., POMDP]] = {
    "tiger": tiger,
    "testbed": testbed,
    "diagnosis": diagnosis,
    "bandit": bandit,
    "tileworld": tileworld,
    "rocksample": rocksample,
    "rocksample-standard": rocksample_standard,
    "inspection": inspection,
    "navigation": navigation,
    "drilling": drilling,
}

PROBLEMS: Registry[Callable[..., POMDP]] = Registry("problems", _PROBLEMS, lambda _, build: build)
"""Functions that build problems, by name; other distributions add theirs by entry points `rhoplan.problems`."""

WORKED_MODELS: dict[str, Path] = {
    path.stem: path for path in sorted((Path(__file__).resolve().parent.parent / "models").glob("*.yaml"))
}

FILE_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".pomdp", ".pomdpx", ".drn")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a registered problem: its type and what it is if nobody says."""

    name: str
    type: type
    default: object


def parameters(name: str) -> tuple[Parameter, ...]:
    """The parameters of the registered problem `name`."""
    hints = typing.get_type_hints(PROBLEMS[name])
    found = inspect.signature(PROBLEMS[name]).parameters.values()
    return tuple(Parameter(p.name, _plain(hints[p.name]), p.default) for p in found)


def make(spec: str | Path, **settings: object) -> POMDP:
    """The problem that `spec` names: a registered name with parameters, a worked model, or the path of a file.

    Parameters may stand in the text or be given by keyword: make("diagnosis:n=8") is make("diagnosis", n=8).
    """
    if not isinstance(spec, str | Path):
        raise ProblemError(
            f"a problem must be named, or be the path of a file; it is {shortened(spec)}", code="wrong-type"
        )
    spec = str(spec)
    for parameter, value in settings.items():
        spec = with_parameter(spec, parameter, str(value))
    if spec.lower().endswith(FILE_ENDINGS):
        return _read(Path(spec))
    name, _, text = spec.partition(":")
    if name in WORKED_MODELS:
        if text:
            raise ProblemError(
                f"'{name}' is a worked model, which has no parameters; rhoplan show {name} --yaml writes a file to "
                "edit",
                code="unknown-parameter",
            )
        return replace(_read(WORKED_MODELS[name]), spec=name)
    if name not in PROBLEMS:
        if isfile(spec):
            raise ProblemError(
                f"'{spec}' is a file, and files must end in one of {', '.join(FILE_ENDINGS)}, which says how they are "
                "written; it does not: rename it",
                code="unknown-file-type",
            )
        if isdir(spec):
            raise ProblemError(
                f"'{spec}' is a folder: name a file in it, which ends in one of {', '.join(FILE_ENDINGS)}",
                code="file-expected",
            )
        known = f"{', '.join(PROBLEMS)}, the worked models {', '.join(WORKED_MODELS)}"
        raise ProblemError(
            f"there is no problem '{name}'; there are {known}, and files ({', '.join(FILE_ENDINGS)})",
            code="unknown-problem",
        )
    problem = PROBLEMS[name](**_settings(name, text))
    return replace(problem, spec=spec)


def _read(path: Path) -> POMDP:
    from rhoplan.io.formats import read_problem

    return read_problem(path)


def with_parameter(spec: str, name: str, value: str) -> str:
    """`spec` with one parameter set to `value`, whether or not it was set before."""
    problem, _, settings = spec.partition(":")
    kept = [item for item in settings.split(",") if item and item.partition("=")[0].strip() != name]
    return f"{problem}:{','.join([*kept, f'{name}={value}'])}"


def _settings(name: str, text: str) -> dict[str, object]:
    known = {parameter.name: parameter for parameter in parameters(name)}
    settings: dict[str, object] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value:
            raise ProblemError(
                f"a setting of '{name}' must read parameter=value; it reads '{item}'", code="parameter-syntax"
            )
        if key not in known:
            raise ProblemError(
                f"'{name}' has no parameter '{key}'; it has {', '.join(known)}", field=(key,), code="unknown-parameter"
            )
        if key in settings:
            raise ProblemError(f"parameter '{key}' of '{name}' is set twice", field=(key,), code="duplicate-parameter")
        settings[key] = _converted(name, known[key], value)
    return settings


def _converted(name: str, parameter: Parameter, value: str) -> object:
    if parameter.type is str:
        return value
    word = "a whole number" if parameter.type is int else "a number"
    try:
        number = parameter.type(value)
    except ValueError:
        raise ProblemError(
            f"parameter '{parameter.name}' of '{name}' must be {word}; it is '{value}'",
            field=(parameter.name,),
            code="parameter-value",
        ) from None
    if not math.isfinite(number):
        raise ProblemError(
            f"parameter '{parameter.name}' of '{name}' must be finite; it is '{value}'",
            field=(parameter.name,),
            code="parameter-value",
        )
    return number


def _plain(hint: object) -> type:
    """The type of a parameter, with `| None` taken off."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    assert isinstance(hint, type)
    return hint

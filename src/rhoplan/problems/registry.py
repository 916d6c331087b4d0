"""Problems by name: `tiger`, `diagnosis:n=16,k=4`, a worked model (`chest-pain`), or the path of a file.

The parameters of a problem are the keyword arguments of the function that builds it; their types come from its
signature, so a new problem is one function and one name in `_BUILT_IN`, or an entry point of another distribution.
Worked models are the model files that ship with the package, named like their file; they have no parameters.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from os.path import isdir, isfile
from pathlib import Path
from reprlib import repr as shortened
from typing import get_args

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.classics import bandit, diagnosis, testbed, tiger
from rhoplan.problems.drilling import drilling
from rhoplan.problems.inspection import inspection
from rhoplan.problems.navigation import navigation
from rhoplan.problems.rocksample import rocksample, rocksample_standard
from rhoplan.problems.tileworld import tileworld
from rhoplan.work.plugins import Registry

_BUILT_IN: tuple[Callable[..., POMDP], ...] = (
    tiger, testbed, diagnosis, bandit, tileworld, rocksample, rocksample_standard, inspection, navigation, drilling,
)  # fmt: skip

PROBLEMS: Registry[Callable[..., POMDP]] = Registry(
    "problems", {build.__name__.replace("_", "-"): build for build in _BUILT_IN}, lambda _, build: build
)
"""Functions that build problems, by name; other distributions add theirs by entry points `rhoplan.problems`."""

WORKED_MODELS: dict[str, Path] = {
    path.stem: path for path in sorted((Path(__file__).resolve().parent.parent / "models").glob("*.yaml"))
}

FILE_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".pomdp", ".pomdpx", ".drn")


def parameters(name: str) -> tuple[inspect.Parameter, ...]:
    """The parameters of the registered problem `name`; annotations are types, also that of `int | None`."""
    found = inspect.signature(PROBLEMS[name], eval_str=True).parameters.values()
    return tuple(one.replace(annotation=next(iter(get_args(one.annotation)), one.annotation)) for one in found)


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
    if name in WORKED_MODELS and not text:
        return replace(_read(WORKED_MODELS[name]), spec=name)
    endings = ", ".join(FILE_ENDINGS)
    if name in WORKED_MODELS:
        fault = f"'{name}' is a worked model, which has no parameters; rhoplan show {name} --yaml writes a file to edit"
        raise ProblemError(fault, code="unknown-parameter")
    if name in PROBLEMS:
        return replace(PROBLEMS[name](**_arguments(name, text)), spec=spec)
    if isfile(spec):
        fault = f"the name of a problem file must end in one of {endings}; '{spec}' does not: rename it"
        raise ProblemError(fault, code="unknown-file-type")
    if isdir(spec):
        fault = f"'{spec}' is a folder: name a file in it, which ends in one of {endings}"
        raise ProblemError(fault, code="file-expected")
    known = f"{', '.join(PROBLEMS)}, the worked models {', '.join(WORKED_MODELS)}, and files ({endings})"
    raise ProblemError(f"there is no problem '{name}'; there are {known}", code="unknown-problem")


def with_parameter(spec: str, name: str, value: str) -> str:
    """`spec` with one parameter set to `value`, whether or not it was set before."""
    problem, _, settings = spec.partition(":")
    kept = [item for item in settings.split(",") if item and item.partition("=")[0].strip() != name]
    return f"{problem}:{','.join([*kept, f'{name}={value}'])}"


def _read(path: Path) -> POMDP:
    from rhoplan.io.formats import read_problem

    return read_problem(path)


def _arguments(name: str, text: str) -> dict[str, object]:
    """The arguments that a text such as `n=16,k=4` gives to the problem `name`."""
    known = {parameter.name: parameter for parameter in parameters(name)}
    found: dict[str, object] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        key, _, value = map(str.strip, item.partition("="))
        if not value:
            fault = f"a setting of '{name}' must read parameter=value; it reads '{item}'"
            raise ProblemError(fault, code="parameter-syntax")
        if key not in known:
            fault = f"'{name}' has no parameter '{key}'; it has {', '.join(known)}"
            raise ProblemError(fault, field=(key,), code="unknown-parameter")
        if key in found:
            fault = f"parameter '{key}' of '{name}' is set twice"
            raise ProblemError(fault, field=(key,), code="duplicate-parameter")
        found[key] = _converted(value, name, known[key])
    return found


def _converted(value: str, name: str, parameter: inspect.Parameter) -> object:
    """`value` in the type of a parameter of the problem `name`: text, or a finite number."""
    kind = parameter.annotation
    if kind is str:
        return value
    try:
        number: float = kind(value)
        if math.isfinite(number):
            return number
    except (ValueError, OverflowError):
        pass
    fault = f"parameter '{parameter.name}' of '{name}' must be a {'whole' if kind is int else 'finite'} number"
    raise ProblemError(f"{fault}; it is '{value}'", field=(parameter.name,), code="parameter-value")

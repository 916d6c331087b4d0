"""Every file that can stand for a problem, by its ending: model files of this package, and problem files of others."""

from __future__ import annotations

from pathlib import Path

from rhoplan.io.model_file import LANGUAGES, parse_model, read_model
from rhoplan.model.problem import Problem

FORMATS = {**LANGUAGES, ".pomdp": "pomdp", ".pomdpx": "pomdpx", ".drn": "drn"}
"""The language of a file, by its ending."""


def read_problem(path: Path | str) -> Problem:
    """The problem in the file at `path`, whatever its format."""
    language = FORMATS.get(Path(path).suffix.lower())
    if language is None or language in LANGUAGES.values():
        return read_model(path)
    from rhoplan.io.foreign import read_text

    return parse_problem(read_text(path), file=str(path), language=language)


def parse_problem(text: str, *, file: str, language: str) -> Problem:
    """The problem that `text` describes in one of the languages of FORMATS; `file` is what errors call it."""
    if language == "pomdp":
        from rhoplan.io.pomdp import parse_pomdp

        return parse_pomdp(text, file=file)
    if language == "pomdpx":
        from rhoplan.io.pomdpx import parse_pomdpx

        return parse_pomdpx(text, file=file)
    if language == "drn":
        from rhoplan.io.drn import parse_drn

        return parse_drn(text, file=file)
    return parse_model(text, file=file, language=language)

"""Every file that can stand for a problem, by its ending: model files of this package, and problem files of others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Protocol

from rhoplan.io.model_file import LANGUAGES, parse_model, read_model
from rhoplan.model.problem import Problem

FORMATS = {**LANGUAGES, ".pomdp": "pomdp", ".pomdpx": "pomdpx", ".drn": "drn"}
"""The language of a file, by its ending."""


class Parser(Protocol):
    """Makes a problem of a text; `file` is what errors call it."""

    def __call__(self, text: str, *, file: str) -> Problem: ...


def read_problem(path: Path | str) -> Problem:
    """The problem in the file at `path`, whatever its format."""
    language = FORMATS.get(Path(path).suffix.lower())
    if language is None or language in LANGUAGES.values():
        return read_model(path)
    from rhoplan.io.foreign import read_text

    return parse_problem(read_text(path), file=str(path), language=language)


def parse_problem(text: str, *, file: str, language: str) -> Problem:
    """The problem that `text` describes in one of the languages of FORMATS; `file` is what errors call it."""
    return parser_of(language)(text, file=file)


def parser_of(language: str) -> Parser:
    """What reads problems in one of the languages of FORMATS, loaded."""
    if language == "pomdp":
        from rhoplan.io.pomdp import parse_pomdp

        return parse_pomdp
    if language == "pomdpx":
        from rhoplan.io.pomdpx import parse_pomdpx

        return parse_pomdpx
    if language == "drn":
        from rhoplan.io.drn import parse_drn

        return parse_drn
    return partial(parse_model, language=language)

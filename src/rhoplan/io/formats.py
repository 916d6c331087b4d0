"""Every file that can stand for a problem, by its ending: model files of this package, and problem files of others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Protocol

from rhoplan.errors import ModelFileError, in_a_row
from rhoplan.io.foreign import read_data, read_text
from rhoplan.io.model_file import LANGUAGES, parse_model
from rhoplan.io.tree import LARGEST_FILE
from rhoplan.model.pomdp import POMDP

FORMATS = {**LANGUAGES, ".pomdp": "pomdp", ".pomdpx": "pomdpx", ".drn": "drn"}
"""The language of a file, by its ending."""


class Parser(Protocol):
    """Makes a problem of a text; `file` is what errors call it."""

    def __call__(self, text: str, *, file: str) -> POMDP: ...


def read_problem(path: Path | str, language: str | None = None) -> POMDP:
    """The problem in the file at `path`, in one of the languages of FORMATS, by default that of its ending."""
    file = str(path)
    found = language or FORMATS.get(Path(path).suffix.lower())
    if found is None:
        raise ModelFileError(
            f"a problem file must end in {in_a_row(FORMATS)}, or its format must be given",
            file=file,
            code="unknown-file-type",
        )
    text = _model_text(path) if found in LANGUAGES.values() else read_text(path)
    return parse_problem(text, file=file, language=found)


def parse_problem(text: str, *, file: str, language: str) -> POMDP:
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


def _model_text(path: Path | str) -> str:
    data = read_data(path, what="a model file", largest=LARGEST_FILE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ModelFileError(
            "a model file must be UTF-8 text; this is not", file=str(path), line=line, code="not-text"
        ) from None

"""What can go wrong at rhoplan's border, as one family of errors.

RhoplanError                 everything below; the command line prints it as one line and exits 2
|- ProblemError              a problem that breaks a rule (likelihoods, rewards, names)
|  |- ModelFileError         the same, found in a file: names file, line and field
|  `- TableError             a table of cases that cannot be learned from: names file, row and column
|- AgentError                an agent that does not exist or whose settings contradict each other
|- EvidenceError             evidence that names no test or outcome, or that the rules do not allow
|  `- ImpossibleEvidence     evidence of probability zero under the model
|- NotAvailable             a policy does not offer what it was asked for, such as a value
|- LimitError                a plan larger than the limit set for it (exit 1: the input was fine)
`- MissingExtra              a package that only some uses need is not installed; also an ImportError

The message is for people; the field it is about travels beside it. Of a problem the field is its place in a model file
("tests", "scan", "likelihood", "ill"), of an agent the name of a setting ("weight",), of evidence what was wrong with
it ("outcome",) and, in a list, the position from 0 on ("given", 2, "outcome").
"""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import repr as shortened
from typing import TypeAlias, TypeVar

Field: TypeAlias = tuple[str | int, ...]
"""Where something stands, from the outside in: names of maps, positions in lists from 0 on."""

Error = TypeVar("Error", bound="RhoplanError")


def dotted(field: Field) -> str:
    """`field` as one word with points between its parts; points and backslashes inside a name get a backslash.

    So different fields are different words, whatever tests and states are called.
    """
    return ".".join(str(part).replace("\\", "\\\\").replace(".", "\\.") for part in field)


def in_a_row(names: Iterable[str]) -> str:
    """`names` with commas between them; those that have commas of their own in quotes."""
    return ", ".join(f"'{name}'" if "," in name else name for name in names)


class RhoplanError(Exception):
    """A fault in what the user gave, told in one sentence. field: what it is about, None where it is about no field."""

    def __init__(self, message: str = "", *, field: Field | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field

    def within(self: Error, *place: str | int) -> Error:
        """This error, its field seen from further out: inside `place`."""
        self.field = (*place, *(self.field or ()))
        return self


class ProblemError(RhoplanError):
    """A problem that breaks one of the rules of `check_problem`."""


class ModelFileError(ProblemError):
    """A fault in a model file, with its place. message: the sentence without the place."""

    def __init__(self, message: str, *, file: str = "", line: int | None = None, field: Field | None = None) -> None:
        super().__init__(message, field=field)
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{self.message} ({self.file}{'' if self.line is None else f', line {self.line}'})"


class TableError(ProblemError):
    """A fault in a table of cases, with its place. row: as a spreadsheet counts, the header is row 1."""

    def __init__(self, message: str, *, file: str = "", column: str = "", row: int | None = None) -> None:
        super().__init__(message, field=("table", column) if column else ("table",))
        self.file, self.column, self.row = file, column, row

    def __str__(self) -> str:
        column, row = f", column '{self.column}'" * bool(self.column), "" if self.row is None else f", row {self.row}"
        return f"{self.message} ({self.file}{column}{row})"


class WrongKind(RhoplanError, TypeError):
    """Something else than a function takes."""


def expect(given: object, kind: type, made: str) -> None:
    """Refuse what is not of this kind. made: what makes one."""
    if not isinstance(given, kind):
        name = kind.__name__.removeprefix("Bound").lower()
        article = "an" if name[0] in "aeiou" else "a"
        raise WrongKind(f"expected {article} {name}, as rhoplan.{made} gives it; found {shortened(given)}")


class AgentError(RhoplanError):
    """An unknown agent, or settings that no agent can have."""


class EvidenceError(RhoplanError):
    """Evidence that does not fit the problem."""


class ImpossibleEvidence(EvidenceError):
    """An outcome that the model gives probability zero in this situation."""


class LimitError(RhoplanError):
    """A computation that would pass the limit set for it."""


class NotAvailable(RhoplanError):
    """A policy does not offer what it was asked for; the message says why."""


EXTRAS = {"numba": "search", "matplotlib": "plots", "gymnasium": "gym", "fastapi": "serve", "uvicorn": "serve",
          "distributed": "cluster", "scikit-learn": "learn", "pandas": "learn"}  # fmt: skip
"""Which extra of rhoplan brings a package that not every use needs."""


class MissingExtra(RhoplanError, ImportError):
    """A package that comes with an extra is not installed: who needs it, and what installs it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'rhoplan[{EXTRAS[package]}]'")

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

The message is for people and the code for programs: codes are stable, and docs/error-codes.md lists them. The field of
a problem is its place in a model file ("tests", "scan", "likelihood", "ill"), that of an agent the name of a setting
("weight",), that of evidence what was wrong with it ("outcome",) and, in a list, the position from 0 on
("given", 2, "outcome").
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
    """A fault in what the user gave, described in one sentence.

    Parameters
    ----------
    message
        The rule, what was found, and what to do.
    code
        A stable name of the kind of fault, such as ``likelihood-row-sum``; the default is the one of the class.
    field
        What the fault is about, None if it is about no single field.
    file, line
        Where the fault is, if it was found in a file.
    """

    code: str = "error"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        field: Field | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.field = field
        self.file = file
        self.line = line

    def __str__(self) -> str:
        if self.file is None:
            return self.message
        return f"{self.message} ({self.file}{'' if self.line is None else f', line {self.line}'})"

    def within(self: Error, *place: str | int) -> Error:
        """This error, its field seen from further out: inside `place`."""
        self.field = (*place, *(self.field or ()))
        return self


class ProblemError(RhoplanError):
    """A problem that breaks one of the rules of `check_problem`."""

    code = "invalid-problem"


def require(condition: object, message: str, field: Field, *, code: str) -> None:
    """Raise ProblemError unless `condition` holds."""
    if not condition:
        raise ProblemError(message, field=field, code=code)


class ModelFileError(ProblemError):
    """A fault in a model file, with its place. message: the sentence without the place."""

    code = "invalid-file"


class TableError(ProblemError):
    """A fault in a table of cases, with its place. row: as a spreadsheet counts, the header is row 1."""

    code = "invalid-table"

    def __init__(
        self, message: str, *, code: str | None = None, file: str = "", column: str = "", row: int | None = None
    ) -> None:
        super().__init__(message, code=code, field=("table", column) if column else ("table",), file=file)
        self.column, self.row = column, row

    def __str__(self) -> str:
        column, row = f", column '{self.column}'" * bool(self.column), "" if self.row is None else f", row {self.row}"
        return f"{self.message} ({self.file}{column}{row})"


class WrongKind(RhoplanError, TypeError):
    """Something else than a function takes."""

    code = "wrong-type"


def expect(given: object, kind: type, made: str) -> None:
    """Refuse what is not of this kind. made: what makes one."""
    if not isinstance(given, kind):
        name = "problem" if kind.__name__ == "POMDP" else kind.__name__.removeprefix("Bound").lower()
        article = "an" if name[0] in "aeiou" else "a"
        raise WrongKind(f"expected {article} {name}, as rhoplan.{made} gives it; found {shortened(given)}")


class AgentError(RhoplanError):
    """An unknown agent, or settings that no agent can have."""

    code = "invalid-agent"


class EvidenceError(RhoplanError):
    """Evidence that does not fit the problem."""

    code = "invalid-evidence"


class ImpossibleEvidence(EvidenceError):
    """An outcome that the model gives probability zero in this situation."""

    code = "impossible-evidence"


class LimitError(RhoplanError):
    """A computation that would pass the limit set for it."""

    code = "limit"


class NotAvailable(RhoplanError):
    """A policy does not offer what it was asked for; the message says why."""

    code = "not-available"


EXTRAS = {"numba": "fast", "matplotlib": "plots", "gymnasium": "gym", "fastapi": "serve", "uvicorn": "serve",
          "distributed": "cluster", "scikit-learn": "learn", "pandas": "learn"}  # fmt: skip
"""Which extra of rhoplan brings a package that not every use needs."""


class MissingExtra(RhoplanError, ImportError):
    """A package that comes with an extra is not installed: who needs it, and what installs it."""

    code = "missing-extra"

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'rhoplan[{EXTRAS[package]}]'")

"""What can go wrong at rhoplan's border, as one family of errors.

RhoplanError                 everything below; the command line prints it as one line and exits 2
|- ProblemError              a problem that breaks a rule (likelihoods, rewards, names)
|  `- ModelFileError         the same, found in a file: names file, line and field
|- AgentError                an agent that does not exist or whose settings contradict each other
|- EvidenceError             evidence that names no test or outcome, or that the rules do not allow
|  `- ImpossibleEvidence     evidence of probability zero under the model
|- LimitError                a plan larger than the limit set for it (exit 1: the input was fine)
`- MissingExtra              a package that only some uses need is not installed; also an ImportError
"""

from __future__ import annotations


class RhoplanError(Exception):
    """A fault in what the user gave, told in one sentence."""


class ProblemError(RhoplanError):
    """A problem that breaks one of the rules of `check_problem`."""


class ModelFileError(ProblemError):
    """A fault in a model file, with its place."""

    def __init__(self, message: str, *, file: str, line: int | None = None) -> None:
        place = f"{file}, line {line}" if line is not None else file
        super().__init__(f"{message} ({place})")
        self.file = file
        self.line = line


class AgentError(RhoplanError):
    """An unknown agent, or settings that no agent can have."""


class EvidenceError(RhoplanError):
    """Evidence that does not fit the problem."""


class ImpossibleEvidence(EvidenceError):
    """An outcome that the model gives probability zero in this situation."""


class LimitError(RhoplanError):
    """A computation that would pass the limit set for it."""


EXTRAS = {"numba": "search", "matplotlib": "plots", "gymnasium": "gym", "fastapi": "serve", "uvicorn": "serve",
          "distributed": "cluster"}  # fmt: skip
"""Which extra of rhoplan brings a package that not every use needs."""


class MissingExtra(RhoplanError, ImportError):
    """A package that comes with an extra is not installed: who needs it, and what installs it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'rhoplan[{EXTRAS[package]}]'")

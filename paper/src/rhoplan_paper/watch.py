"""The progress of a reproduction on the error stream: a bar with the time left, and a line per finished study."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rhoplan_paper.study import Outcome, Study


class Watch:
    """Shows how far a reproduction is. On a stream that is no terminal it prints the finished studies only."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        hidden = quiet or not self.console.is_terminal
        self.bar = Progress(
            *columns, TextColumn("left"), TimeRemainingColumn(), console=self.console, transient=True, disable=hidden
        )
        self.task = self.bar.add_task("measurements", total=None)

    def __enter__(self) -> Watch:
        self.bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.__exit__(kind, error, trace)

    def wanted(self, jobs: int, done: int) -> None:
        self.bar.update(self.task, total=jobs or None, completed=done)

    def finished(self, study: Study, outcome: Outcome) -> None:
        if not self.quiet:
            self.bar.console.print(f"done  {study.id}", style="dim")

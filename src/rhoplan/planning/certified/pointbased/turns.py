"""Searches for the same problem made ready in two ways, which take turns until their bounds meet.

Where classes are told apart by what is possible in them, lower bounds can be found that there are none of otherwise;
but there are more classes, and what is found for one says nothing of the others. Of 250 random problems without a
discount 49 came nearer so, and 75 came nearer or were done sooner without. Bounds found in one way hold in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rhoplan.errors import LimitError, ProblemError
from rhoplan.planning import clock
from rhoplan.planning.asked import check_asked
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.found import GeneralSolution, Progress
from rhoplan.planning.certified.pointbased.solve import Search, solve_general

TURN, LONGER = 0.1, 2.0
"""Seconds of the first turn of each search, and so many times as many in each that follows."""

SHARED = 0.5
"""What each of two searches has of the memory."""


def solve_in_turns(
    ways: Iterator[Compiled],
    *,
    weight: float,
    discount: float,
    gap: float,
    deadline: float,
    memory: float,
    progress: Progress | None = None,
) -> list[GeneralSolution]:
    """What each search has found: together their bounds are within `gap`, or the time or memory there is has ended.

    ways: the problem, made ready in one way or, without a discount, in two; asked for when they are needed.
    """
    asked: dict[str, Any] = {"weight": weight, "discount": discount, "gap": gap, "memory": memory}
    if discount < 1:
        problem = next(ways)
        return [solve_general(problem, seconds=max(deadline - clock.now(), 0.0), progress=progress, **asked)]
    check_asked(weight, discount, gap)
    turns = Turns(ways, asked, deadline, progress)
    turns.run()
    return turns.solutions()


class Turns:
    """searches: those begun so far. stopped: what stopped each last; `time` where it may go on."""

    def __init__(
        self, ways: Iterator[Compiled], asked: dict[str, Any], deadline: float, progress: Progress | None
    ) -> None:
        self.ways, self.asked, self.deadline, self.progress = ways, asked, deadline, progress
        self.searches: list[Search] = []
        self.stopped: list[str] = []
        self.no_more = False

    def run(self) -> None:
        """Turn after turn, each longer than the last."""
        turn = TURN
        while self.begin() or ("time" in self.stopped and clock.now() <= self.deadline):
            for place in range(len(self.searches)):
                if self.stopped[place] == "time":
                    self.go_on(place, turn)
                if self.is_done:
                    return
            turn *= LONGER

    @property
    def is_done(self) -> bool:
        found = [search.bounds for search in self.searches]
        apart = min(upper for _, upper in found) - max(lower for lower, _ in found)
        return apart <= self.asked["gap"] or "interrupted" in self.stopped

    def begin(self) -> bool:
        """Whether there was another way to begin. What is refused in one may be solved in the next."""
        with clock.hurrying() as hurry:
            try:
                begun = self._next_search()
            except (LimitError, TimeoutError):
                if hurry.pressed:
                    raise KeyboardInterrupt from None
                raise
        if hurry.pressed:
            self.stopped[-1], self.no_more = "interrupted", True
        return begun

    def _next_search(self) -> bool:
        refusal: ProblemError | None = None
        try:
            for problem in () if self.no_more else self.ways:
                try:
                    search = Search(problem, seconds=max(self.deadline - clock.now(), 0.0), **self.asked)
                except ProblemError as found:
                    refusal = found
                    continue
                self.searches.append(search)
                self.stopped.append("time")
                for one in self.searches if len(self.searches) > 1 else ():
                    one.memory *= SHARED
                return True
        except (LimitError, TimeoutError):
            if not self.searches:
                raise
        self.no_more = True
        if refusal and not self.searches:
            raise refusal
        return False

    def go_on(self, place: int, turn: float) -> None:
        """A turn of one search; all the time there is where it is the only one."""
        search, alone = self.searches[place], self.no_more and len(self.searches) == 1
        search.deadline = self.deadline if alone else min(self.deadline, clock.now() + turn)
        self.stopped[place] = search.run(self._teller(place))

    def solutions(self) -> list[GeneralSolution]:
        return [search.solution(stopped) for search, stopped in zip(self.searches, self.stopped, strict=True)]

    def _teller(self, place: int) -> Progress | None:
        """Progress of one search beside what the others have found."""
        tell, others = self.progress, [one.bounds for i, one in enumerate(self.searches) if i != place]
        if tell is None or not others:
            return tell
        least, most = max(lower for lower, _ in others), min(upper for _, upper in others)
        return lambda lower, upper, nodes: tell(max(lower, least), min(upper, most), nodes)

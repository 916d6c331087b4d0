"""A planner that observes until one state is probable enough, then takes the best terminal action."""

from dataclasses import dataclass
from typing import ClassVar

import rhoplan as rp


@dataclass(frozen=True)
class Threshold(rp.Planner):
    """The first test until the most probable state has a probability of 90%, then the best terminal action."""

    name: ClassVar[str] = "threshold"

    def solve(self, problem: rp.POMDP, objective: rp.Objective | None = None) -> rp.Policy:
        """A policy that needs no search."""
        values = rp.Lookahead(horizon=1).solve(problem)

        def threshold(belief: rp.Belief) -> str:
            terminal = [one.name for one in problem.menu(belief.observable) if one.ends_episode]
            tests = [name for name in belief.actions if name not in terminal]
            rows = values.action_values(belief)
            return tests[0] if belief.max() < 0.9 else max(terminal, key=lambda name: rows[name].value)

        return rp.FunctionPolicy(problem, threshold)

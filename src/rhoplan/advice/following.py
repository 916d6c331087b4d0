"""A plan behind a target as an agent that can be followed: drawn as a pathway, scored by the one score."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from rhoplan.advice.branches import Pathway
from rhoplan.advice.margin import Lead
from rhoplan.advice.pathway import pathway
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.belief.situation import Situation
from rhoplan.model.pomdp import Problem
from rhoplan.planning.tradeoffs.ground import Course, Ground


@dataclass(frozen=True, eq=False)
class CourseRule:
    """What `course` does on its ground, by name."""

    ground: Ground
    course: Course

    def __call__(self, problem: Problem, situation: Situation, weight: float) -> str:
        return self.ground.action(self.course, self.ground.graph.node(situation)).name


def follower(ground: Ground, course: Course) -> BoundAgent:
    """An agent of `ground.problem` that follows `course`."""
    return BoundAgent("target", planner=FollowRule(rule=CourseRule(ground, course), horizon=ground.depth))


def drawn(ground: Ground, course: Course, *, smallest: float, most_nodes: int) -> Pathway:
    """`course` as a pathway."""
    agent = follower(ground, course)
    found = pathway(ground.problem, agent, graph=ground.graph, smallest=smallest, most_nodes=most_nodes)
    return replace(found, planner="exact", lead=Lead(None, math.inf, False, "it follows from the targets"))

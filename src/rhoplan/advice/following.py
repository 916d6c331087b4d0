"""A plan behind a target as an agent that can be followed: drawn as a pathway, scored by the one score."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.advice.branches import Pathway
from rhoplan.advice.margin import Lead
from rhoplan.advice.pathway import pathway
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.constrained import UNREACHED, ConstrainedProblem, TabularPolicy


@dataclass(frozen=True, eq=False)
class CourseRule:
    """What `course` does on its graph, by name."""

    course: TabularPolicy

    def __call__(self, problem: POMDP, situation: Belief, weight: float) -> str:
        graph, places = self.course.graph, self.course.places
        node = int(graph.nodes([situation.observable], tuple(belief[None] for belief in situation.beliefs))[0])
        if node >= len(places) or places[node] == UNREACHED:
            # Beliefs of another graph can differ in their last digits.
            same = np.flatnonzero(graph.observable[: len(places)] == graph.observable[node])
            same = same[places[same] != UNREACHED]
            node = int(same[np.abs(graph.beliefs(same) - situation.beliefs[0]).max(axis=1).argmin()])
        return self.course.action(node).name


def follower(ground: ConstrainedProblem, course: TabularPolicy) -> BoundAgent:
    """An agent of `ground.problem` that follows `course`."""
    return BoundAgent("target", planner=FollowRule(rule=CourseRule(course), horizon=max(ground.depth, 1)))


def drawn(ground: ConstrainedProblem, course: TabularPolicy, *, smallest: float, most_nodes: int) -> Pathway:
    """`course` as a pathway."""
    agent = follower(ground, course)
    found = pathway(ground.problem, agent, smallest=smallest, most_nodes=most_nodes)
    return replace(found, planner="exact", lead=Lead(None, math.inf, False, "it follows from the targets"))

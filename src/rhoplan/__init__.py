"""rhoplan plans what to observe, when to stop and what to commit to, and says exactly how good that plan is.

>>> import rhoplan
>>> tiger = rhoplan.make("tiger")
>>> efe = rhoplan.make_agent("efe", tiger)
>>> rhoplan.decide(tiger, efe).choice
'listen'
>>> round(rhoplan.evaluate(tiger, efe).reward, 4)
5.1599
"""

from rhoplan.agent import AGENTS, Agent, make_agent
from rhoplan.errors import (
    AgentError,
    EvidenceError,
    ImpossibleEvidence,
    LimitError,
    ModelFileError,
    ProblemError,
    RhoplanError,
)
from rhoplan.evaluate import Score, evaluate
from rhoplan.planning.solve import Solution, solve
from rhoplan.policy import ActionValue, Decision, decide
from rhoplan.problem import END, Action, Commit, Factor, Problem, Test, check_problem, observe_then_commit
from rhoplan.problems.registry import PROBLEMS, make
from rhoplan.situation import Branch, Situation, branch, initial, observe, observe_all
from rhoplan.utility import Information, NegativeEntropy, OwnUtility, TargetBelief, Utility
from rhoplan.version import __version__

__all__ = [
    "AGENTS",
    "END",
    "PROBLEMS",
    "Action",
    "ActionValue",
    "Agent",
    "AgentError",
    "Branch",
    "Commit",
    "Decision",
    "EvidenceError",
    "Factor",
    "ImpossibleEvidence",
    "Information",
    "LimitError",
    "ModelFileError",
    "NegativeEntropy",
    "OwnUtility",
    "Problem",
    "ProblemError",
    "RhoplanError",
    "Score",
    "Situation",
    "Solution",
    "TargetBelief",
    "Test",
    "Utility",
    "__version__",
    "branch",
    "check_problem",
    "decide",
    "evaluate",
    "initial",
    "make",
    "make_agent",
    "observe",
    "observe_all",
    "observe_then_commit",
    "solve",
]

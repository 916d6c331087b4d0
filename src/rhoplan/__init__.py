"""rhoplan plans what to observe, when to stop and what to commit to, and says exactly how good that plan is.

    >>> import rhoplan
    >>> tiger = rhoplan.make("tiger")
    >>> efe = rhoplan.make_agent("efe", tiger)
    >>> rhoplan.decide(tiger, efe).choice
    'listen'
    >>> round(rhoplan.evaluate(tiger, efe).reward, 4)
    5.1599

The public names below are loaded when first used, so that importing rhoplan, or asking the command line for help, does
not wait for the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rhoplan.version import __version__

if TYPE_CHECKING:
    from rhoplan.agents.agent import AGENTS, Agent, make_agent
    from rhoplan.agents.check import check_planner
    from rhoplan.agents.objective import Objective
    from rhoplan.agents.planners.planner import Chooser, Planner
    from rhoplan.agents.policy import ActionValue, Decision, decide
    from rhoplan.agents.registry import PLANNERS, UTILITIES, Registered
    from rhoplan.belief.situation import Branch, Situation, branch, initial, observe, observe_all
    from rhoplan.errors import (
        AgentError,
        EvidenceError,
        ImpossibleEvidence,
        LimitError,
        MissingExtra,
        ModelFileError,
        ProblemError,
        RhoplanError,
    )
    from rhoplan.io.arrays import from_arrays, from_pymdp
    from rhoplan.io.drn import read_drn
    from rhoplan.io.model_file import parse_model, read_model, write_model
    from rhoplan.io.pomdp import read_pomdp
    from rhoplan.io.pomdp_writer import write_pomdp
    from rhoplan.io.pomdpx import read_pomdpx
    from rhoplan.model.check import check_problem
    from rhoplan.model.joint import seen_after
    from rhoplan.model.observe_then_commit import Commit, Test, observe_then_commit
    from rhoplan.model.problem import END, Action, Factor, Problem
    from rhoplan.model.sparse import Sparse
    from rhoplan.planning.certified.solve import Solution, solve
    from rhoplan.planning.utility import Information, NegativeEntropy, OwnUtility, TargetBelief, Utility
    from rhoplan.problems.registry import PROBLEMS, make
    from rhoplan.scoring.episodes import Episodes
    from rhoplan.scoring.evaluate import Score, evaluate
    from rhoplan.scoring.simulate import Estimate, simulate, simulate_episodes

_NAMES = {
    "agents.agent": ("AGENTS", "Agent", "make_agent"),
    "agents.check": ("check_planner",),
    "agents.objective": ("Objective",),
    "agents.planners.planner": ("Chooser", "Planner"),
    "agents.registry": ("PLANNERS", "UTILITIES", "Registered"),
    "model.check": ("check_problem",),
    "model.joint": ("seen_after",),
    "scoring.simulate": ("Estimate", "simulate", "simulate_episodes"),
    "errors": (
        "AgentError",
        "EvidenceError",
        "ImpossibleEvidence",
        "LimitError",
        "MissingExtra",
        "ModelFileError",
        "ProblemError",
        "RhoplanError",
    ),
    "io.arrays": ("from_arrays", "from_pymdp"),
    "io.drn": ("read_drn",),
    "io.pomdp": ("read_pomdp",),
    "io.pomdp_writer": ("write_pomdp",),
    "io.pomdpx": ("read_pomdpx",),
    "io.model_file": ("parse_model", "read_model", "write_model"),
    "planning.certified.solve": ("Solution", "solve"),
    "agents.policy": ("ActionValue", "Decision", "decide"),
    "model.observe_then_commit": ("Commit", "Test", "observe_then_commit"),
    "model.problem": ("END", "Action", "Factor", "Problem"),
    "model.sparse": ("Sparse",),
    "problems.registry": ("PROBLEMS", "make"),
    "scoring.evaluate": ("Score", "evaluate"),
    "belief.situation": ("Branch", "Situation", "branch", "initial", "observe", "observe_all"),
    "planning.utility": ("Information", "NegativeEntropy", "OwnUtility", "TargetBelief", "Utility"),
    "scoring.episodes": ("Episodes",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rhoplan' has no attribute '{name}'")
    value = getattr(import_module(f"rhoplan.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

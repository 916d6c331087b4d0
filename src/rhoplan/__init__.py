"""rhoplan plans what to observe, when to stop and what to commit to, and says exactly how good that plan is.

    >>> import rhoplan
    >>> tiger = rhoplan.make("tiger")
    >>> efe = rhoplan.make_agent("efe", tiger)
    >>> rhoplan.decide(tiger, efe).choice
    'listen'
    >>> round(rhoplan.evaluate(tiger, efe).reward, 4)
    5.1599

`PUBLIC` lists the public names. They are loaded when first used, so that importing rhoplan, or asking the command line
for help, does not wait for the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rhoplan.version import __version__ as __version__

PUBLIC = {
    "Agent": "rhoplan.agents.agent",
    "AGENTS": "rhoplan.agents.agent",
    "make_agent": "rhoplan.agents.agent",
    "check_planner": "rhoplan.agents.check",
    "Objective": "rhoplan.agents.objective",
    "Chooser": "rhoplan.agents.planners.planner",
    "Planner": "rhoplan.agents.planners.planner",
    "ActionValue": "rhoplan.agents.policy",
    "decide": "rhoplan.agents.policy",
    "Decision": "rhoplan.agents.policy",
    "PLANNERS": "rhoplan.agents.registry",
    "Registered": "rhoplan.agents.registry",
    "UTILITIES": "rhoplan.agents.registry",
    "check_problem": "rhoplan.api",
    "load": "rhoplan.api",
    "loads": "rhoplan.api",
    "save": "rhoplan.api",
    "with_horizon": "rhoplan.api",
    "advise": "rhoplan.app.notebook.verbs",
    "compare": "rhoplan.app.notebook.verbs",
    "learn": "rhoplan.app.notebook.verbs",
    "pathway": "rhoplan.app.notebook.verbs",
    "report": "rhoplan.app.notebook.verbs",
    "sweep": "rhoplan.app.notebook.verbs",
    "what_if": "rhoplan.app.notebook.verbs",
    "Belief": "rhoplan.belief.belief",
    "AgentError": "rhoplan.errors",
    "EvidenceError": "rhoplan.errors",
    "ImpossibleEvidence": "rhoplan.errors",
    "LimitError": "rhoplan.errors",
    "MissingExtra": "rhoplan.errors",
    "ModelFileError": "rhoplan.errors",
    "ProblemError": "rhoplan.errors",
    "RhoplanError": "rhoplan.errors",
    "TableError": "rhoplan.errors",
    "WrongKind": "rhoplan.errors",
    "from_arrays": "rhoplan.io.arrays",
    "from_pymdp": "rhoplan.io.arrays",
    "write_policy": "rhoplan.io.policy_writer",
    "joined_problem": "rhoplan.model.blocks",
    "from_transition_observation": "rhoplan.model.joint",
    "Commit": "rhoplan.model.observe_then_commit",
    "observe_then_commit": "rhoplan.model.observe_then_commit",
    "Test": "rhoplan.model.observe_then_commit",
    "panel": "rhoplan.model.panels",
    "JointPrior": "rhoplan.model.parts",
    "Part": "rhoplan.model.parts",
    "PartedAction": "rhoplan.model.parts",
    "Action": "rhoplan.model.problem",
    "END": "rhoplan.model.problem",
    "Factor": "rhoplan.model.problem",
    "Problem": "rhoplan.model.problem",
    "Sparse": "rhoplan.model.sparse",
    "load_policy": "rhoplan.planning.certified.saved",
    "Solution": "rhoplan.planning.certified.solve",
    "solve": "rhoplan.planning.certified.solve",
    "Information": "rhoplan.planning.utility",
    "NegativeEntropy": "rhoplan.planning.utility",
    "OwnUtility": "rhoplan.planning.utility",
    "TargetBelief": "rhoplan.planning.utility",
    "Utility": "rhoplan.planning.utility",
    "Picture": "rhoplan.present.picture",
    "plot_policy": "rhoplan.present.policy_plot",
    "make": "rhoplan.problems.registry",
    "PROBLEMS": "rhoplan.problems.registry",
    "Episodes": "rhoplan.scoring.episodes",
    "evaluate": "rhoplan.scoring.evaluate",
    "Score": "rhoplan.scoring.evaluate",
    "Estimate": "rhoplan.scoring.simulate",
    "simulate": "rhoplan.scoring.simulate",
    "simulate_episodes": "rhoplan.scoring.simulate",
}
"""The module of each public name. `__init__.pyi` says the same to type checkers."""

__all__ = [*PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'rhoplan' has no attribute '{name}'")
    value = getattr(import_module(PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})

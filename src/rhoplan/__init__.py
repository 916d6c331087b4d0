"""rhoplan plans what to observe, when to stop and what to commit to, and says exactly how good that plan is.

    >>> import rhoplan
    >>> tiger = rhoplan.make("tiger")
    >>> rhoplan.decide(tiger, "efe").choice
    'listen'
    >>> rhoplan.evaluate(tiger, "efe")
    Score(reward 5.15992, tests 4.23887, success 0.994534, truncated 0; exact)

`PUBLIC` lists the public names. They are loaded when first used, so that importing rhoplan, or asking the command line
for help, does not wait for the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rhoplan.version import __version__ as __version__

PUBLIC = {
    "check_planner": "rhoplan.agents.check",
    "Agent": "rhoplan.agents.named",
    "agent": "rhoplan.agents.named",
    "Anytime": "rhoplan.agents.planners",
    "list_agents": "rhoplan.agents.named",
    "list_planners": "rhoplan.agents.named",
    "Lookahead": "rhoplan.agents.planners",
    "MCTS": "rhoplan.agents.planners",
    "POMCP": "rhoplan.agents.planners",
    "RunOnce": "rhoplan.agents.planners",
    "Recommendation": "rhoplan.planning.recommendation",
    "check_problem": "rhoplan.api",
    "decide": "rhoplan.api",
    "episode": "rhoplan.api",
    "episodes": "rhoplan.api",
    "evaluate": "rhoplan.api",
    "list_problems": "rhoplan.api",
    "load": "rhoplan.api",
    "load_policy": "rhoplan.api",
    "loads": "rhoplan.api",
    "register": "rhoplan.api",
    "save": "rhoplan.api",
    "simulate": "rhoplan.api",
    "solve": "rhoplan.api",
    "with_horizon": "rhoplan.api",
    "advise": "rhoplan.app.notebook.verbs",
    "compare": "rhoplan.app.notebook.verbs",
    "learn": "rhoplan.app.notebook.verbs",
    "pathway": "rhoplan.app.notebook.verbs",
    "report": "rhoplan.app.notebook.verbs",
    "sweep": "rhoplan.app.notebook.verbs",
    "what_if": "rhoplan.app.notebook.verbs",
    "Belief": "rhoplan.model.belief",
    "AgentError": "rhoplan.errors",
    "EvidenceError": "rhoplan.errors",
    "ImpossibleEvidence": "rhoplan.errors",
    "LimitError": "rhoplan.errors",
    "MissingExtra": "rhoplan.errors",
    "ModelFileError": "rhoplan.errors",
    "NotAvailable": "rhoplan.errors",
    "ProblemError": "rhoplan.errors",
    "RhoplanError": "rhoplan.errors",
    "TableError": "rhoplan.errors",
    "WrongKind": "rhoplan.errors",
    "from_arrays": "rhoplan.io.arrays",
    "from_pymdp": "rhoplan.io.arrays",
    "FactoredProblem": "rhoplan.model.factored",
    "from_transition_observation": "rhoplan.belief_math.transitions",
    "Decision": "rhoplan.model.diagnostic",
    "DiagnosticProblem": "rhoplan.model.diagnostic",
    "Panel": "rhoplan.model.diagnostic",
    "Test": "rhoplan.model.diagnostic",
    "JointPrior": "rhoplan.model.factored",
    "LocalModel": "rhoplan.model.factored",
    "FactoredAction": "rhoplan.model.factored",
    "Action": "rhoplan.model.records",
    "END": "rhoplan.model.records",
    "Factor": "rhoplan.model.records",
    "POMDP": "rhoplan.model.pomdp",
    "Objective": "rhoplan.planning.objective",
    "Planner": "rhoplan.planning.planner",
    "ActionValues": "rhoplan.planning.policy",
    "FunctionPolicy": "rhoplan.planning.policy",
    "Policy": "rhoplan.planning.policy",
    "Information": "rhoplan.planning.utility",
    "NegativeEntropy": "rhoplan.planning.utility",
    "TargetBelief": "rhoplan.planning.utility",
    "Utility": "rhoplan.planning.utility",
    "Picture": "rhoplan.present.picture",
    "plot_policy": "rhoplan.present.policy_plot",
    "make": "rhoplan.problems.registry",
    "Score": "rhoplan.evaluation.score",
    "HSVI": "rhoplan.solutions",
    "Solution": "rhoplan.solutions",
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

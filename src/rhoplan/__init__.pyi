"""The public names and their homes: type checkers read this file, and so does `__init__` at run time."""

from rhoplan.agents.agent import AGENTS as AGENTS
from rhoplan.agents.agent import Agent as Agent
from rhoplan.agents.agent import make_agent as make_agent
from rhoplan.agents.check import check_planner as check_planner
from rhoplan.agents.objective import Objective as Objective
from rhoplan.agents.planners.planner import Chooser as Chooser
from rhoplan.agents.planners.planner import Planner as Planner
from rhoplan.agents.policy import ActionValue as ActionValue
from rhoplan.agents.policy import Decision as Decision
from rhoplan.agents.policy import decide as decide
from rhoplan.agents.registry import PLANNERS as PLANNERS
from rhoplan.agents.registry import UTILITIES as UTILITIES
from rhoplan.agents.registry import Registered as Registered
from rhoplan.app.notebook.verbs import advise as advise
from rhoplan.app.notebook.verbs import compare as compare
from rhoplan.app.notebook.verbs import learn as learn
from rhoplan.app.notebook.verbs import pathway as pathway
from rhoplan.app.notebook.verbs import report as report
from rhoplan.app.notebook.verbs import sweep as sweep
from rhoplan.app.notebook.verbs import what_if as what_if
from rhoplan.belief.situation import (
    Branch as Branch,
)
from rhoplan.belief.situation import (
    Situation as Situation,
)
from rhoplan.belief.situation import (
    branch as branch,
)
from rhoplan.belief.situation import (
    initial as initial,
)
from rhoplan.belief.situation import (
    observe as observe,
)
from rhoplan.belief.situation import (
    observe_all as observe_all,
)
from rhoplan.errors import (
    AgentError as AgentError,
)
from rhoplan.errors import (
    EvidenceError as EvidenceError,
)
from rhoplan.errors import (
    ImpossibleEvidence as ImpossibleEvidence,
)
from rhoplan.errors import (
    LimitError as LimitError,
)
from rhoplan.errors import (
    MissingExtra as MissingExtra,
)
from rhoplan.errors import (
    ModelFileError as ModelFileError,
)
from rhoplan.errors import (
    ProblemError as ProblemError,
)
from rhoplan.errors import (
    RhoplanError as RhoplanError,
)
from rhoplan.errors import (
    TableError as TableError,
)
from rhoplan.errors import (
    WrongKind as WrongKind,
)
from rhoplan.io.arrays import from_arrays as from_arrays
from rhoplan.io.arrays import from_pymdp as from_pymdp
from rhoplan.io.drn import read_drn as read_drn
from rhoplan.io.model_file import parse_model as parse_model
from rhoplan.io.model_file import read_model as read_model
from rhoplan.io.model_file import write_model as write_model
from rhoplan.io.policy_writer import write_policy as write_policy
from rhoplan.io.pomdp import read_pomdp as read_pomdp
from rhoplan.io.pomdp_writer import write_pomdp as write_pomdp
from rhoplan.io.pomdpx import read_pomdpx as read_pomdpx
from rhoplan.model.blocks import joined_problem as joined_problem
from rhoplan.model.check import check_problem as check_problem
from rhoplan.model.joint import seen_after as seen_after
from rhoplan.model.limited import with_horizon as with_horizon
from rhoplan.model.observe_then_commit import Commit as Commit
from rhoplan.model.observe_then_commit import Test as Test
from rhoplan.model.observe_then_commit import observe_then_commit as observe_then_commit
from rhoplan.model.panels import panel as panel
from rhoplan.model.parts import JointPrior as JointPrior
from rhoplan.model.parts import Part as Part
from rhoplan.model.parts import PartedAction as PartedAction
from rhoplan.model.problem import END as END
from rhoplan.model.problem import Action as Action
from rhoplan.model.problem import Factor as Factor
from rhoplan.model.problem import Problem as Problem
from rhoplan.model.sparse import Sparse as Sparse
from rhoplan.planning.certified.saved import load_policy as load_policy
from rhoplan.planning.certified.solve import Solution as Solution
from rhoplan.planning.certified.solve import solve as solve
from rhoplan.planning.utility import (
    Information as Information,
)
from rhoplan.planning.utility import (
    NegativeEntropy as NegativeEntropy,
)
from rhoplan.planning.utility import (
    OwnUtility as OwnUtility,
)
from rhoplan.planning.utility import (
    TargetBelief as TargetBelief,
)
from rhoplan.planning.utility import (
    Utility as Utility,
)
from rhoplan.present.picture import Picture as Picture
from rhoplan.present.policy_plot import plot_policy as plot_policy
from rhoplan.problems.registry import PROBLEMS as PROBLEMS
from rhoplan.problems.registry import make as make
from rhoplan.scoring.episodes import Episodes as Episodes
from rhoplan.scoring.evaluate import Score as Score
from rhoplan.scoring.evaluate import evaluate as evaluate
from rhoplan.scoring.simulate import Estimate as Estimate
from rhoplan.scoring.simulate import simulate as simulate
from rhoplan.scoring.simulate import simulate_episodes as simulate_episodes
from rhoplan.version import __version__ as __version__

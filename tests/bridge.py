"""Where the tests find internal names of rhoplan: if one moves, only its line in `NAMES` changes.

    from bridge import Graph                                  # imported when it is first used
    monkeypatch.setattr(path_of("LARGEST_TABLE"), 60_000)     # replaces the name in its module

Tests import public names from rhoplan itself.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from rhoplan import POMDP, Information

NAMES = {
    "bands": "rhoplan.advice.bands:bands",
    "Leaf": "rhoplan.advice.branches:Leaf",
    "Node": "rhoplan.advice.branches:Node",
    "Step": "rhoplan.advice.branches:Step",
    "case_advice": "rhoplan.advice.case:advise",
    "without": "rhoplan.advice.case:without",
    "append": "rhoplan.advice.chain:append",
    "chain_write_text": "rhoplan.advice.chain:write_text",
    "faults": "rhoplan.advice.chain:faults",
    "HASH": "rhoplan.advice.chain:HASH",
    "hash_of": "rhoplan.advice.chain:hash_of",
    "read_lines": "rhoplan.advice.chain:read_lines",
    "read_seal": "rhoplan.advice.chain:read_seal",
    "seal_of": "rhoplan.advice.chain:seal_of",
    "compare_agents": "rhoplan.advice.compare:compare",
    "ComparisonRow": "rhoplan.advice.compare:Row",
    "all_tests": "rhoplan.advice.everything:all_tests",
    "BESIDE": "rhoplan.advice.journal:BESIDE",
    "Case": "rhoplan.advice.journal:Case",
    "digest": "rhoplan.advice.journal:digest",
    "read_log": "rhoplan.advice.journal:read_log",
    "first_lead": "rhoplan.advice.margin:first_lead",
    "lead_of": "rhoplan.advice.margin:lead_of",
    "proven_lead": "rhoplan.advice.margin:proven_lead",
    "Ahead": "rhoplan.advice.outlay:Ahead",
    "overridden": "rhoplan.advice.overrides:overridden",
    "make_pathway": "rhoplan.advice.pathway:pathway",
    "replay": "rhoplan.advice.replay:replay",
    "Edge": "rhoplan.advice.sensitivity:Edge",
    "Flip": "rhoplan.advice.sensitivity:Flip",
    "flips": "rhoplan.advice.sensitivity:flips",
    "started": "rhoplan.advice.start:started",
    "parameters": "rhoplan.advice.variations:parameters",
    "with_values": "rhoplan.advice.variations:with_values",
    "make_adviser": "rhoplan.agents.agent:make_adviser",
    "AGENTS": "rhoplan.agents.agent:AGENTS",
    "BoundAgent": "rhoplan.agents.agent:BoundAgent",
    "make_agent": "rhoplan.agents.agent:make_agent",
    "decide_at": "rhoplan.agents.agent:decide",
    "solve_bounds": "rhoplan.planning.certified.solve:solve",
    "FunctionUtility": "rhoplan.planning.utility:FunctionUtility",
    "PROBLEMS": "rhoplan.problems.registry:PROBLEMS",
    "exact_score": "rhoplan.api:evaluate",
    "estimate": "rhoplan.api:simulate",
    "simulate_episodes": "rhoplan.api:episodes",
    "FollowRule": "rhoplan.agents.planners:FollowRule",
    "GraphPolicy": "rhoplan._old.policy:GraphPolicy",
    "turnover": "rhoplan._old.turnover:turnover",
    "_guarded": "rhoplan.app.cli:_guarded",
    "cli_declared": "rhoplan.app.cli:declared",
    "COMMANDS": "rhoplan.app.cli:COMMANDS",
    "ELSEWHERE": "rhoplan.app.cli:ELSEWHERE",
    "FURTHER": "rhoplan.app.cli:FURTHER",
    "further_commands": "rhoplan.app.cli:further_commands",
    "main": "rhoplan.app.cli:main",
    "console": "rhoplan.app.cli.common:console",
    "declared": "rhoplan.work.plugins:declared",
    "open_model": "rhoplan.app.cli.serve:open_model",
    "serve_command": "rhoplan.app.cli.serve:serve_command",
    "list_command": "rhoplan.app.cli.show:list_command",
    "show_command": "rhoplan.app.cli.show:show_command",
    "create_app": "rhoplan.app.serve.app:create_app",
    "Desk": "rhoplan.app.serve.app:Desk",
    "TABLES": "rhoplan.app.serve.border:TABLES",
    "describe_table": "rhoplan.app.serve.learn_tasks:describe",
    "table_source": "rhoplan.app.serve.learn_tasks:table_source",
    "Tables": "rhoplan.app.serve.learning:Tables",
    "Pool": "rhoplan.app.serve.pool:Pool",
    "Reply": "rhoplan.app.serve.refusals:Reply",
    "success": "rhoplan.app.serve.refusals:success",
    "Upload": "rhoplan.app.serve.schema:Upload",
    "Settings": "rhoplan.app.serve.settings:Settings",
    "check_name": "rhoplan.app.serve.sources:check_name",
    "find_source": "rhoplan.app.serve.sources:find_source",
    "Library": "rhoplan.app.serve.sources:Library",
    "Source": "rhoplan.app.serve.sources:Source",
    "UnknownModel": "rhoplan.app.serve.sources:UnknownModel",
    "Edges": "rhoplan.app.serve.targeting:Edges",
    "Met": "rhoplan.app.serve.targeting:Met",
    "UncertaintyReply": "rhoplan.app.serve.uncertain:UncertaintyReply",
    "build": "rhoplan.app.serve.worker:build",
    "WorkerJob": "rhoplan.app.serve.worker:Job",
    "draw_outcome": "rhoplan.belief_math.sampling:draw_outcome",
    "draw_state": "rhoplan.belief_math.sampling:draw_state",
    "coupling": "rhoplan.belief_math.information:coupling",
    "entropy": "rhoplan.belief_math.information:entropy",
    "information": "rhoplan.belief_math.information:information",
    "NATS_PER_BIT": "rhoplan.belief_math.information:NATS_PER_BIT",
    "per_nat": "rhoplan.belief_math.information:per_nat",
    "predict": "rhoplan.belief_math.information:predict",
    "update": "rhoplan.belief_math.information:update",
    "BeliefSet": "rhoplan.graph.belief_set:BeliefSet",
    "given_observation": "rhoplan.belief_math.transitions:given_observation",
    "dotted": "rhoplan.errors:dotted",
    "EXTRAS": "rhoplan.errors:EXTRAS",
    "check_menu": "rhoplan.model.worlds:check_menu",
    "in_names_of": "rhoplan.model.worlds:in_names_of",
    "check_world": "rhoplan.model.worlds:check_world",
    "Graph": "rhoplan._old.graph:Graph",
    "DIVE": "rhoplan.gym:DIVE",
    "environment_id": "rhoplan.gym:environment_id",
    "register_environments": "rhoplan.gym:register_environments",
    "VISIBLE_LIMIT": "rhoplan.gym:VISIBLE_LIMIT",
    "parse_drn": "rhoplan.io.drn:parse_drn",
    "FORMATS": "rhoplan.io.formats:FORMATS",
    "LARGEST_FILE": "rhoplan.io.formats:LARGEST_FILE",
    "parse_problem": "rhoplan.io.formats:parse_problem",
    "MOST_NUMBERS": "rhoplan.io.general_writer:MOST_NUMBERS",
    "MOST_PLACES": "rhoplan.io.general_writer:MOST_PLACES",
    "is_link": "rhoplan.io.links:is_link",
    "parse_model": "rhoplan.io.model_file:parse_model",
    "write_model": "rhoplan.io.model_file:write_model",
    "parse_pomdp": "rhoplan.io.pomdp:parse_pomdp",
    "RESERVED": "rhoplan.io.pomdp_writer:RESERVED",
    "write_pomdp": "rhoplan.io.pomdp_writer:write_pomdp",
    "parse_pomdpx": "rhoplan.io.pomdpx:parse_pomdpx",
    "ModelReader": "rhoplan.io.reader:ModelReader",
    "reader_observe_then_commit": "rhoplan.io.reader:DiagnosticProblem",
    "parse_tree": "rhoplan.io.tree:parse_tree",
    "model_record": "rhoplan.io.writer:model_record",
    "writer_LARGEST_FILE": "rhoplan.io.writer:LARGEST_FILE",
    "MOST_ELEMENTS": "rhoplan.io.xml:MOST_ELEMENTS",
    "parse_xml": "rhoplan.io.xml:parse_xml",
    "xml_DEEPEST": "rhoplan.io.xml:DEEPEST",
    "Grid": "rhoplan.learning.choices:Grid",
    "learn_from_table": "rhoplan.learning.learning:learn",
    "LearningPlan": "rhoplan.learning.plan:Plan",
    "parse_plan": "rhoplan.learning.plan:parse_plan",
    "CaseTable": "rhoplan.learning.table:Table",
    "parse_table": "rhoplan.learning.table:parse_table",
    "table_of": "rhoplan.learning.table:table_of",
    "Done": "rhoplan.model.diagnostic:Done",
    "FlatMenu": "rhoplan.model.diagnostic:FlatMenu",
    "MOST_OUTCOMES": "rhoplan.model.diagnostic:MOST_OUTCOMES",
    "Array": "rhoplan.model.pomdp:Array",
    "FixedMenu": "rhoplan.model.pomdp:FixedMenu",
    "EventCount": "rhoplan.model.records:EventCount",
    "Observable": "rhoplan.model.pomdp:Observable",
    "cut_off_worth": "rhoplan.model.horizon:cut_off_worth",
    "has_commits": "rhoplan.model.horizon:has_commits",
    "is_endless": "rhoplan.model.horizon:is_endless",
    "largest_payment": "rhoplan.model.horizon:largest_payment",
    "as_dense": "rhoplan.belief_math.transitions:dense",
    "WIDTH": "rhoplan.io.accuracy:WIDTH",
    "partitioned": "rhoplan.model.diagnostic:partitioned",
    "check_errands": "rhoplan.planning.certified.errand_check:check_errands",
    "ErrandPolicy": "rhoplan.planning.certified.errand_policy:ErrandPolicy",
    "decomposes": "rhoplan.planning.certified.errands:decomposes",
    "ErrandPlan": "rhoplan.planning.certified.errands:ErrandPlan",
    "going_on_costs": "rhoplan.planning.certified.errands:going_on_costs",
    "mixture": "rhoplan.planning.certified.mixing:mixture",
    "check_plan": "rhoplan.planning.certified.pointbased.check:check_plan",
    "Compiled": "rhoplan.planning.certified.pointbased.compiled:Compiled",
    "dense_joint": "rhoplan.planning.certified.pointbased.compiled:dense_joint",
    "flat": "rhoplan.planning.certified.pointbased.compiled:flat",
    "given": "rhoplan.planning.certified.pointbased.given:given",
    "ABOVE": "rhoplan.planning.certified.pointbased.graph:ABOVE",
    "ALIVE": "rhoplan.planning.certified.pointbased.graph:ALIVE",
    "BELOW": "rhoplan.planning.certified.pointbased.graph:BELOW",
    "CHILDREN": "rhoplan.planning.certified.pointbased.graph:CHILDREN",
    "ENTROPY": "rhoplan.planning.certified.pointbased.graph:ENTROPY",
    "ENTRY": "rhoplan.planning.certified.pointbased.graph:ENTRY",
    "HULL_READ": "rhoplan.planning.certified.pointbased.graph:HULL_READ",
    "LOWER": "rhoplan.planning.certified.pointbased.graph:LOWER",
    "NODES": "rhoplan.planning.certified.pointbased.graph:NODES",
    "OWN": "rhoplan.planning.certified.pointbased.graph:OWN",
    "PAID": "rhoplan.planning.certified.pointbased.graph:PAID",
    "SLOT": "rhoplan.planning.certified.pointbased.graph:SLOT",
    "unfold": "rhoplan.planning.certified.pointbased.graph:unfold",
    "UPPER": "rhoplan.planning.certified.pointbased.graph:UPPER",
    "VECTOR_AT": "rhoplan.planning.certified.pointbased.graph:VECTOR_AT",
    "VECTORS": "rhoplan.planning.certified.pointbased.graph:VECTORS",
    "list_points": "rhoplan.planning.certified.pointbased.points:list_points",
    "mix_anew": "rhoplan.planning.certified.pointbased.points:mix_anew",
    "rows_of": "rhoplan.planning.certified.pointbased.points:rows_of",
    "_ends": "rhoplan.planning.certified.pointbased.policies:_ends",
    "_staying": "rhoplan.planning.certified.pointbased.policies:_staying",
    "Search": "rhoplan.planning.certified.pointbased.solve:Search",
    "splits": "rhoplan.planning.certified.pointbased.supports:splits",
    "Bounds": "rhoplan.planning.certified.solve:Bounds",
    "anytime_module": "rhoplan.planning.routing.deepening",
    "Plan": "rhoplan._old.exact:Plan",
    "MOST_MOVES": "rhoplan.planning.tree_search.model:MOST_MOVES",
    "WORKED_MODELS": "rhoplan.problems.registry:WORKED_MODELS",
    "make_report": "rhoplan.present.content:make_report",
    "Drawing": "rhoplan.present.drawing:Drawing",
    "page": "rhoplan.present.page.page:page",
    "read_signed": "rhoplan.present.signed:read_signed",
    "signed": "rhoplan.present.signed:signed",
    "as_text": "rhoplan.present.telling:as_text",
    "Rollout": "rhoplan.evaluation.rollout:Rollout",
    "RolloutSettings": "rhoplan.evaluation.rollout:RolloutSettings",
    "Followed": "rhoplan._old.followed:Followed",
    "LARGEST_SEED": "rhoplan.evaluation.streams:LARGEST_SEED",
    "PUBLISHED_SEEDS": "rhoplan.evaluation.streams:PUBLISHED_SEEDS",
    "score_solved": "rhoplan.evaluation.plan_score:score_solved",
    "policy_steps": "rhoplan.evaluation.steps:policy_steps",
    "BLOCK": "rhoplan.evaluation.streams:BLOCK",
    "Streams": "rhoplan.evaluation.streams:Streams",
    "episodes_on_graphs": "rhoplan.evaluation.simulate:simulate_episodes",
    "parallel_module": "rhoplan.parallel",
    "Context": "rhoplan_paper.context:Context",
    "Pending": "rhoplan_paper.context:Pending",
    "score_job": "rhoplan_paper.context:score_job",
    "simulate_job": "rhoplan_paper.context:simulate_job",
    "job": "rhoplan_paper.jobs:job",
    "PaperJob": "rhoplan_paper.jobs:Job",
    "run_job": "rhoplan_paper.jobs:run_job",
    "Cell": "rhoplan_paper.published:Cell",
    "cell": "rhoplan_paper.published:cell",
    "Claim": "rhoplan_paper.published:Claim",
    "PaperPart": "rhoplan_paper.published:Part",
    "PaperRow": "rhoplan_paper.published:Row",
    "PaperTable": "rhoplan_paper.published:Table",
    "published": "rhoplan_paper.published:published",
    "Quote": "rhoplan_paper.published:Quote",
    "select": "rhoplan_paper.published:select",
    "studies": "rhoplan_paper.registry:studies",
    "latex": "rhoplan_paper.report.output:latex",
    "markdown": "rhoplan_paper.report.output:markdown",
    "on_cluster": "rhoplan_paper.runner:on_cluster",
    "on_this_machine": "rhoplan_paper.runner:on_this_machine",
    "reproduce": "rhoplan_paper.runner:reproduce",
    "run": "rhoplan_paper.runner:run",
    "FolderInUse": "rhoplan_paper.store:FolderInUse",
    "Store": "rhoplan_paper.store:Store",
    "CONFIRMED": "rhoplan_paper.study:CONFIRMED",
    "CONTRADICTED": "rhoplan_paper.study:CONTRADICTED",
    "Finding": "rhoplan_paper.study:Finding",
    "ONLY_BITS": "rhoplan_paper.study:ONLY_BITS",
    "Outcome": "rhoplan_paper.study:Outcome",
    "Sheet": "rhoplan_paper.study:Sheet",
    "Study": "rhoplan_paper.study:Study",
    "VERDICTS": "rhoplan_paper.study:VERDICTS",
    "build_table": "rhoplan_paper.tables.rows:build_table",
}
"""Internal names as `module:attribute`, and modules."""

NEED_EXTRAS = (
    "rhoplan.planning.kept",
    "rhoplan.planning.machine",
    "rhoplan.planning.dispatchers",
    "rhoplan.planning.handing",
    "rhoplan.planning.tree_search",
    "rhoplan.planning.certified.pointbased",
    "rhoplan.planning.certified.solved",
    "rhoplan.planning.routing",
    "rhoplan.planning.many",
    "rhoplan.agents.planners",
    "rhoplan.gym",
)
"""Modules and packages that import an optional package when they are imported."""


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"tests/bridge.py has no name '{name}': add it to NAMES")
    module, _, attribute = NAMES[name].partition(":")
    try:
        found = import_module(module)
        return getattr(found, attribute) if attribute else found
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # an optional package is missing
    except AttributeError:
        pass
    raise ImportError(f"'{NAMES[name]}' does not exist: correct the line of '{name}' in NAMES of tests/bridge.py")


def path_of(name: str) -> str:
    """The name with its module and dots, as `monkeypatch.setattr` and `mock.patch` take it."""
    return NAMES[name].replace(":", ".")


def import_line(name: str) -> str:
    """The statement that imports the name, for code that runs in another process."""
    module, _, attribute = NAMES[name].partition(":")
    return f"from {module} import {attribute} as {name}" if attribute else f"import {module} as {name}"


def outcome_for(u: float, row: Any) -> int:
    """The observation that the random number `u` selects, given its probabilities `row`."""
    return int(__getattr__("draw_outcome")(SimpleNamespace(random=lambda: u), row))


def lookahead_value(
    problem: POMDP, horizon: int, weight: float = 0.0, discount: float = 1.0, leaf: Any = None
) -> float:
    """Value of the start when `horizon` actions are planned exactly, with `weight` per nat of information."""
    graph = __getattr__("Graph")(problem)
    plan = __getattr__("Plan")(graph, Information(weight), discount=discount, leaf=leaf)
    return float(plan.values(np.array([graph.root]), horizon)[0])

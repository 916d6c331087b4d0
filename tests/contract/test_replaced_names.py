"""Every name that the public API had before, and what replaces it: nothing else may vanish."""

from __future__ import annotations

import pytest

import rhoplan

FRONT_ENDS = "renamed with the rebuild of the front ends"

KEPT = """
__version__ make check_problem with_horizon from_arrays from_pymdp Test JointPrior Factor Action END Agent Planner
check_planner Objective Information NegativeEntropy TargetBelief Utility decide evaluate simulate solve Solution
Score load_policy plot_policy advise compare learn pathway report sweep what_if RhoplanError ProblemError
ModelFileError TableError AgentError EvidenceError ImpossibleEvidence LimitError MissingExtra WrongKind
"""
"""Names that stay."""

REPLACED = {
    "Situation": ("Belief", ""),
    "initial": ("POMDP.belief", ""),
    "observe": ("Belief.update", ""),
    "observe_all": ("POMDP.belief", ""),
    "branch": ("Belief.branches", ""),
    "Branch": ("Belief.branches", ""),
    "read_model": ("load", ""),
    "read_pomdp": ("load", ""),
    "read_pomdpx": ("load", ""),
    "read_drn": ("load", ""),
    "parse_model": ("loads", ""),
    "write_model": ("save", ""),
    "write_pomdp": ("save", ""),
    "seen_after": ("from_transition_observation", ""),
    "make_agent": ("agent", ""),
    "AGENTS": ("list_agents", ""),
    "ActionValue": ("ActionValues", ""),
    "Chooser": ("Policy", ""),
    "OwnUtility": ("Objective", ""),
    "PROBLEMS": ("list_problems", ""),
    "PLANNERS": ("list_planners", ""),
    "UTILITIES": ("register", ""),
    "Registered": ("register", ""),
    "Estimate": ("Score", ""),
    "simulate_episodes": ("episodes", ""),
    "Episodes": ("episodes", ""),
    "write_policy": ("Policy.save", ""),
    "Problem": ("POMDP", ""),
    "observe_then_commit": ("DiagnosticProblem", ""),
    "Commit": ("Decision", ""),
    "panel": ("Panel", ""),
    "joined_problem": ("FactoredProblem", ""),
    "Part": ("LocalModel", ""),
    "PartedAction": ("FactoredAction", ""),
    "Picture": ("HTML", FRONT_ENDS),
}
"""Name before: the name that replaces it, and the reason if it is not replaced yet."""

REUSED = {"Decision": ("Recommendation", "")}
"""Names that later mean something else: `Decision` is to be what `Commit` is."""

OUTSIDE = {"Sparse": ("scipy.sparse", "csr_array", "")}
"""Names that another package replaces."""

BEFORE = """
AGENTS Action ActionValue Agent AgentError Branch Chooser Commit Decision END Episodes Estimate EvidenceError Factor
ImpossibleEvidence Information JointPrior LimitError MissingExtra ModelFileError NegativeEntropy Objective
OwnUtility PLANNERS PROBLEMS Part PartedAction Picture Planner Problem ProblemError Registered RhoplanError Score
Situation Solution Sparse TableError TargetBelief Test UTILITIES Utility WrongKind __version__ advise branch
check_planner check_problem compare decide evaluate from_arrays from_pymdp initial joined_problem learn load_policy
make make_agent observe observe_all observe_then_commit panel parse_model pathway plot_policy read_drn read_model
read_pomdp read_pomdpx report seen_after simulate simulate_episodes solve sweep what_if with_horizon write_model
write_policy write_pomdp
"""
"""All public names before the rebuild."""


def exists(path: str) -> bool:
    """Whether a public name, or an attribute of one, is there."""
    name, _, attribute = path.partition(".")
    return name in rhoplan.__all__ and (not attribute or hasattr(getattr(rhoplan, name), attribute))


def test_every_name_of_before_is_kept_or_replaced() -> None:
    assert set(BEFORE.split()) == {*KEPT.split(), *REPLACED, *REUSED, *OUTSIDE}


@pytest.mark.parametrize("name", KEPT.split())
def test_a_kept_name_exists(name: str) -> None:
    assert exists(name)
    assert hasattr(rhoplan, name)


@pytest.mark.parametrize("old", REPLACED)
def test_a_replaced_name_is_gone_and_its_replacement_exists(old: str) -> None:
    new, reason = REPLACED[old]
    if reason and old in rhoplan.__all__:
        pytest.skip(reason)
    assert old not in rhoplan.__all__
    assert not hasattr(rhoplan, old)
    assert exists(new)


@pytest.mark.parametrize("old", REUSED)
def test_a_reused_name_has_its_replacement(old: str) -> None:
    new, reason = REUSED[old]
    if not exists(new):
        pytest.skip(reason)
    assert getattr(rhoplan, new).__name__ != old


@pytest.mark.parametrize("old", OUTSIDE)
def test_a_name_that_another_package_replaces_is_gone(old: str) -> None:
    module, new, reason = OUTSIDE[old]
    if old in rhoplan.__all__:
        pytest.skip(reason)
    assert hasattr(pytest.importorskip(module), new)

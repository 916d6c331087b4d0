"""The functions of the public API that take a problem: they accept names and paths as well as problems."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, TypeAlias, TypedDict, Unpack, overload

from rhoplan.agents.agent import AGENTS
from rhoplan.agents.registry import OTHER_AGENTS, PLANNERS, UTILITIES
from rhoplan.budget import Budget
from rhoplan.budget import Progress as GraphProgress
from rhoplan.errors import AgentError, LimitError, ModelFileError, ProblemError, WrongKind, in_a_row
from rhoplan.evaluation import exact
from rhoplan.evaluation import simulate as simulation
from rhoplan.evaluation.episodes import Episodes, EpisodeStep
from rhoplan.evaluation.score import Score, Scores
from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan.files import replacing
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.io.formats import FORMATS, parse_problem, read_problem
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.io.writer import model_record, write_model
from rhoplan.model import horizon as horizons
from rhoplan.model import validate
from rhoplan.model.belief import Belief, Evidence
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.solution import Progress
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import Policy
from rhoplan.planning.recommendation import Recommendation, recommend
from rhoplan.policies import (
    PolicyLike,
    checked_jobs,
    checked_steps,
    checked_whole,
    names,
    policy_of,
    with_horizon_of,
)
from rhoplan.problems.registry import PROBLEMS, WORKED_MODELS, make
from rhoplan.solutions import Solution, load_policy_file, solved

ProblemLike: TypeAlias = POMDP | Path | str
"""A problem, the name of a built-in problem with its parameters ("tiger", "bandit:n=4"), or the path of a file."""

WRITTEN_FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".pomdp": "pomdp"}
"""The formats that `save` writes, by the ending of the file."""


def resolve_problem(problem: ProblemLike) -> POMDP:
    """`problem` itself, or the problem that a name or a path stands for."""
    if isinstance(problem, POMDP):
        return problem
    if isinstance(problem, str | Path):
        return make(problem)
    raise WrongKind(
        "a problem must be a problem, the name of one or the path of a file; it is "
        f"{shortened(problem)}: see rhoplan.make, load and from_arrays",
        field=("problem",),
    )


def load(path: Path | str, format: str | None = None) -> POMDP:
    """The problem in the file at `path`.

    format: yaml, json, toml, pomdp, pomdpx or drn; by default that of the ending of the file.
    """
    if not isinstance(path, str | Path):
        raise WrongKind(f"path must be the path of a file; it is {shortened(path)}", field=("path",))
    return read_problem(path, None if format is None else _known_format(format))


def loads(model: str | Mapping[str, Any], format: str | None = None) -> POMDP:
    """The problem that a text, or a mapping with the fields of a model file, describes.

    format: that of the text: yaml (the default), json, toml, pomdp, pomdpx or drn.
    """
    if isinstance(model, Mapping):
        if format is not None:
            raise WrongKind("format is that of a text; a mapping has none: leave it out", field=("format",))
        return parse_problem(_as_json(model), file="model", language="json")
    if not isinstance(model, str):
        raise WrongKind(f"a model must be a text or a mapping; it is {shortened(model)}: to read a file use "
                        "rhoplan.load", field=("model",))  # fmt: skip
    return parse_problem(model, file="model", language=_known_format(format or "yaml"))


def save(problem: ProblemLike, path: Path | str) -> None:
    """Write `problem` to the file at `path`, in the format of its ending: .yaml, .json or .pomdp.

    A file that exists is replaced as a whole, or left as it is if writing fails.
    """
    written = WRITTEN_FORMATS.get(Path(path).suffix.lower())
    if written is None:
        raise ModelFileError(f"a problem is written to a file that ends in {in_a_row(WRITTEN_FORMATS)}", file=str(path))
    found = resolve_problem(problem)
    if written == "json":
        text = json.dumps(model_record(found), indent=2, ensure_ascii=False) + "\n"
    else:
        text = write_pomdp(found) if written == "pomdp" else write_model(found)
    try:
        with replacing(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelFileError(f"the file cannot be written: {error.strerror or error}", file=str(path)) from None


def check_problem(problem: ProblemLike) -> None:
    """Raise ProblemError unless the names, priors, likelihoods, rewards and transitions of `problem` are sound.

    Visits the observable states nearest to the initial one, at most `rhoplan.model.limits.MOST_MENUS` of them.
    """
    validate.check_problem(resolve_problem(problem))


def with_horizon(problem: ProblemLike, actions: int) -> POMDP:
    """`problem` cut off after so many actions: then the best terminal action is taken, or the episode ends.

    A first observation that is free and takes no time is not counted. The leaf value is left out.
    """
    return horizons.with_horizon(resolve_problem(problem), actions)


def solve(
    problem: ProblemLike,
    objective: Objective | None = None,
    *,
    gap: float = 1e-3,
    horizon: int | None = None,
    seconds: float = 600.0,
    memory: float = 4e9,
    method: str | None = None,
    check: bool = False,
    progress: Progress | None = None,
) -> Solution:
    """Certified bounds on the optimal value of `problem`, and a policy.

    Parameters
    ----------
    objective
        Reward and weighted information; by default reward alone.
    gap
        The search stops when the bounds are this close.
    horizon
        The most actions, after which a terminal action must be taken or the episode is over; None is no limit. The
        policy is then one of `with_horizon(problem, horizon)`.
    seconds, memory
        Limits of time (without compilation) and of bytes. The bounds reached are valid whenever the search ends, also
        when it is interrupted from the keyboard.
    method
        `reveal` or `many` (observations that leave the hidden state alone, then one terminal action), `errands` or
        `grids` (several hidden factors), `points` (any problem). None chooses.
    check
        Whether independent code verifies both bounds afterwards (all methods but `reveal`).
    progress
        Called with lower bound, upper bound and number of nodes.

    Not covered: weights below 0; with discount 1, problems in which one can go on for ever without a loss.
    """
    return solved(
        resolve_problem(problem), objective, gap=gap, horizon=horizon, seconds=seconds, memory=memory, method=method,
        check=check, progress=progress,
    )  # fmt: skip


class EvaluationOptions(TypedDict, total=False):
    """Keyword arguments of `evaluate`."""

    world: ProblemLike | None
    max_steps: int | None
    memory: float
    seconds: float
    progress: Callable[[GraphProgress], None] | None
    fallback: str | None


@overload
def evaluate(problem: ProblemLike, policy: PolicyLike, **options: Unpack[EvaluationOptions]) -> Score: ...
@overload
def evaluate(
    problem: ProblemLike,
    policy: list[PolicyLike] | tuple[PolicyLike, ...] | Mapping[str, PolicyLike],
    **options: Unpack[EvaluationOptions],
) -> Scores: ...
def evaluate(
    problem: ProblemLike,
    policy: PolicyLike | list[PolicyLike] | tuple[PolicyLike, ...] | Mapping[str, PolicyLike],
    *,
    world: ProblemLike | None = None,
    max_steps: int | None = None,
    memory: float = exact.MEMORY,
    seconds: float = math.inf,
    progress: Callable[[GraphProgress], None] | None = None,
    fallback: str | None = None,
) -> Score | Scores:
    """The exact Score of a policy, computed without simulation; of several a mapping of names to Scores.

    Parameters
    ----------
    policy
        A policy, a solution, an agent or its name, a planner, or a function from a Belief to the name of an action.
        Policies of a problem with a horizon are evaluated in that problem.
    world
        The true model where it is not `problem`, in which the policy believes.
    max_steps
        Steps after which an episode is cut off; by default the problem's own limit.
    memory, seconds
        Limits of the belief graph in bytes, and of the time. Beyond them LimitError is raised.
    progress
        Called about once a second with the number of beliefs, the bytes that they take, and the seconds.
    fallback
        "simulate" estimates the score from 1,000 episodes if a limit is reached; `Score.kind` says so.
    """
    found, truth = resolve_problem(problem), None if world is None else resolve_problem(world)
    steps, budget = checked_steps(max_steps), Budget(memory=memory, seconds=seconds, progress=progress)
    graphs: dict[int | None, BeliefGraph] = {}

    def score(one: PolicyLike) -> Score:
        where, chosen, true_model = _followed(found, one, truth)
        horizon = horizon_of(where)
        if horizon not in graphs:
            graphs[horizon] = BeliefGraph(where, budget=budget)
        graph = graphs[horizon]
        try:
            return exact.evaluate(graph.problem, chosen, world=true_model, max_steps=steps, graph=graph)
        except LimitError:
            if fallback is None:
                raise
        return simulate(where, chosen, world=true_model, max_steps=steps)

    if isinstance(policy, Mapping):
        return Scores({name: score(one) for name, one in policy.items()})
    if isinstance(policy, list | tuple):
        return Scores({name: score(one) for name, one in zip(names(policy), policy, strict=True)})
    return score(policy)


def simulate(
    problem: ProblemLike,
    policy: PolicyLike,
    *,
    episodes: int = 1000,
    seeds: int | Sequence[int] = PUBLISHED_SEEDS,
    world: ProblemLike | None = None,
    max_steps: int | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """The Score of a policy, estimated from `episodes` episodes for each of `seeds`, with standard errors.

    jobs: processes; the result does not depend on it. progress: called with the number of episodes done since the last
    call. The other parameters are those of `evaluate`.
    """
    where, chosen, options = _simulated(problem, policy, world, episodes, seeds, max_steps, jobs)
    return simulation.simulate(where, chosen, progress=progress, **options)


def episodes(
    problem: ProblemLike,
    policy: PolicyLike,
    *,
    episodes: int = 1000,
    seeds: int | Sequence[int] = PUBLISHED_SEEDS,
    world: ProblemLike | None = None,
    max_steps: int | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Episodes:
    """The simulated episodes themselves, one row each; parameters as those of `simulate`."""
    where, chosen, options = _simulated(problem, policy, world, episodes, seeds, max_steps, jobs)
    return simulation.simulate_episodes(where, chosen, progress=progress, **options)


def episode(
    problem: ProblemLike,
    policy: PolicyLike,
    *,
    seed: int = 0,
    world: ProblemLike | None = None,
    max_steps: int | None = None,
) -> Iterator[EpisodeStep]:
    """The steps of one episode: each has belief, action, observation and reward, and can be printed."""
    where, chosen, truth = _followed(problem, policy, world)
    seed, steps = checked_whole("seed", seed, 0), checked_steps(max_steps)
    return simulation.episode(where, chosen, seed=seed, world=truth, max_steps=steps)


def decide(
    problem: ProblemLike,
    agent: PolicyLike = "efe",
    given: Belief | Evidence = (),
    *,
    seed: int = 0,
) -> Recommendation:
    """What to do next and why: the action, the value of every action, and the lead over the second best.

    given: pairs of action and observation, a mapping of them, or a Belief. seed: for planners that sample.
    The values are the policy's own action values; for a policy that has none they look one action ahead.
    """
    found = resolve_problem(problem)
    policy = policy_of(found, agent, seed=checked_whole("seed", seed, 0))
    where, _ = with_horizon_of(policy, found, None)
    belief = policy.belief(given) if isinstance(given, Belief) else where.belief(given=given)
    return recommend(policy, belief)


def load_policy(path: Path | str, problem: ProblemLike) -> Policy:
    """The policy saved at `path`, for the problem that it was made for; see `Policy.save`."""
    return load_policy_file(path, resolve_problem(problem))


def list_problems() -> list[str]:
    """Names of the built-in problems, of the models that ship with the library, and of those that plugins add."""
    return [*PROBLEMS, *WORKED_MODELS]


def register(kind: str, name: str, thing: Any) -> None:
    """Add a problem, an agent, a planner or a utility under `name`, for this process.

    Other distributions add theirs by entry points `rhoplan.problems`, `.agents`, `.planners`, `.utilities` and
    `.commands`. A problem is a function that builds one; an agent what `rhoplan.agent` returns, or another `Planner`; a
    planner a subclass of `Planner`; a utility a function (beliefs, action) -> array.
    """
    tables: dict[str, Any] = {
        "problem": PROBLEMS, "agent": OTHER_AGENTS, "planner": PLANNERS, "utility": UTILITIES
    }  # fmt: skip
    if kind not in tables:
        raise AgentError(f"kind must be one of {in_a_row(tables)}; it is {kind!r}", field=("kind",))
    if name in {"agent": list(AGENTS), "problem": list(WORKED_MODELS)}.get(kind, ()):
        raise AgentError(f"'{name}' is built in; register it under another name", field=("name",))
    if not callable(thing) and kind != "agent":
        raise AgentError(f"a {kind} must be a class or a function; it is {shortened(thing)}", field=("thing",))
    tables[kind].add(name, thing)


def _followed(
    problem: ProblemLike, policy: PolicyLike, world: ProblemLike | None
) -> tuple[POMDP, Policy, POMDP | None]:
    """The problem in which `policy` acts, the policy, and the true model."""
    found, truth = resolve_problem(problem), None if world is None else resolve_problem(world)
    chosen = policy_of(found, policy)
    where, truth = with_horizon_of(chosen, found, truth)
    return where, chosen, truth


def _simulated(
    problem: ProblemLike,
    policy: PolicyLike,
    world: ProblemLike | None,
    episodes: int,
    seeds: int | Sequence[int],
    max_steps: int | None,
    jobs: int,
) -> tuple[POMDP, Policy, dict[str, Any]]:
    """The problem in which `policy` acts, the policy, and the checked options of a simulation."""
    where, chosen, truth = _followed(problem, policy, world)
    checked_jobs(chosen, jobs)
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        seeds = [seeds]
    numbers = tuple(checked_whole("seeds", seed, 0) for seed in seeds)
    count = checked_whole("episodes", episodes, 1)
    steps = checked_steps(max_steps)
    return where, chosen, {"world": truth, "episodes": count, "seeds": numbers, "max_steps": steps, "jobs": jobs}


def _known_format(format: str) -> str:
    known = [*dict.fromkeys(FORMATS.values())]
    if format not in known:
        raise ProblemError(f"format must be one of {in_a_row(known)}; it is {shortened(format)}", field=("format",))
    return format


def _as_json(model: Mapping[str, Any]) -> str:
    """`model` as JSON; arrays of NumPy become lists."""
    try:
        return json.dumps(dict(model), default=lambda one: one.tolist())
    except (TypeError, ValueError, AttributeError):
        raise WrongKind("a model must hold mappings, lists, text and numbers only", field=("model",)) from None

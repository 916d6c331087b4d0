"""`rhoplan solve`: the optimum between certified bounds, and the plan behind it as a file or a drawing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    check_output,
    console,
    json_option,
    load_problem,
    option,
    print_json,
    problem_argument,
    weight_options,
)
from rhoplan.app.cli.solution import EVIDENCE, REVEAL, SCORED, print_check, print_score, print_solution, six
from rhoplan.app.records import plan_score_record, solution_record

if TYPE_CHECKING:
    from rhoplan.evaluation.score import Score
    from rhoplan.model.pomdp import POMDP
    from rhoplan.planning.certified.solve import SolveResult

BETWEEN_LINES = 0.5
"""Seconds between lines that show how far the bounds have come."""

EXPORTED = ".policyx"
"""How the name of a file ends that holds a policy in SARSOP's format."""


@click.command("solve")
@problem_argument
@weight_options
@click.option(
    "--horizon",
    type=int,
    help="Actions at most, and after them one that ends, where there is one; then nothing more is paid.  "
    "[default: no limit]",
)
@option("--gap", type=float, default=1e-3, help="How close the bounds must come.")
@option("--time-limit", type=float, default=600.0, help="Seconds at most, reading included; compiling does not count.")
@option("--memory", type=float, default=4.0, help="GB the graph may take.")
@click.option(
    "--method",
    type=click.Choice(["reveal", "many", "errands", "grids", "points"]),
    help="How: reveal for observe-then-commit problems, many where they have dozens of tests, errands and grids "
    "for several hidden factors, points for any.  [default: many from ten tests on, else reveal where it can be "
    "used, else errands and grids where there are several factors, then points]",
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Write the policy there, for --agent solved:FILE; where it ends in {EXPORTED}, as vectors in SARSOP's format "
    "(method points).",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw bounds and first actions over the belief there, .png, .svg or .pdf, for two or three hidden states "
    "(method points).",
)
@click.option("--check", is_flag=True, help="Check both bounds by other code afterwards (all but reveal).")
@click.option(
    "--score",
    is_flag=True,
    help="Tell what following the plan earns, information included: ten seconds more, in large problems longer (reveal "
    "and many tell the reward always).",
)
@json_option
def solve_command(
    problem: str,
    time_limit: float,
    memory: float,
    method: str | None,
    save: Path | None,
    plot: Path | None,
    check: bool,
    score: bool,
    as_json: bool,
    gap: float,
    **asked: Any,
) -> None:
    """The optimal plan of PROBLEM between certified bounds, with no horizon limit unless given. Weight 0 unless given.

    Ctrl-C stops with the bounds reached.
    """
    from rhoplan.belief_math.information import per_nat
    from rhoplan.planning import clock
    from rhoplan.planning.certified.solve import solve

    _load_reader(problem)
    begin = time.monotonic()
    loaded = load_problem(problem)
    reading = time.monotonic() - begin
    if not (time_limit > 0 and 0 < memory < math.inf):
        raise click.UsageError("--time-limit and --memory must be numbers above 0")
    asked["weight"] = asked["weight"] or 0.0
    asked["discount"] = loaded.discount if asked["discount"] is None else asked["discount"]
    if save or plot or check:
        method = _with_policy(loaded, save, plot, method, asked["horizon"])
    checking = clock.now()
    _check_wishes(loaded, save, plot, deadline=checking + time_limit - reading, **asked)
    left = max(time_limit - reading - (clock.now() - checking), 0.0)
    out, told = console(), [0.0, 0.0]

    def tell(lower: float, upper: float, nodes: int) -> None:
        if not as_json and out.is_terminal and time.monotonic() > told[0] + BETWEEN_LINES:
            out.print(f"  between {six(lower)} and {six(upper)}, {nodes:,} nodes", style="dim")
            told[0] = time.monotonic()

    def tell_compiling() -> None:
        if not as_json and out.is_terminal and told[1] == 0:
            out.print("  compiling the planner, once", style="dim")
            told[1] = 1.0

    with clock.telling(tell_compiling):
        solution = solve(
            loaded, weight=per_nat(asked["weight"], asked["unit"]), discount=asked["discount"],
            horizon=asked["horizon"], gap=gap, seconds=left, memory=memory * 1e9,
            progress=tell, method=method, check=check,
        )  # fmt: skip
    told_already = solution.method in SCORED
    wanted = score and not told_already and solution.policy is not None and solution.stopped_by != "interrupted"
    with _kept(solution, save, plot):  # first: who reads what is printed may have gone
        if as_json:
            earned = _score(solution.policy) if wanted else None
            print_json(
                {**solution_record(loaded, solution, **asked), "score": earned and plan_score_record(loaded, earned)}
            )
        else:
            print_solution(loaded, solution, **asked)
            if check:
                print_check(solution)
            if reading > time_limit:
                out.print(f"  reading the file took {reading:.1f} s of the {time_limit:g} s allowed", style="bold")
    if save:
        _note_first_look(loaded, save, asked["discount"])
    if not as_json:
        if wanted:
            print_score(
                _score(solution.policy), solution, weight=asked["weight"], discount=asked["discount"], cap=loaded.cap
            )
        elif not told_already and solution.policy is not None:
            out.print("  add --score to see what following it earns")
        if save:
            use = "SARSOP's format" if save.suffix.lower() == EXPORTED else f"--agent solved:{save}"
            out.print(f"  policy written: {save} ({use})", soft_wrap=True)
        if plot:
            out.print(f"  drawn: {plot}", soft_wrap=True)
    if solution.certificate is not None and not solution.certificate.holds:
        raise click.exceptions.Exit(1)


def _load_reader(problem: str) -> None:
    """Load what reads such a file: on a busy machine that takes seconds, which say nothing about the file."""
    import rhoplan.problems.registry  # noqa: F401
    from rhoplan.io.formats import FORMATS, parser_of

    parser_of(FORMATS.get(Path(problem).suffix.lower(), "yaml"))


def _with_policy(
    problem: POMDP, save: Path | None, plot: Path | None, method: str | None, horizon: int | None
) -> str | None:
    """The method that a policy to be saved, drawn or checked is made with."""
    from rhoplan.planning.certified.solution import POINTS
    from rhoplan.planning.certified.solve import usual_method

    usual = usual_method(problem) if horizon is None else POINTS
    if method == REVEAL:
        raise click.UsageError("--save, --plot and --check are not for method reveal: leave --method out")
    if plot or (save and save.suffix.lower() == EXPORTED):
        what = "--plot" if plot else f"--save FILE{EXPORTED}"
        if method == EVIDENCE:
            raise click.UsageError(f"{what} is for method points; method is many")
        if method is None and usual == EVIDENCE:
            raise click.UsageError(
                f"{what} is for method points; with so many tests method is many (--method points tries all the same)"
            )
        return POINTS
    return POINTS if method is None and usual == REVEAL else method


def _check_wishes(
    problem: POMDP,
    save: Path | None,
    plot: Path | None,
    *,
    deadline: float,
    weight: float,
    unit: str,
    discount: float,
    horizon: int | None,
) -> None:
    """Refuse what could not be written, before the work is done; what takes until `deadline` to find out is tried."""
    for path in (save, plot):
        if path:
            check_output(path, problem.spec)
    if save:
        _check_ending(save)
    if save and save.suffix.lower() == EXPORTED:
        from rhoplan.io.policy_writer import check_export

        check_export(weight=weight, discount=discount, horizon=horizon)
    if plot:
        from rhoplan.model.horizon import with_horizon
        from rhoplan.present.policy_plot import check_plot

        drawn = problem if horizon is None else with_horizon(problem, horizon)
        check_plot(drawn, plot, weight=weight, discount=discount, deadline=deadline)


def _check_ending(save: Path) -> None:
    """Refuse a policy that would be taken for a problem by its name."""
    from rhoplan.problems.registry import FILE_ENDINGS

    if save.suffix.lower() in FILE_ENDINGS:
        raise click.UsageError(f"--save must not end as problem files do ({', '.join(FILE_ENDINGS)}); it is '{save}'")


@contextmanager
def _kept(solution: SolveResult, save: Path | None, plot: Path | None) -> Iterator[None]:
    """Write the policy to a file, and draw it; what went wrong is told after the block, which tells the bounds."""
    unwritten: BaseException | None = None
    try:
        _keep(solution, save, plot)
    except (Exception, KeyboardInterrupt) as error:
        unwritten = error
    try:
        yield
    finally:
        if unwritten:
            raise unwritten


def _keep(solution: SolveResult, save: Path | None, plot: Path | None) -> None:
    if (save or plot) and (lacking := _lacking(solution)):
        raise click.UsageError(lacking)
    if save:
        _write(save, lambda: _save(solution.policy, save))
    if plot:
        _write(plot, lambda: _draw(solution.policy, plot))


def _lacking(solution: SolveResult) -> str | None:
    """Why there is no policy to save or to draw; None where there is one."""
    if solution.policy is not None:
        return None
    stopped = solution.stopped_by == "interrupted"
    why = (
        "it was stopped before there was one" if stopped else "there was not enough time or memory for one: allow more"
    )
    return f"--save and --plot need a policy; {why}"


def _write(path: Path, write: Callable[[], None]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise click.UsageError(f"cannot write '{path}': {error.strerror or error}") from None


def _save(policy: object, path: Path) -> None:
    from rhoplan.files import write_text
    from rhoplan.io.policy_writer import write_policy
    from rhoplan.planning.asked import BoundedPolicy
    from rhoplan.planning.certified.solved import SolvedPolicy

    if path.suffix.lower() == EXPORTED:
        assert isinstance(policy, SolvedPolicy)  # of method points
        write_text(path, write_policy(policy))
    else:
        assert isinstance(policy, BoundedPolicy)
        policy.save(path)


def _note_first_look(problem: POMDP, save: Path, discount: float) -> None:
    """Say where vectors count a first look as a step, which takes none here."""
    if save.suffix.lower() == EXPORTED and problem.looks_first:
        click.echo(
            f"note: in {save} the first look takes a step: its vectors give {discount:g} times the value of the start",
            err=True,
        )


def _score(policy: object) -> Score | None:
    """What following `policy` earns; None where somebody does not want to wait for it."""
    from rhoplan.evaluation.plan_score import score_solved
    from rhoplan.planning.asked import BoundedPolicy

    assert isinstance(policy, BoundedPolicy)
    try:
        return score_solved(policy)
    except KeyboardInterrupt:
        return None


def _draw(policy: object, path: Path) -> None:
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.present.policy_plot import plot_policy

    assert isinstance(policy, SolvedPolicy)  # method points gives one
    plot_policy(policy, path)

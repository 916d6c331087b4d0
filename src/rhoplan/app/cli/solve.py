"""`rhoplan solve`: the optimum between certified bounds, and the plan behind it as a file or a drawing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    check_output,
    console,
    json_option,
    load_problem,
    number,
    option,
    percent,
    print_cut_off,
    print_json,
    problem_argument,
    signed,
    weight_options,
)
from rhoplan.app.records import solution_record

if TYPE_CHECKING:
    from rhoplan.model.problem import Problem
    from rhoplan.planning.certified.solve import Solution
    from rhoplan.scoring.solved import PlanScore

LONG = 5.0
"""Seconds of compiling, not counted in the time of the work, from which on they are told: loading takes less."""

BETWEEN_LINES = 0.5
"""Seconds between lines that show how far the bounds have come."""

ROUNDS = {
    "errands": ("plan", "by one hidden factor after the other"),
    "grids": ("level", "on a grid of beliefs for each hidden factor"),
    "points": ("trial", "by bounds carried from belief to belief"),
    "range": ("plan", "by the range of rewards"),
}
"""What a round is called, and how each method works."""

WHY = {
    "interrupted": "stopped from the keyboard", "method": "this method goes no further",
    "precision": "rounding lets them come no nearer",
}  # fmt: skip
"""Why bounds did not meet where nothing ran out."""

UNCHECKED = {"range": "the range of rewards"}
"""Where bounds come from that no other code checks."""

REVEAL, EVIDENCE = SCORED = "reveal", "many"
"""The methods for observe-then-commit problems, which score their plan."""

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
    "--score", is_flag=True, help="Tell what following the plan earns: some seconds more (reveal and many always do)."
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
    from rhoplan.belief.information import per_nat
    from rhoplan.planning.certified.solve import solve
    from rhoplan.planning.clock import telling

    begin = time.monotonic()
    loaded = load_problem(problem)
    reading = time.monotonic() - begin
    if not (time_limit > 0 and 0 < memory < math.inf):
        raise click.UsageError("--time-limit and --memory must be numbers above 0")
    asked["weight"] = asked["weight"] or 0.0
    asked["discount"] = loaded.discount if asked["discount"] is None else asked["discount"]
    if save or plot or check:
        method = _with_policy(loaded, save, plot, method, asked["horizon"])
    _check_wishes(loaded, save, plot, **asked)
    out, told = console(), [0.0, 0.0]

    def tell(lower: float, upper: float, nodes: int) -> None:
        if not as_json and out.is_terminal and time.monotonic() > told[0] + BETWEEN_LINES:
            out.print(f"  between {_six(lower)} and {_six(upper)}, {nodes:,} nodes", style="dim")
            told[0] = time.monotonic()

    def tell_compiling() -> None:
        if not as_json and out.is_terminal and told[1] == 0:
            out.print("  compiling the planner, once", style="dim")
            told[1] = 1.0

    with telling(tell_compiling):
        solution = solve(
            loaded, weight=per_nat(asked["weight"], asked["unit"]), discount=asked["discount"],
            horizon=asked["horizon"], gap=gap, seconds=max(time_limit - reading, 0.0), memory=memory * 1e9,
            progress=tell, method=method, check=check,
        )  # fmt: skip
    lacking = _lacking(solution) if save or plot else None
    if save and not lacking:
        _write(save, lambda: _save(solution.policy, save))
        _note_first_look(loaded, save, asked["discount"])
    if plot and not lacking:
        _write(plot, lambda: _draw(solution.policy, plot))
    told_already = solution.method in SCORED
    wanted = score and not told_already and solution.policy is not None and solution.stopped_by != "interrupted"
    if as_json:
        earned = _score(solution.policy) if wanted else None
        print_json({**solution_record(loaded, solution, **asked), "score": earned and asdict(earned)})
    else:
        _print_solution(loaded, solution, **asked)
        if check:
            _print_check(solution)
        if reading > time_limit:
            out.print(f"  reading the file took {reading:.1f} s of the {time_limit:g} s allowed", style="bold")
    if lacking:
        raise click.UsageError(lacking)
    if not as_json:
        if wanted:
            _print_score(_score(solution.policy), asked["discount"])
        elif not told_already and solution.policy is not None:
            out.print("  what following it earns: --score")
        if save:
            use = "SARSOP's format" if save.suffix.lower() == EXPORTED else f"--agent solved:{save}"
            out.print(f"  policy written: {save} ({use})", soft_wrap=True)
        if plot:
            out.print(f"  drawn: {plot}", soft_wrap=True)
    if solution.certificate is not None and not solution.certificate.holds:
        raise click.exceptions.Exit(1)


def _with_policy(
    problem: Problem, save: Path | None, plot: Path | None, method: str | None, horizon: int | None
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
    problem: Problem,
    save: Path | None,
    plot: Path | None,
    *,
    weight: float,
    unit: str,
    discount: float,
    horizon: int | None,
) -> None:
    """Refuse what could not be written, before the work is done."""
    for path in (save, plot):
        if path:
            check_output(path, problem.spec)
    if save:
        _check_ending(save)
    if save and save.suffix.lower() == EXPORTED:
        from rhoplan.io.policy_writer import check_export

        check_export(weight=weight, discount=discount, horizon=horizon)
    if plot:
        from rhoplan.report.policy_plot import check_plot

        check_plot(problem, plot, weight)


def _check_ending(save: Path) -> None:
    """Refuse a policy that would be taken for a problem by its name."""
    from rhoplan.problems.registry import FILE_ENDINGS

    if save.suffix.lower() in FILE_ENDINGS:
        raise click.UsageError(f"--save must not end as problem files do ({', '.join(FILE_ENDINGS)}); it is '{save}'")


def _lacking(solution: Solution) -> str | None:
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


def _note_first_look(problem: Problem, save: Path, discount: float) -> None:
    """Say where vectors count a first look as a step, which takes none here."""
    if save.suffix.lower() == EXPORTED and problem.looks_first:
        click.echo(
            f"note: in {save} the first look takes a step: its vectors give {discount:g} times the value of the start",
            err=True,
        )


def _score(policy: object) -> PlanScore | None:
    """What following `policy` earns; None where somebody does not want to wait for it."""
    from rhoplan.planning.certified.errand_policy import ErrandPolicy
    from rhoplan.planning.certified.lattice.policy import GridPolicy
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.scoring.solved import score_solved

    assert isinstance(policy, SolvedPolicy | GridPolicy | ErrandPolicy)
    try:
        return score_solved(policy)
    except KeyboardInterrupt:
        return None


def _print_score(score: PlanScore | None, discount: float) -> None:
    if score is None:
        console().print("  what following it earns was not worked out: stopped from the keyboard", style="bold")
        return
    exact = score.kind == "exact"

    def mean(value: float, error: float) -> str:
        return signed(value) if exact else f"{signed(value)} ± {number(error)}"

    faded = f" ({mean(score.discounted, score.discounted_se)} discounted)" if discount != 1 else ""
    steps = number(score.steps, 1) if exact else f"{number(score.steps, 1)} ± {number(score.steps_se, 1)}"
    how = "exact" if exact else f"estimated from {score.episodes:,} episodes, ± standard error"
    console().print(f"  following it earns {mean(score.reward, score.reward_se)}{faded} in {steps} steps; {how}")
    if score.truncated > 0:
        console().print(f"  {percent(score.truncated)} of cases are cut off after {score.cap} steps")


def _draw(policy: object, path: Path) -> None:
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.report.policy_plot import plot_policy

    assert isinstance(policy, SolvedPolicy)  # method points gives one
    plot_policy(policy, path)


def _print_solution(
    problem: Problem, solution: Solution, *, weight: float, unit: str, discount: float, horizon: int | None
) -> None:
    out = console()
    goal = "reward" if not weight else f"reward + {weight:g} {problem.unit} per {unit[:-1]} of information"
    goal += f", discount {discount}" if discount != 1 else ""
    limit = "with no horizon limit" if horizon is None else f"of at most {horizon} action{'s' * (horizon > 1)}"
    out.print(f"{problem.spec}: best plan {limit} for {goal}", style="bold")
    out.print(f"  value    {_value(solution)}")
    if not solution.converged:
        why = WHY.get(solution.stopped_by, f"{solution.stopped_by} ran out")
        out.print(f"  the bounds did not meet within {solution.gap:g}: {why}", style="bold")
    if solution.method in SCORED:
        undiscounted = " (not discounted)" if discount != 1 else ""
        out.print(
            f"  the plan behind the lower bound: reward {signed(solution.reward)}{undiscounted}, "
            f"tests {number(solution.tests)}, success {percent(solution.success)}, first action {solution.first}"
        )
        print_cut_off(problem, {"  that plan": solution.truncated}, None)
        rounds = f"{several(solution.symmetries, 'symmetry')}, {several(solution.rounds, 'round')}"
        trials = several(solution.rounds, "trial")
        how = "" if solution.method == REVEAL else ", by branch and bound over evidence"
        work = f"{rounds if solution.method == REVEAL else trials}, {solution.seconds:.1f} s{how}"
    else:
        if math.isfinite(solution.lower):
            out.print(f"  the plan behind the lower bound begins with {solution.first}")
        names, hows = zip(*(ROUNDS[method] for method in solution.method.split(" and ")), strict=True)
        shares = zip(solution.shares or (solution.rounds,), names, strict=True)
        rounds = "".join(f"{several(share, name)}, " for share, name in shares if share)
        short = "range" in solution.method and solution.stopped_by in ("time", "memory")
        more = ": there was not enough time or memory for more" if short else ""
        work = f"{rounds}{solution.seconds:.1f} s, {', and '.join(hows)}{more}"
    if solution.compiling >= LONG:
        work += f" (and {solution.compiling:.1f} s to compile the planner, once)"
    out.print(f"  {several(solution.nodes, 'node')}, {work}")


def _value(solution: Solution) -> str:
    """The bounds in words."""
    known, apart = [math.isfinite(bound) for bound in (solution.lower, solution.upper)], solution.upper - solution.lower
    lower, upper = _six(solution.lower), _six(solution.upper)
    if all(known):
        return f"between {lower} and {upper} (gap {apart:.1e})"
    if known[0]:
        return f"at least {lower}; no upper bound is known"
    return f"at most {upper}; no lower bound is known" if known[1] else "not known yet"


def _six(number: float) -> str:
    """A number with six digits; what rounds to 0 has no sign."""
    text = f"{number:.6f}"
    return text.removeprefix("-") if float(text) == 0 else text


def several(number: int, what: str) -> str:
    """`1 node`, `2,000 nodes`, `2 symmetries`."""
    return f"{number:,} {what if number == 1 else what.removesuffix('y') + 'ies' if what.endswith('y') else what + 's'}"


def _print_check(solution: Solution) -> None:
    """What other code found about the bounds, and which of them it does not look at."""
    out, found = console(), solution.certificate
    methods = solution.method.split(" and ")
    followed = not {"grids", "points"} & set(methods)
    left_out = " and ".join(UNCHECKED[method] for method in methods if method in UNCHECKED)
    if found is not None:
        lows = several(found.vectors, "situation" if followed else "vector") + (" of the plan" if followed else "")
        verdict = "hold" if found.holds else "DO NOT HOLD: please report this"
        whose = f" of {' and '.join(method for method in methods if method not in UNCHECKED)}" if left_out else ""
        highs = f" and {several(found.points, 'point')}" if found.points else ""
        seen = f"{lows}{highs} backed up once more"
        out.print(f"  checked by other code: the bounds{whose} {verdict} ({seen})")
    if left_out:
        follow = "; --score follows the plan" if solution.policy is not None else ""
        out.print(f"  not checked: no other code looks at the bounds of {left_out}{follow}")

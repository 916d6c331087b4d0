"""What `rhoplan solve` prints of a solution: bounds, work, checks, and what following the plan earns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rhoplan.app.cli.common import console, number, percent, print_cut_off, signed
from rhoplan.app.records import rarest

if TYPE_CHECKING:
    from rhoplan.evaluation.score import Score
    from rhoplan.model.pomdp import POMDP
    from rhoplan.planning.certified.solve import SolveResult

LONG = 5.0
"""Seconds of compiling, not counted in the time of the work, from which on they are told: loading takes less."""

ROUNDS = {
    "errands": ("plan", "by one hidden factor after the other"),
    "grids": ("level", "on a grid of beliefs for each hidden factor"),
    "points": ("trial", "by bounds carried from belief to belief"),
    "range": ("plan", "by the range of rewards"),
}
"""What a round is called, and how each method works."""

WHY = {
    "interrupted": "stopped from the keyboard", "method": "this method goes no further",
    "memory": "it is too large for the memory allowed",
    "precision": "rounding lets them come no nearer",
}  # fmt: skip
"""Why bounds did not meet, where it is not the time that ran out."""

UNCHECKED = {"range": "the range of rewards"}
"""Where bounds come from that no other code checks."""

REVEAL, EVIDENCE = SCORED = "reveal", "many"
"""The methods for observe-then-commit problems, which score their plan."""

ALARM = "PLEASE REPORT THIS"

FAR, ROUNDING = 5.0, 1e-9
"""Standard errors that chance does not explain, and shares of a value that rounding does."""


def print_solution(
    problem: POMDP, solution: SolveResult, *, weight: float, unit: str, discount: float, horizon: int | None
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
        more = f": there was not enough {solution.stopped_by} for more" if short else ""
        work = f"{rounds}{solution.seconds:.1f} s, {', and '.join(hows)}{more}"
    if solution.compiling >= LONG:
        work += f" (and {solution.compiling:.1f} s to compile the planner, once)"
    out.print(f"  {several(solution.nodes, 'node')}, {work}")


def _value(solution: SolveResult) -> str:
    """The bounds in words."""
    known, apart = [math.isfinite(bound) for bound in (solution.lower, solution.upper)], solution.upper - solution.lower
    lower, upper = six(solution.lower), six(solution.upper)
    if all(known):
        return f"between {lower} and {upper} (gap {apart:.1e})"
    if known[0]:
        return f"at least {lower}; no upper bound is known"
    return f"at most {upper}; no lower bound is known" if known[1] else "not known yet"


def six(number: float) -> str:
    """A number with six digits; what rounds to 0 has no sign."""
    text = f"{number:.6f}"
    return text.removeprefix("-") if float(text) == 0 else text


def several(number: int, what: str) -> str:
    """`1 node`, `2,000 nodes`, `2 symmetries`."""
    return f"{number:,} {what if number == 1 else what.removesuffix('y') + 'ies' if what.endswith('y') else what + 's'}"


def print_check(solution: SolveResult) -> None:
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
    elif not left_out:
        out.print("  not checked: stopped before that was done", style="bold")
    if left_out:
        follow = "; --score follows the plan" if solution.policy is not None else ""
        out.print(f"  not checked: no other code looks at the bounds of {left_out}{follow}")


def print_score(score: Score | None, solution: SolveResult, *, weight: float, discount: float, cap: int) -> None:
    """What following the plan behind the lower bound of `solution` earns, and whether that is too little."""
    if score is None:
        console().print("  what following it earns was not worked out: stopped from the keyboard", style="bold")
        return
    exact = score.kind == "exact"

    def mean(value: float, error: float) -> str:
        return signed(value) if exact else f"{signed(value)} ± {number(error)}"

    faded = f" ({mean(score.discounted, score.error('discounted'))} discounted)" if discount != 1 else ""
    learned = mean(score.information, score.error("information")).removeprefix("+")
    faded += f" and {learned} nats{' discounted' if discount != 1 else ''}" if weight else ""
    steps = number(score.steps, 1) if exact else f"{number(score.steps, 1)} ± {number(score.error('steps'), 1)}"
    how = "exact" if exact else f"estimated from {score.episodes:,} episodes, ± standard error"
    console().print(f"  following it earns {mean(score.reward, score.error('reward'))}{faded} in {steps} steps; {how}")
    if weight:
        console().print(f"  which is worth {mean(score.value, score.error('value'))} with information paid")
    if score.truncated > 0:
        known = f"adds or takes {score.value_tail:.2g} at most" if score.value_tail >= 0 else "is not known"
        cut = f"  {percent(score.truncated)} of cases are cut off after {cap} steps"
        console().print(f"{cut}: what comes later {known}")
    from rhoplan.planning.certified.lattice.policy import GridPolicy

    grids = isinstance(solution.policy, GridPolicy)
    if rarest(score) > 0 and not grids and FAR * score.error("value") < solution.upper - solution.own:
        rare = f"what comes up in fewer than 1 of {math.floor(1 / rarest(score))} cases may be missing"
        proven = f"from {six(solution.own)} to {six(solution.upper)} is proven"
        console().print(f"  ± is of what was drawn: {rare}; {proven}")
    if _is_less(score, solution.lower):
        if not _is_less(score, solution.own):
            why = "that is of the range of rewards, not of this plan"
        elif grids:
            why = "a policy on grids aims at it, no more"
        else:
            why = ALARM if exact else f"payments too rare for so few episodes may be missing; else {ALARM}"
        console().print(f"  which is less than the lower bound: {why}", style="bold")


def _is_less(score: Score, bound: float) -> bool:
    """Whether a plan earns less than `bound`, beyond rounding, what chance explains and what cut-off cases may have
    paid later."""
    more = FAR * score.error("value") + (score.value_tail if score.truncated > 0 else 0.0)
    return score.value + more < bound - ROUNDING * max(abs(bound), 1.0)

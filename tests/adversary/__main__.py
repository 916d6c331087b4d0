"""`python3 run.py adversary --seconds N`: models one after another until the time is up, and what differs."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from adversary.case import draw_case
from adversary.crowd import crowd_file
from adversary.examine import CHECKS, examine
from adversary.files import as_yaml
from adversary.freeze import freeze
from adversary.ledger import Difference, Ledger

BEYOND_SUITE = 300
"""The first seed that the test suite leaves out."""

TOLD_EVERY = 10.0
"""Seconds between lines that say how far it is."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("run.py adversary", description="Random model files against an exact oracle.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on (60)")
    parser.add_argument("--seed", type=int, default=BEYOND_SUITE, help=f"seed of the first model ({BEYOND_SUITE})")
    parser.add_argument("--models", type=int, help="how many models at most")
    parser.add_argument("--jobs", type=int, default=1, help="processes to use (1)")
    parser.add_argument("--kinds", nargs="+", default=[], choices=list(CHECKS), help="what to check, for every model")
    parser.add_argument("--freeze", type=Path, metavar="FILE", help="write --models models (300) with exact answers")
    parser.add_argument("--out", type=Path, default=Path("out/adversary"), help="where models that differ are written")
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.jobs < 1 or options.seed < 0:
        parser.error("--seconds and --jobs must be above 0, and --seed not below")
    if options.freeze:
        print(f"{freeze(options.freeze, options.models or 300):,} questions")
        return 0
    kinds = tuple(options.kinds)
    total, begin, told = Ledger(), time.monotonic(), 0.0
    models = 0
    for ledger in _ledgers(islice(count(options.seed), options.models), kinds, options.jobs):
        total.add(ledger)
        models += 1
        for line in reproductions(ledger, kinds, options.out):
            print(line, flush=True)
        passed = time.monotonic() - begin
        if passed - told >= TOLD_EVERY:
            told = passed
            print(f"{passed:6.0f} s: {_so_far(total, models)}", flush=True)
        if passed >= options.seconds:
            break
    print("\n".join(summary(total, models, options.seed)))
    return 1 if total.differences else 0


def _ledgers(seeds: Iterator[int], kinds: tuple[str, ...], jobs: int) -> Iterator[Ledger]:
    """What each seed finds, in order."""
    if jobs == 1:
        yield from (examine(seed, kinds) for seed in seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        # A few at a time: the pool would otherwise work through seeds without end.
        while batch := list(islice(seeds, 8 * jobs)):
            yield from pool.starmap(examine, [(seed, kinds) for seed in batch], chunksize=2)


def reproductions(ledger: Ledger, kinds: tuple[str, ...], out: Path) -> Iterator[str]:
    """A line for every difference of one model, with the command that shows it again and the model as a file."""
    for difference in ledger.differences:
        path = _written(difference, out)
        yield f"{difference}; again: python3 run.py adversary --seed {difference.seed} --models 1 " + (
            f"--kinds {difference.kind} (model: {path})"
        )


def _written(difference: Difference, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    is_crowd = difference.kind == "crowd"
    path = out / f"{'crowd' if is_crowd else 'adversary'}-{difference.seed}.yaml"
    record = crowd_file(difference.seed)[0] if is_crowd else draw_case(difference.seed).record
    path.write_text(as_yaml(record), encoding="utf-8")
    return path


def _so_far(total: Ledger, models: int) -> str:
    return f"{models:,} models, {sum(total.checks.values()):,} comparisons, {len(total.differences)} differences"


def summary(total: Ledger, models: int, first: int) -> Iterator[str]:
    """What was compared, by kind, how far apart it was at most, what was left out, and how much differs."""
    yield f"{'kind':10} {'models':>7} {'comparisons':>12}   largest distance, as a share of the terms of the sum"
    for kind in total.models:
        share, seed, what = total.worst.get(kind, (0.0, -1, ""))
        where = f"{share:.1e} ({what}, seed {seed})" if seed >= 0 else "none"
        yield f"{kind:10} {total.models[kind]:7,} {total.checks[kind]:12,}   {where}"
    for reason, times in sorted(total.skipped.items()):
        yield f"left out {times} times: {reason}"
    seeds = sorted({difference.seed for difference in total.differences})
    yield f"{_so_far(total, models)} (seeds {first} to {first + models - 1})"
    if seeds:
        yield f"models that differ: {', '.join(map(str, seeds[:20]))}{', ...' if len(seeds) > 20 else ''}"


if __name__ == "__main__":
    sys.exit(main())

"""Advice on a case as the terminal tells it: what to do next at once, the rest as it is worked out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rhoplan.app.cli.common import BETWEEN_PAIRS, bar, console, number, share, show_rows, signed

if TYPE_CHECKING:
    from rhoplan.advice.case import Adviser
    from rhoplan.advice.first import First
    from rhoplan.advice.journal import Case
    from rhoplan.advice.part import Part
    from rhoplan.model.pomdp import POMDP


def show_case(case: Case, seconds: float) -> None:
    """What to do next at once, then the rest as it is worked out; ctrl-C leaves out what is not there yet."""
    adviser, out = case.adviser(), console()
    with working("planning"):
        first = adviser.part("first")
    try:
        show_first(case.problem, first)
        if first.content.is_test:
            with working("working out what is still to come"):
                ahead = adviser.part("ahead", seconds=seconds)
            show_ahead(case.problem, ahead)
        if "uncertain" in case.problem.details:
            show_doubt(adviser)
        with working("planning by cost alone"):
            plain = adviser.part("cost-only", seconds=seconds)
    except KeyboardInterrupt:
        out.print("the rest was not worked out: stopped")
        return
    if not case.entries:
        show_thresholds(adviser, seconds)
    if plain.content is None:
        out.print(f"by cost alone: {plain.words}", soft_wrap=True)
    elif plain.content != first.content.do:
        out.print(f"by cost alone one would do: {plain.content}")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows on a terminal that work goes on; nothing where output goes elsewhere."""
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        yield
        return
    with console().status(f"{what} (ctrl-C stops)"):
        yield


def show_first(problem: POMDP, part: Part) -> None:
    """Belief, what to do and why, and what stopping means."""
    from rhoplan.advice.notes import Note, notes_of
    from rhoplan.advice.sentences import belief_rows, stop_words
    from rhoplan.advice.shortcuts import result_shortcuts
    from rhoplan.advice.words import counted, money, percents, words_for

    advice: First = part.content
    out, unit, said = console(), problem.unit, words_for(problem)
    out.print()
    for state, part_of, chance in belief_rows(advice.belief):
        out.print(f"  {state:<24} {bar(part_of, 30):<30} {chance}")
    out.print(f"  if you stop now: {stop_words(problem, advice.stop)}")
    if advice.given:
        out.print(f"  so far: {counted(len(advice.given), said['test'])} for {money(advice.spent, unit)}")
    verb = "DO NEXT" if advice.is_test else "COMMIT"
    out.print(f"\n{verb}: {advice.do}", style="bold")
    if advice.is_test:
        for line in notes_of(problem).get(advice.do, Note()).lines:
            out.print(line, soft_wrap=True)
    out.print(f"because {advice.reason}")
    out.print(advice.beside)
    if advice.second is not None and advice.second.disagrees:
        out.print(advice.second.words, soft_wrap=True)
    if part.words:
        out.print(part.words, soft_wrap=True)
    chances = percents([result.probability for result in advice.results])
    short = result_shortcuts(problem, advice) if advice.is_test else []
    for key, result, chance in zip(short, advice.results, chances, strict=True):
        out.print(f"  {key or ' '}  {result.outcome:<22} {chance:>8}  then {result.then}")
    for test, others in advice.waiting.items():
        gone = [name for name in others if name in advice.unavailable]
        why = f", and {', '.join(gone)} is not available" if gone else ""
        out.print(f"  {test} waits for {', '.join(others)}{why}")
    if not advice.is_test:
        out.print(f"type stop to commit to {advice.do}, or enter another {said['test']}'s result as TEST=OUTCOME")


def show_ahead(problem: POMDP, part: Part) -> None:
    """What is still to come, and what kind of numbers that is."""
    from rhoplan.advice.sentences import ahead_words
    from rhoplan.advice.words import money, words_for

    out, ahead = console(), part.content
    if ahead is None:
        out.print(f"still to come: {part.words}", soft_wrap=True)
        return
    kind = {"bounded": " by this plan", "estimated": ", estimated"}.get(part.kind, "")
    out.print(f"still to come{kind}: {ahead_words(problem, ahead)}")
    if part.sampled:
        se, tests = part.sampled.se, words_for(problem)["tests"]
        out.print(f"{part.words}; standard errors {number(se['tests'], 2)} {tests}, {money(se['cost'], problem.unit)}")
    if ahead.cut_off:
        out.print(ahead.cut_off, soft_wrap=True)


def own_prior(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, float] | None:
    """Chances of states from `STATE=SHARE,STATE=SHARE`; None where nobody gives any."""
    if value is None:
        return None
    found: dict[str, float] = {}
    for item in filter(None, (part.strip(", \t\n") for part in BETWEEN_PAIRS.split(value))):
        state, equals, chance = (part.strip() for part in item.rpartition("="))
        if not equals or not state or state in found:
            raise click.BadParameter(f"a prior must read STATE=SHARE, each state once; it reads '{value}'")
        found[state] = share(ctx, param, chance)
    if not found:  # such as an empty variable of a shell: a case without its own prior must not pass for one with it
        raise click.BadParameter("a prior must read STATE=SHARE, each state once; it is empty")
    return found


def show_start(case: Case) -> None:
    """What is this case's own at the start."""
    from rhoplan.advice.start import start_words

    for line in start_words(case.model, case.prior, case.known):
        console().print(line, soft_wrap=True)


def show_thresholds(adviser: Adviser, seconds: float = 20.0) -> None:
    """Below which chance nobody tests, and above which; nothing where the model has no such thresholds."""
    from rhoplan.advice.parts import part

    found = part(adviser, "thresholds", seconds=seconds)
    if found.content is not None:
        console().print(found.content.words, soft_wrap=True)


def show_doubt(adviser: Adviser) -> None:
    """How often the next action is right within what the model says of its numbers."""
    from rhoplan.advice.parts import part

    with working("drawing versions of the numbers"):
        found = part(adviser, "uncertainty")
    if found.sampled:
        drawn = f"estimated, n = {found.sampled.episodes:,}, seed {found.sampled.seed}"
        console().print(f"{found.words} ({drawn}); rhoplan uncertainty tells more", soft_wrap=True)


def show_options(problem: POMDP, advice: First) -> None:
    """The table of all tests; with bounds on what each is worth where they are what is known."""
    from rhoplan.advice.words import words_for

    known = advice.bounds
    rows = [
        [
            *[o.test, number(o.cost), signed(o.decides), number(o.information), signed(o.weighted), signed(o.net)],
            *([signed(known[o.test][1] - advice.stop.value)] if known else []),
        ]
        for o in advice.options
    ]
    more = ["net at most"] if known else []
    show_rows(
        [words_for(problem)["test"], "cost", "decides", "informs (nats)", "x weight", "net", *more], rows, numbers=1
    )
    console().print(
        f"net = -cost + decides + x weight, in {problem.unit}, beyond stopping now with {advice.stop.commit}"
    )
    if known:
        console().print("decides and net are those of plans that were found: at least so much")

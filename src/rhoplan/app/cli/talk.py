"""`rhoplan advise` and `rhoplan replay`: a case as a conversation in the terminal, kept, and checked again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rhoplan.app.cli.common import (
    DECIDING,
    check_not_read,
    console,
    is_read,
    load_problem,
    one_agent,
    option,
    print_json,
    problem_argument,
    with_adviser,
)
from rhoplan.app.cli.starting import given_option, known_option, prior_option
from rhoplan.app.cli.telling import show_case, show_options, show_start, show_thresholds
from rhoplan.errors import EvidenceError

if TYPE_CHECKING:
    from rhoplan.advice.journal import Case
    from rhoplan.advice.replay import Replayed
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.model.pomdp import POMDP

HELP = """\
what stands before a result     the result of the recommended test; its name does too
TEST=OUTCOME                    the result of another test
skip TEST, or na TEST           that test is not available (without TEST: the recommended one)
unknown TEST, or dk TEST        that test was run and paid for, but nobody knows its result (also TEST=?)
undo, or undo 2                 take back the last entry, or step 2; those after it are entered again
what if TEST=OUTCOME            what would follow, without entering it
why                             the table of all tests
stop, or a commit's name        end the case with the best commit, or with that one
... because REASON              after any of these: why you do not follow the advice; alone: why you did not
save FILE                       keep the case in a file
quit                            leave; the case is kept where --case says
"""


@click.command("advise")
@problem_argument
@click.option("--case", "case_file", type=click.Path(dir_okay=False, path_type=Path),
              help="File that keeps the case: it is resumed where it exists.")  # fmt: skip
@click.option(
    "--log", type=click.Path(dir_okay=False, path_type=Path), help="JSON lines file that finished cases join."
)
@click.option("--by", metavar="NAME", help="Who decides, for the log.")
@given_option
@prior_option
@known_option
@option("--limit", type=click.FloatRange(min=0, min_open=True), default=20.0,
        help="Seconds for each thing that is told after what to do next.")  # fmt: skip
@option("--memory", type=click.FloatRange(min=0.05), default=1.0,
        help="Gigabytes that planning may take; what does not fit is planned in another way, and says so.")  # fmt: skip
@click.option("--also", multiple=True,
              type=click.Choice(("pathway", "comparison", "sensitivity", "thresholds", "uncertainty")),
              help="With --json: further parts. May be repeated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the advice as one JSON object, each part with its kind.")
@with_adviser
def advise_command(
    problem: POMDP,
    agents: list[BoundAgent],
    case_file: Path | None,
    log: Path | None,
    by: str | None,
    given: list[tuple[str, str]],
    prior: dict[str, float] | None,
    known: list[tuple[str, str]],
    limit: float,
    memory: float,
    also: tuple[str, ...],
    as_json: bool,
) -> None:
    """A case of PROBLEM as a conversation: what to test next and why, until it is time to commit.

    Type `help` for what can be said. Input may be piped in, one entry per line.
    """
    from rhoplan.advice.doubts import doubts
    from rhoplan.advice.journal import Case, load_case

    for path in filter(None, (case_file, log)):
        check_not_read(path, problem.spec)
    adviser = one_agent(agents)
    if case_file and case_file.exists():
        if prior or known:
            raise click.UsageError(f"the case in '{case_file}' has started; --prior and --known are for new ones")
        case = load_case(case_file, problem, adviser if _typed("agent", *DECIDING) else None)
        if _typed("near"):
            case.ask(case.agent.changed(near=adviser.near))
    else:
        case = Case(problem, adviser, prior=prior, known=known)
    case.memory = 1e9 * memory
    for test, outcome in given:
        case.enter(test, outcome)
    if as_json:
        print_json(_all_parts(case, also, limit))
        return
    out, over = console(), case.ended
    if not over:
        for doubt in doubts(problem):
            click.echo(f"caution: {doubt.text}", err=True)
        out.print(f"Type a result's {_typed_for(problem)}; help tells what else can be said, why shows every test.")
        show_start(case)
        show_case(case, limit)
        _converse(case, case_file, limit)
    if case.ended:
        from rhoplan.advice.words import counted, money, words_for

        paid = f"after {counted(len(case.given), words_for(problem)['test'])} for {money(case.spent, problem.unit)}"
        out.print(f"\nCommitted: {case.entries[-1]['commit']}, {paid}")
        if log and not over:
            case.append_to(log, by)
    elif case_file:
        out.print(f"\nThe case is kept in {case_file}")


def _typed_for(problem: POMDP) -> str:
    """What a result of a test can be entered by, in words."""
    from rhoplan.advice.shortcuts import shortcuts

    commits = [commit.name for commit in problem.flat.commits]
    every = [shortcuts(test.outcomes, commits)[0] for test in problem.flat.tests]
    kinds = [kind for kind, is_used in (("number", "1" in every), ("letter", set(every) - {"1"})) if is_used]
    return " or ".join([", ".join(kinds), "name"]) if kinds else "name"


def _all_parts(case: Case, also: tuple[str, ...], limit: float) -> dict[str, Any]:
    """Every part of the advice on the case as it stands; ctrl-C leaves out what is not there yet."""
    from rhoplan.advice.parts import BASIC, parts
    from rhoplan.app.records import part_record

    adviser, told = case.adviser(), list[dict[str, Any]]()
    try:
        for part in parts(adviser, (*BASIC, *dict.fromkeys(also)), seconds=limit):
            told.append(part_record(case.problem, adviser.agent, part))
    except KeyboardInterrupt:
        if not told:
            raise
    return {"problem": case.problem.spec, "parts": told}


def _typed(*names: str) -> bool:
    """Whether the command line says any of these; if it does not say who advises, a case goes on with whom it had."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return any(context.get_parameter_source(name) is typed for name in names)


def _converse(case: Case, case_file: Path | None, limit: float) -> None:
    """Do what the person types until the case ends or they leave."""
    from rhoplan.errors import RhoplanError

    out = console()
    while not case.ended:
        line = _ask()
        if line is None:
            return
        try:
            answer = respond(case, line)
            if case_file:
                case.save(case_file)
        except RhoplanError as error:
            out.print(str(error))
            continue
        except OSError as error:  # the case goes on, whatever the disk says
            out.print(f"it could not be kept: {error.strerror or error}")
            continue
        if answer == "quit":
            return
        if answer:
            out.print(answer)
        elif not case.ended:
            _show_override(case)
            show_case(case, limit)


def _show_override(case: Case) -> None:
    """Say what the advice was where the last entry was something else, and how to say why."""
    last = case.entries[-1] if case.entries else None
    if last and not last["followed"] and not last["why"]:
        console().print(f"the advice was {last['advised']['do']}; because REASON says why you did otherwise")


def _ask() -> str | None:
    """The next line that the person types, None at the end of the input."""
    if sys.stdin.isatty():
        click.echo("\n> ", nl=False)
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:  # the case is kept after every entry
        return None
    return line.strip() if line else None


def respond(case: Case, line: str) -> str:
    """Do what `line` says; text to show, empty where the new advice says it all."""
    line, why = (part.strip() for part in f" {line} ".partition(" because ")[::2])
    words = line.split()
    first = words[0].lower() if words else ""
    rest = line[len(first) :].strip()
    if not first and why:
        case.explain(why)
        return "the reason is kept"
    if line in [
        result.outcome for result in case.adviser().first.results
    ]:  # what is asked for comes before any command
        case.enter(*_pair(case, line), why)
        return ""
    if first in ("", "help", "?"):
        return HELP
    if first in ("quit", "exit"):
        return "quit"
    if first == "undo":
        if rest and not (rest.isascii() and rest.isdigit()):
            return f"undo takes the number of a step; it is '{rest}'"
        case.undo(int(rest) if rest else None)
        return ""
    if first in ("unknown", "dk") or line.lower() in ("don't know", "dont know"):
        from rhoplan.model.belief import UNKNOWN

        named, advice = rest if first in ("unknown", "dk") else "", case.adviser().first
        if not named and not advice.is_test:
            return "unknown needs the name of a test: none is advised"
        case.enter(named or advice.do, UNKNOWN, why)
        return ""
    if first in ("skip", "na") or line.lower() == "not available":
        case.skip(rest if first in ("skip", "na") and rest else case.adviser().first.do, why)
        return ""
    if first == "stop":
        case.stop(rest or None, why)
        return ""
    if first == "save":
        if not rest:
            return "save needs the name of a file"
        if Path(rest).is_dir():
            return f"'{rest}' is a folder; save needs the name of a file"
        if is_read(Path(rest), case.problem.spec):
            return f"'{rest}' is the file of the problem; save needs the name of another"
        case.save(Path(rest))
        return f"kept in {rest}"
    if first == "why":
        show_options(case.problem, case.adviser().first)
        show_thresholds(case.adviser())
        return " "
    if line.lower().startswith("what if "):
        return case.what_if(*_pair(case, line[8:]))
    if line in [commit.name for commit in case.problem.flat.commits]:
        case.stop(line, why)
        return ""
    case.enter(*_pair(case, line), why)
    return ""


def _pair(case: Case, text: str) -> tuple[str, str]:
    """Test and outcome from `TEST=OUTCOME`, an outcome of the recommended test, or its shortcut."""
    if "=" in text:
        test, _, outcome = text.partition("=")
        return test.strip(), outcome.strip()
    from rhoplan.advice.shortcuts import result_shortcuts

    advice = case.adviser().first
    names = [result.outcome for result in advice.results]
    text = text.strip()
    if not advice.is_test:
        raise EvidenceError(f"'{text}' is not understood: enter TEST=OUTCOME, stop, or help")
    if text in names:
        return advice.do, text
    named = dict(zip(result_shortcuts(case.problem, advice), names, strict=True))
    return advice.do, named.get(text.lower(), text) if text else text


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", help="Advise by this model, whatever was kept.  [default: the model kept with each case]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def replay_command(file: Path, model: str | None, as_json: bool) -> None:
    """Compute the advice in a case log again, and report the first difference.

    FILE is a log, a case file, or a case saved in the page. The lines of a log are chained: what was changed, left out,
    doubled, added or moved is told, and so is what is damaged; the cases that can be read are computed.
    """
    from rhoplan.advice.chain import HASH
    from rhoplan.advice.replay import replay_log

    found = replay_log(file, load_problem(model) if model else None)
    if as_json:
        told = {"cases": found.cases, "difference": found.difference, "faults": list(found.faults)}
        print_json({**told, "sealed": found.sealed})
    else:
        for fault in found.faults:
            place = "the log" if fault["case"] is None else f"case {fault['case']}, line {fault['line']}"
            click.echo(f"{place}: {fault['what']}")
        if found.last and HASH in found.last and not found.sealed:
            click.echo("the log's seal is not beside it: whether cases at its end are missing cannot be told")
        _tell_difference(found)
    if not found.is_sound:
        sys.exit(1)


def _tell_difference(found: Replayed) -> None:
    if found.difference is None:
        click.echo(f"{found.cases} {'case' if found.cases == 1 else 'cases'}: the advice is the same throughout")
        return
    difference = found.difference
    click.echo(f"case {difference['case']}, step {difference['step']}: {difference['what']}")
    click.echo(json.dumps({name: difference[name] for name in ("then", "now")}, indent=2, ensure_ascii=False))

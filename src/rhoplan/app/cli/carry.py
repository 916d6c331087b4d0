"""`rhoplan carry`: the plan as one file for a pocket, interactive or as a card of one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rhoplan.app.cli.common import check_page, console, one_agent, option, problem_argument, share, with_adviser
from rhoplan.app.cli.origin import author_option, origin
from rhoplan.app.cli.starting import given_option, known_option, prior_option

if TYPE_CHECKING:
    from rhoplan.agents.agent import BoundAgent
    from rhoplan.model.pomdp import POMDP


def _part(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A share of cases of at least 0; None where nobody gives one."""
    found = None if value is None else share(ctx, param, value)
    if found is not None and not 0 <= found < 1:
        raise click.BadParameter(f"a share of cases must be at least 0 and below 1; it is {value}")
    return found


@click.command("carry")
@problem_argument
@option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("plan.html"),
        help="Where the file goes.")  # fmt: skip
@click.option("--card", is_flag=True, help="A card of one A4 page to print, in large type, instead.")
@click.option("--smallest", callback=_part, metavar="SHARE",
              help="Share of cases below which what follows is left out.  [default: 1e-9]")  # fmt: skip
@given_option
@prior_option
@known_option
@author_option
@with_adviser
def carry_command(
    problem: POMDP,
    agents: list[BoundAgent],
    out: Path,
    card: bool,
    smallest: float | None,
    given: list[tuple[str, str]],
    prior: dict[str, float] | None,
    known: list[tuple[str, str]],
    author: str,
) -> None:
    """Write the whole plan for PROBLEM as one file that needs nothing else: it opens on a telephone, without a network.

    It says what the advisor says, step by step, with undo; --card writes one page of A4 in large type. With --prior,
    --known or --given it starts from one case, and says so.
    """
    from rhoplan.advice.start import Standing
    from rhoplan.files import write_text

    check_page(out, "--out", problem.spec)
    agent, made = one_agent(agents), origin(problem, author)
    standing = Standing(prior, known, given)
    if card:
        from rhoplan.present.carry.card import card_page, make_card

        text, told = card_page(make_card(problem, agent, standing=standing), made), "a card of one page"
    else:
        from rhoplan.advice.carried import SMALLEST, carry
        from rhoplan.present.carry.data import covers_words
        from rhoplan.present.carry.page import carried_page

        found = carry(problem, agent, standing=standing, smallest=SMALLEST if smallest is None else smallest)
        text, told = carried_page(found, made), f"{len(found.places):,} situations. {covers_words(found)}"
    try:
        write_text(out, text)
    except OSError as error:
        raise click.UsageError(f"cannot write '{out}': {error.strerror or error}") from None
    console().print(f"Written: {out}, {len(text.encode()):,} bytes: {told}", soft_wrap=True)

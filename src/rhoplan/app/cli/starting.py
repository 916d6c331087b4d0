"""Options that say where a case stands: its own prior, what is known at the start, and results entered since."""

from __future__ import annotations

import click

from rhoplan.app.cli.plan import parse_evidence
from rhoplan.app.cli.telling import own_prior


def _pairs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of test and outcome, in order."""
    return [pair for text in value for pair in parse_evidence(text)]


given_option = click.option(
    "--given", multiple=True, callback=_pairs, help="Evidence to begin with, in order: test=outcome,test=outcome."
)
prior_option = click.option(
    "--prior", callback=own_prior, metavar="STATE=SHARE",
    help="This case's own chances, such as PE=30%; states that are not named share the rest.",
)  # fmt: skip
known_option = click.option(
    "--known", multiple=True, callback=_pairs,
    help="Results known before the start, which are not paid for: test=outcome,test=outcome.",
)  # fmt: skip

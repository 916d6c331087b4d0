"""All checks of one seed. Decisions and scores are checked for every model, what takes longer for some."""

import traceback
from collections.abc import Callable

from adversary.advice import check_bands, check_compare, check_pathway, check_steps
from adversary.case import Case, draw_case
from adversary.crowd import check_crowd
from adversary.engine import check_decide, check_evaluate, check_merging, check_solve
from adversary.flips import check_flips
from adversary.ledger import Ledger
from adversary.oracle import Doubtful, TooLarge

CHECKS: dict[str, tuple[Callable[[Case, Ledger], None], int]] = {
    "decide": (check_decide, 1),
    "evaluate": (check_evaluate, 1),
    "solve": (check_solve, 2),
    "merging": (check_merging, 3),
    "pathway": (check_pathway, 3),
    "compare": (check_compare, 7),
    "flips": (check_flips, 5),
    "bands": (check_bands, 4),
    "steps": (check_steps, 5),
    "crowd": (check_crowd, 150),
}
"""What is checked, and for one model in how many."""


def examine(seed: int, kinds: tuple[str, ...] = ()) -> Ledger:
    """What the checks of `seed` find; all kinds that are its turn, or the kinds asked for."""
    ledger, case = Ledger(seed), draw_case(seed)
    for kind, (check, every) in CHECKS.items():
        if kind in kinds or (not kinds and seed % every == 0):
            ledger.kind = kind
            ledger.models[kind] += 1
            try:
                check(case, ledger)
            except Doubtful:
                ledger.skipped[f"{kind}: a choice is a doubtful tie"] += 1
            except TooLarge:
                ledger.skipped[f"{kind}: too much evidence for the oracle"] += 1
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                ledger.report(
                    "an error", f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})", "none"
                )
    return ledger

"""Equally likely states and certain yes/no tests, each of the parity of some bits of the state's number.

Whatever has been seen, the belief is uniform over 2^j states: floats of which hardly a digit differs, where a careless
key takes different beliefs for one. The oracle needs no numbers here. A belief is the set of states that are left, as
the bits of a whole number, and the graph must hold as many situations as there are different sets.
"""

import random

import rhoplan
from adversary.case import Case, parsed
from adversary.files import Record
from adversary.ledger import Ledger
from bridge import BoundAgent

BITS, TESTS, HORIZON = 6, 36, 3
"""64 states; about 50,000 situations three tests ahead."""


def crowd_file(seed: int) -> tuple[Record, list[int]]:
    """The model file, and for each test the set of states that answer yes."""
    rng = random.Random(seed)
    names = [f"s{s}" for s in range(2**BITS)]
    yes = [
        sum(1 << s for s in range(2**BITS) if (s & mask).bit_count() % 2)
        for mask in rng.sample(range(1, 2**BITS), TESTS)
    ]
    tests = {
        f"t{k}": {
            "cost": 1,
            "outcomes": ["no", "yes"],
            "likelihood": {name: [1 - (told >> s & 1), told >> s & 1] for s, name in enumerate(names)},
            "repeat": "independent",
        }
        for k, told in enumerate(yes)
    }
    record: Record = {"name": f"crowd-{seed}", "states": names, "tests": tests}
    return {**record, "commits": {"dig": [rng.choice([10, -30]) for _ in names], "leave": [0] * len(names)}}, yes


def check_crowd(case: Case, ledger: Ledger) -> None:
    record, yes = crowd_file(case.seed)
    everything = (1 << 2**BITS) - 1
    sets = layer = {everything}
    for _ in range(HORIZON):
        layer = {left for before in layer for told in yes for left in (before & told, before & ~told) if left}
        sets = sets | layer
    score = rhoplan.evaluate(parsed(record), BoundAgent("planning", HORIZON), max_steps=1)
    ledger.same("number of situations", score.nodes, len(sets))

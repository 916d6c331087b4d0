"""What a reproduction makes of kept results in which bits were flipped: computed again, with the same verdicts.

All studies are run once in peace. Then bits are flipped, one in each file of a random choice of results, and the
command is run again on what is left, until all flips are done; what it gives must be what it gave in peace.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from rhoplan_bench.kills import Ground, results


@dataclass
class Flipped:
    """How many bits were flipped in how many rounds, and what came out wrong."""

    files: int
    flips: int = 0
    rounds: int = 0
    faults: list[str] = field(default_factory=list)


def flip(path: Path, draw: random.Random) -> None:
    """Turn one bit of the file round."""
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def flipped(flips: int, *, seed: int = 0, folder: Path, studies: tuple[str, ...] = ()) -> Flipped:
    """Flip bits in the results of `studies`, all where none is named. folder: an empty one to work in."""
    ground, draw = Ground(folder), random.Random(seed)
    arguments = ("reproduce", *studies, "--out", "out")
    ground.in_peace(*arguments)
    meant = results(folder / "out")
    kept = sorted((folder / "out" / "results").glob("*.json"))
    found = Flipped(len(kept))
    while found.flips < flips:
        hit = draw.sample(kept, min(flips - found.flips, len(kept)))
        for path in hit:
            flip(path, draw)
        found.flips, found.rounds = found.flips + len(hit), found.rounds + 1
        ground.in_peace(*arguments)
        now = results(folder / "out")
        wrong = sorted(name for name in meant.keys() | now.keys() if meant.get(name) != now.get(name))
        found.faults += [f"round {found.rounds}: {name} is not what it was" for name in wrong]
    return found

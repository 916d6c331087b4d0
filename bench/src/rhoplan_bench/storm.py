"""Storm (the package `stormpy`) on one problem: bounds by unfolding beliefs, and by laying a grid over them.

Storm's explicit POMDPs have an observation per state and no discount. So a state here is a state of the problem with
the outcome that led to it, and a discount is a chance to end at every step. Unfolding to more and more beliefs gives
lower bounds, a finer and finer grid gives upper ones. It runs as a program of its own, which can be ended at any time:

    python -m rhoplan_bench.storm FILE.drn SECONDS
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan_bench.sarsop import PRECISION, Reached, allow

MOST_STATES = 20_000
"""States of a translated problem beyond which Storm is not asked."""


def has_storm() -> bool:
    """Whether `stormpy` can be imported."""
    return importlib.util.find_spec("stormpy") is not None


def run_storm(problem: Compiled, discount: float, seconds: float) -> Reached:
    """What Storm comes to on `problem` when it is given `seconds` of CPU for its bounds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.drn"
        try:
            file.write_text("\n".join(drn_lines(problem, discount)) + "\n")
        except OverflowError:
            return Reached(said=f"more than {MOST_STATES:,} states with outcomes")
        command = [sys.executable, "-m", "rhoplan_bench.storm", str(file), str(seconds)]
        told = subprocess.run(command, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{") and line.endswith("}")]
    if not lines:
        return Reached(said="no bounds")
    lower = max((line["value"] for line in lines if line["bound"] == "lower"), default=-np.inf)
    upper = min((line["value"] for line in lines if line["bound"] == "upper"), default=np.inf)
    if not np.isfinite(upper - lower):
        return Reached(said="no finite bounds")
    return Reached(lower, upper, max(line["seconds"] for line in lines))


def drn_lines(problem: Compiled, discount: float) -> Iterator[str]:
    """`problem` in Storm's format: the first state leads to the start, the last one, labelled `over`, is the end."""
    model, where = problem.model, problem.entries
    outcome = problem.branch_outcome[where.outcome]
    kinds = int(problem.branch_outcome.max(initial=0)) + 2
    going = ~np.repeat(problem.ended, problem.sizes)[where.target]
    begin = model.class_state[problem.start_class] + np.flatnonzero(problem.start)
    keys = np.unique(np.concatenate([begin * kinds + kinds - 1, (where.target * kinds + outcome)[going]]))
    if len(keys) > MOST_STATES:
        raise OverflowError
    home_of = np.repeat(np.arange(problem.classes), problem.sizes)
    seen = np.unique(home_of[keys // kinds] * kinds + keys % kinds, return_inverse=True)[1]
    over = len(keys) + 1
    number = {int(key): place + 1 for place, key in enumerate(keys)}
    order = np.argsort(where.source, kind="stable")
    first = np.searchsorted(where.source[order], np.arange(len(model.reward) + 1))
    yield from ("@type: POMDP", "@parameters", "", "@reward_models", "reward", "@nr_states", str(over + 1))
    menus = np.diff(model.class_pair)[home_of[keys // kinds]]
    yield from ("@nr_choices", str(int(menus.sum()) + 2), "@model")
    yield f"state 0 {{{int(seen.max()) + 1}}} [0] init"
    yield "\taction begin [0]"
    for slot in begin.tolist():
        chance = float(problem.start[slot - model.class_state[problem.start_class]])
        yield f"\t\t{number[slot * kinds + kinds - 1]} : {chance!r}"
    for place, key in enumerate(keys.tolist()):
        slot = key // kinds
        home = int(home_of[slot])
        yield f"state {place + 1} {{{seen[place]}}} [0]"
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            row = int(model.pair_reward[pair] + slot - model.class_state[home])
            yield f"\taction a{pair - model.class_pair[home]} [{float(model.reward[row])!r}]"
            chances = {over: 1.0 - discount}
            for entry in order[first[row] : first[row + 1]].tolist():
                ahead = number[int(where.target[entry]) * kinds + int(outcome[entry])] if going[entry] else over
                chances[ahead] = chances.get(ahead, 0.0) + discount * float(where.chance[entry])
            yield from (f"\t\t{ahead} : {chance!r}" for ahead, chance in sorted(chances.items()) if chance > 0)
    yield f"state {over} {{{int(seen.max()) + 2}}} [0] over"
    yield from ("\taction stay [0]", f"\t\t{over} : 1")


def main(file: str, seconds: float) -> None:
    """Print one JSON object per bound as it is found, with the CPU seconds that all bounds so far have taken."""
    import stormpy
    import stormpy.io
    import stormpy.pomdp

    allow(os.getpid(), seconds + 5)
    begin = time.process_time()
    options = stormpy.io.DirectEncodingParserOptions()
    options.build_choice_labeling = True
    model = stormpy.build_model_from_drn(file, options=options)
    (goal,) = stormpy.parse_properties('Rmax=? [F "over"]')
    lower, upper, done, turn = -np.inf, np.inf, False, 0
    while upper - lower > PRECISION and time.process_time() - begin < seconds:
        value = stormpy.pomdp.verify_with_belief_discretization(model, goal, resolution=2**turn).value
        upper = min(upper, value)
        told = {"bound": "upper", "value": value, "seconds": time.process_time() - begin}
        print(json.dumps(told), flush=True)
        if not done:
            found = stormpy.pomdp.verify_with_belief_unfolding(model, goal, max_exploration_size=100 * 4**turn)
            lower, done = max(lower, found.value), found.completed_exploration
            told = {"bound": "lower", "value": found.value, "seconds": time.process_time() - begin}
            print(json.dumps(told), flush=True)
        turn += 1


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))

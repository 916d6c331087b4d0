"""Which commands and requests are recorded, and the files they need.

A case is a command line of rhoplan with `--json`, or a request to its API. Most of them are in the full set alone; the
quick set is what `python3 run.py test` compares every time.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from contract.drawn_files import Interval, pomdp, run_once

ROOT = Path(__file__).parents[2]

SMALL = ("tiger", "testbed", "diagnosis", "bandit", "tileworld:n=3", "navigation", "drilling")
FACTORED = ("rocksample:n=3,k=2", "rocksample-standard:n=4,k=3", "inspection:n=2")
WORKED = ("bridge", "chest-pain", "four-diseases", "leak-search", "printer", "screening-cascade", "security-lane",
          "tiger-doors")  # fmt: skip
PROBLEMS = (*SMALL, *FACTORED, *WORKED)

AGENTS = ("myopic", "planning", "info-gain", "planning-ig", "efe", "epistemic-only")

GIVEN = {
    "tiger": "listen=hear-left,listen=hear-left",
    "diagnosis": "test-1=1",
    "chest-pain": "pain-type=atypical",
    "screening-cascade": "strip=positive",
    "tiger-doors": "listen=hear-left",
}
"""Evidence for problems that are also decided after some results."""

PATIENT = ("--limit", "600")
"""Time enough for everything that `advise` works out, on a busy machine too."""

UNCERTAIN = """\
name: uncertain
unit: EUR
states: [well, ill]
prevalence: {ill: 20% (12-30)}
tests:
  smear: {cost: 5, sensitivity: 0.83 (0.70-0.92), specificity: 90% (80-96)}
  scan: {cost: 12 to 20, tp: 45, fn: 5, fp: 6, tn: 94}
losses:
  leave: {well: 0, ill: 300 to 700}
  treat: {well: 60 to 90, ill: 0}
"""

PLAN = """\
name: learned
target: outcome
positive: ill
tests:
  strip: {cost: 2}
  scan: {cost: 10}
  age: {cost: 0.5}
losses:
  leave: {well: 0, ill: 300}
  treat: {well: 60, ill: 0}
"""


@dataclass(frozen=True)
class Case:
    """A command line, or a request (`POST`, path) with its body.

    files: names of the input files it needs. reads: files that it writes and that belong to the result. limits: bounds
    on the optimal value, where they are known. is_quick: whether it belongs to the quick set as well.
    """

    command: tuple[str, ...]
    files: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    body: Any = None
    limits: Interval | None = None
    is_quick: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        return " ".join(self.command) + (f" {json.dumps(self.body, sort_keys=True)}" if self.body is not None else "")


@dataclass(frozen=True)
class Corpus:
    """All cases, and the texts of the files that they need."""

    cases: tuple[Case, ...]
    files: dict[str, str]


REPRODUCTION = Case(("reproduce", "--out", "reproduced", "--jobs", "1"), reads=("reproduced/verdicts.csv",))
"""The quick reproduction of the paper: every claim with its verdict."""


def corpus() -> Corpus:
    """Every case that `python3 run.py record` records."""
    files = {"uncertain.yaml": UNCERTAIN, "plan.yaml": PLAN, "table.csv": table(0, 400), "more.csv": table(1, 60)}
    documented = dict(documented_models())
    drawn = [*map(pomdp, range(60)), *map(run_once, range(20))]
    wide = [pomdp(seed, states=22) for seed in (61, 65, 66)]  # their upper bounds are interpolated, not hulls
    files |= documented | {one.name: one.text for one in (*drawn, *wide)}
    cases = [REPRODUCTION, *planning(), *descriptions(documented), *advising(), *solving(), *requests()]
    for place, one in enumerate(drawn):
        command = ("solve", one.name, *one.options, "--gap", "1e-3", "--time-limit", "5", "--json")
        cases.append(Case(command, (one.name,), limits=one.value, is_quick=place % 4 < 2))
    for one in wide:
        for options in (one.options, ("--weight", "1")):
            command = ("solve", one.name, *options, "--gap", "2", "--time-limit", "5", "--json")
            cases.append(Case(command, (one.name,), is_quick=True))
    unique = {case.name: case for case in cases}
    return Corpus(tuple(unique.values()), files)


def planning() -> Iterator[Case]:
    """Decisions and exact scores of all agents, for several horizons, weights, units and discounts."""
    yield Case(("list", "--json"), is_quick=True)
    for problem in PROBLEMS:
        is_large = problem in ("rocksample:n=3,k=2", "inspection:n=2", "navigation", "rocksample-standard:n=4,k=3")
        yield Case(("evaluate", problem, "--agent", "all", "--json"), is_quick=not is_large)
        yield from (Case(("decide", problem, "--agent", agent, "--json"), is_quick=True) for agent in AGENTS)
        for horizon, weight, unit, discount in product((1, 3), ("0.3", "5"), ("nats", "bits"), ("1", "0.9")):
            options = ("--horizon", str(horizon), "--weight", weight, "--unit", unit, "--discount", discount, "--json")
            is_corner = horizon == 3 and (weight == "5") == (unit == "bits") == (discount == "0.9")
            if not (horizon == 3 and problem == "drilling"):
                command = ("evaluate", problem, "--agent", "all", *options)
                yield Case(command, is_quick=is_corner and not is_large and problem != "tileworld:n=3")
            for agent in ("efe", "planning-ig", "epistemic-only"):
                yield Case(("decide", problem, "--agent", agent, *options), is_quick=is_corner and not is_large)
        if problem in GIVEN:
            for agent in AGENTS:
                yield Case(("decide", problem, "--given", GIVEN[problem], "--agent", agent, "--json"), is_quick=True)
    for problem in ("tiger", "diagnosis", "screening-cascade", "drilling"):
        for utility in (("negative-entropy",), ("target-belief", "--target", "0.9,0.1")):
            if problem in ("diagnosis",) and len(utility) > 1:
                continue
            for command in ("decide", "evaluate"):
                options = ("--utility", *utility, "--weight", "2", "--horizon", "2")
                yield Case((command, problem, *options, "--json"), is_quick=problem == "tiger")
        if problem != "drilling":
            yield Case(("evaluate", problem, "--precision", "0.5", "--horizon", "2", "--json"), is_quick=True)
    for options in (("--world", "tiger:accuracy=0.8"), ("--world", "tiger:accuracy=0.95", "--cap", "3")):
        yield Case(("evaluate", "tiger", "--agent", "all", *options, "--json"), is_quick=True)
        yield Case(("simulate", "tiger", "--agent", "all", "--episodes", "200", *options, "--json"))
    for problem in PROBLEMS:
        options = ("--agent", "efe,planning", "--episodes", "100", "--seeds", "1,2", "--horizon", "2")
        yield Case(("simulate", problem, *options, "--json"), is_quick=problem in ("tiger", "bandit", "bridge"))
    for planner in ("mcts", "pomcp"):
        for problem in ("tiger", "diagnosis", "rocksample:n=3,k=2", "drilling"):
            options = ("--planner", planner, "--simulations", "300", "--seed", "7")
            yield Case(("decide", problem, *options, "--json"))
    for problem, over in (("tiger", "weight=0,0.5,1,2,5"), ("tiger", "horizon=1:6:1"), ("tiger", "discount=0.5,0.9,1"),
                          ("diagnosis", "accuracy=0.6,0.7,0.8,0.9"), ("screening-cascade", "weight=0,10,100"),
                          ("bandit", "k=2,3,4"), ("tileworld", "n=2,3")):  # fmt: skip
        command = ("sweep", problem, "--over", over, "--out", "swept", "--json")
        yield Case(command, is_quick=problem != "tileworld")


def descriptions(documented: dict[str, str]) -> Iterator[Case]:
    """Records of all shipped problems and all documented model files, as JSON and as a file, and their first action."""
    for problem in PROBLEMS:
        yield Case(("show", problem, "--json"), is_quick=True)
        yield Case(("show", problem, "--yaml"), is_quick=problem in WORKED)
    for problem in ("tiger", "testbed", "bandit", "drilling", "tiger-doors", "rocksample-standard:n=4,k=3"):
        yield Case(("show", problem, "--format", "pomdp"), is_quick=problem in ("tiger", "drilling"))
    for name in documented:
        yield Case(("show", name, "--json"), (name,), is_quick=True)
        yield Case(("show", name, "--yaml"), (name,), is_quick=True)
        yield Case(("decide", name, "--agent", "efe", "--json"), (name,), is_quick=True)
        yield Case(("evaluate", name, "--agent", "efe,planning", "--json"), (name,))
    for seed in range(12):
        name = f"drawn-{seed}.pomdp"
        scored = ("evaluate", name, "--agent", "planning", "--horizon", "2", "--cap", "3", "--json")
        yield Case(scored, (name,), is_quick=seed < 6)  # rewards for the state, in succession: their spread is exact
        yield Case(("show", name, "--json"), (name,), is_quick=seed < 6)
        yield Case(
            ("decide", name, "--horizon", "3", "--weight", "2", "--agent", "planning-ig", "--json"),
            (name,),
            is_quick=True,
        )


def documented_models() -> Iterator[tuple[str, str]]:
    """Model files of the examples, and those that the documentation shows whole."""
    for path in sorted((ROOT / "examples").glob("*.yaml")):
        yield path.name, path.read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(yaml|json|pomdp)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        for place, (language, block) in enumerate(blocks):
            if re.search(r'^(states|"states"|factors|\{)', block, flags=re.MULTILINE) and re.search(
                "losses|commits|actions|^R:", block, flags=re.MULTILINE
            ):
                yield f"docs-{page.stem}-{place}.{language}", block


def advising() -> Iterator[Case]:
    """What the advisor says of diagnostic problems: advice, targets, uncertainty, the plan to carry, the report."""
    parts = ("pathway", "comparison", "sensitivity", "thresholds")
    cheap = ("chest-pain", "screening-cascade", "four-diseases", "printer", "tiger-doors")
    for problem in (*WORKED, "tiger", "diagnosis", "bandit"):
        # The search for sensitivity limits of bridge ends by its time limit, with other results each time.
        shown = [part for part in parts if (problem, part) != ("bridge", "sensitivity")]
        also = (*(word for part in shown for word in ("--also", part)), *PATIENT)
        yield Case(("advise", problem, *also, "--json"), is_quick=problem in cheap)
        yield Case(("advise", problem, *also, "--weight", "20", "--horizon", "2", "--json"))
        if problem in GIVEN:
            yield Case(
                ("advise", problem, "--given", GIVEN[problem], "--also", "pathway", *PATIENT, "--json"), is_quick=True
            )
        yield Case(("report", problem, "--budget", "1000", "-o", "report.html"), reads=("report.txt",))
        if problem in WORKED:
            yield Case(("carry", problem, "-o", "plan.html"), reads=("plan.html",), is_quick=problem in cheap)
    yield Case(
        ("advise", "screening-cascade", "--prior", "ill=5%", "--known", "strip=positive", "--json"), is_quick=True
    )
    yield Case(
        ("advise", "chest-pain", "--prior", "disease=0.2", "--also", "pathway", *PATIENT, "--json"), is_quick=True
    )
    targets = (
        ("--miss", "0.1%"),
        ("--miss", "1 in 1,000", "--specific", "95%"),
        ("--wrong", "2%"),
        ("--spend", "9"),
        ("--miss", "0.2%", "--minimise", "spend", "--tree"),
        ("--miss", "0.1%", "--frontier", "--lower-set"),
    )
    for options in targets:
        yield Case(("target", "screening-cascade", *options, "--json"), is_quick=True)
    for problem, share in (
        ("chest-pain", "5%"),
        ("four-diseases", "20%"),
        ("four-diseases", "10%"),
        ("bridge", "15%"),
        ("security-lane", "0.01%"),
    ):
        yield Case(
            ("target", problem, "--wrong" if problem in ("four-diseases", "bridge") else "--miss", share, "--json")
        )
    yield Case(("uncertainty", "uncertain.yaml", "--samples", "200", "--json"), ("uncertain.yaml",), is_quick=True)
    for problem in ("chest-pain", "screening-cascade", "printer"):
        options = ("--spread", "10%", "--samples", "300", "--seed", "3", "--cases-per-year", "1000")
        yield Case(("uncertainty", problem, *options, "--json"), is_quick=problem == "screening-cascade")
    learned = ("learn", "table.csv", "plan.yaml", "-o", "learned.yaml", "--folds", "3", "--repeats", "1", "--json")
    yield Case(learned, ("table.csv", "plan.yaml"), reads=("learned.yaml",), is_quick=True)
    yield Case((*learned[:-1], "--second-opinion", "--json"), ("table.csv", "plan.yaml"), reads=("learned.yaml",))


def solving() -> Iterator[Case]:
    """Certified bounds of shipped problems, and of random factored ones."""
    for problem in ("tiger", "testbed", "diagnosis", "bandit", "drilling", "tiger-doors", "chest-pain", "four-diseases",
                    "screening-cascade", "bridge", "leak-search", "printer", "security-lane"):  # fmt: skip
        for weight in ("0", "1", "20"):
            yield _solve(problem, "--weight", weight, is_quick=weight != "20")
        yield _solve(problem, "--horizon", "3", is_quick=problem in SMALL)
    for options in (
        ("--method", "points"),
        ("--method", "points", "--weight", "1"),
        ("--method", "points", "--discount", "0.95"),
    ):
        for problem in ("tiger", "bandit", "drilling"):
            yield _solve(problem, *options, is_quick=True)
    for problem in ("rocksample:n=3,k=2", "rocksample:n=5,k=3", "inspection:n=2", "navigation", "tileworld:n=6",
                    "rocksample-standard:n=5,k=3", "rocksample-standard:n=7,k=4"):  # fmt: skip
        for weight in ("0", "1"):
            yield _solve(problem, "--weight", weight, is_quick=problem == "rocksample:n=3,k=2")
    scored = ("solve", "drawn-2.pomdp", "--weight", "1", "--score", "--gap", "1e-2", "--time-limit", "5", "--json")
    yield Case(scored, ("drawn-2.pomdp",), is_quick=True)
    rng = random.Random("factored")
    for seed in range(20):
        problem = rng.choice([
            f"rocksample-standard:n={rng.randint(3, 5)},k={rng.randint(2, 4)},seed={seed}",
            f"rocksample:n={rng.randint(2, 4)},k=2,layout=random,seed={seed},cost={rng.randint(1, 9) / 10}",
            f"inspection:n=2,prior=0.{rng.randint(1, 6)},visual=0.{rng.randint(6, 8)},fault={rng.randint(2, 9)}",
            f"tileworld:n={rng.randint(2, 4)},partition=random,seed={seed}",
            f"navigation:n={rng.randint(2, 4)},cost=0.{rng.randint(1, 9)}",
        ])  # fmt: skip
        yield _solve(problem, is_quick=seed % 3 == 0)


def _solve(problem: str, *options: str, is_quick: bool) -> Case:
    return Case(("solve", problem, *options, "--gap", "1e-3", "--time-limit", "5", "--json"), is_quick=is_quick)


def requests() -> Iterator[Case]:
    """The examples that the API's own description shows."""
    from fastapi.routing import APIRoute

    from rhoplan.app.serve.app import create_app
    from rhoplan.app.serve.examples import EXAMPLES

    for route in create_app().routes:
        name = (route.operation_id or route.name) if isinstance(route, APIRoute) else ""
        if name in EXAMPLES and name not in ("learn", "draft_plan", "save_model", "carry_case"):
            yield Case(("POST", route.path), body=EXAMPLES[name], is_quick=True)


def table(seed: int, cases: int) -> str:
    """A CSV table of past cases with one good test, one fair one, a number, and blanks."""
    rng = random.Random(f"table {seed}")
    lines = ["strip,scan,age,outcome"]
    for _ in range(cases):
        is_ill = rng.random() < 0.3
        strip = "positive" if rng.random() < (0.8 if is_ill else 0.2) else "negative"
        scan = rng.choices(["clear", "shadow", "mass"], (1, 2, 5) if is_ill else (7, 2, 1))[0]
        age = round(rng.gauss(62 if is_ill else 48, 11))
        lines.append(f"{strip if rng.random() < 0.95 else ''},{scan},{age},{'ill' if is_ill else 'well'}")
    return "\n".join(lines) + "\n"

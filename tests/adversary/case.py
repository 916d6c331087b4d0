"""One seed: the same model for rhoplan and for the oracle, and settings drawn for it."""

import math
import random
from dataclasses import dataclass
from functools import cached_property

import rhoplan
from adversary.files import Record, as_json, as_yaml, draw_file
from adversary.oracle import Evidence, Goal, Places, TooLarge
from adversary.plain import PlainModel, read
from bridge import AGENTS, BoundAgent, make_agent, parse_model

DEEPEST = 4

DEEPEST = 250
"""Powers of ten between the probabilities of states to which evidence may go: the floor is 1e-300."""


@dataclass(frozen=True)
class Case:
    seed: int
    record: Record

    @cached_property
    def model(self) -> PlainModel:
        return read(self.record)

    @cached_property
    def places(self) -> Places:
        return Places(self.model)

    @property
    def problem(self) -> rhoplan.POMDP:
        """The model as rhoplan reads it, without anything that was worked out before; some as YAML, most as JSON."""
        return parsed(self.record, language="json" if self.seed % 10 else "yaml")

    def dice(self, purpose: str) -> random.Random:
        return random.Random(f"{self.seed} {purpose}")

    def agent(self, rng: random.Random, problem: rhoplan.POMDP, most: int = DEEPEST) -> tuple[BoundAgent, Goal]:
        """One of the six agents with random settings, and what the oracle must be told to act like it."""
        name = rng.choice(list(AGENTS))
        unit, discount = rng.choice(["nats", "bits"]), rng.choice([1.0, 1.0, 1.0, 0.95, 0.6])
        weight, horizon = self.weight(rng), self.horizon(rng, most)
        agent = make_agent(name, problem, horizon=horizon, weight=weight, unit=unit, discount=discount)
        if name in ("myopic", "planning"):
            weight = 0.0
        if name == "efe" and weight:  # weight 0 takes the information out of it
            weight = 1.0
        if name in ("myopic", "info-gain"):
            horizon = 1
        per_nat = weight if unit == "nats" else weight / math.log(2)
        return agent, Goal(horizon, per_nat, discount, name != "epistemic-only")

    def weight(self, rng: random.Random) -> float:
        """A weight of the size of the model's own numbers."""
        costs = [float(test.cost) for test in self.model.tests if test.cost] or [1.0]
        prior = [float(share) for share in self.model.prior]
        losses = [abs(sum(p * float(r) for p, r in zip(prior, row, strict=True))) for row in self.model.rewards]
        size = rng.choice([1.0, rng.choice(costs), min(losses) or 1.0])
        return rng.choice([0.0, 0.3, 1.0, 4.5, 20.0]) * min(size, 1e90)

    def horizon(self, rng: random.Random, most: int) -> int:
        """A look-ahead that the oracle can follow from any place within a few steps."""
        fitting = [h for h in range(1, most + 1) if _combinations(self.model, h) <= 400]
        return rng.choice(fitting or [1])

    def evidence(self, rng: random.Random, steps: int) -> tuple[list[tuple[str, str]], Evidence]:
        """Results that can happen in a row, and where they lead."""
        places, evidence, given = self.places, self.places.start, []
        for _ in range(steps):
            allowed = list(places.allowed(evidence))
            if not allowed:
                break
            test = rng.choice(allowed)
            possible = []
            for outcome in range(len(self.model.tests[test].outcomes)):
                then = places.after(evidence, test, outcome)
                if any(places.joint(then)[0]):
                    possible.append((outcome, then))
            outcome, evidence = rng.choice(possible)
            given.append((self.model.tests[test].name, self.model.tests[test].outcomes[outcome]))
        return given, evidence

    def contradictions(self, rng: random.Random) -> tuple[list[tuple[str, str]], Evidence]:
        """One result of a test hundreds of times, then another as often, as far as that can happen and no state comes
        near the floor of probabilities."""
        places, evidence, given = self.places, self.places.start, []
        again = [k for k, test in enumerate(self.model.tests) if not test.once]
        test = rng.choice(again)
        times = rng.choice([30, 200, 430])
        for outcome in rng.sample(range(len(self.model.tests[test].outcomes)), k=len(self.model.tests[test].outcomes)):
            for _ in range(times):
                if test not in places.allowed(evidence):
                    return given, evidence
                then = places.after(evidence, test, outcome)
                masses = [mass for mass in places.joint(then)[0] if mass]
                if not masses or min(masses) * 10**DEEPEST < max(masses):
                    break
                evidence = then
                given.append((self.model.tests[test].name, self.model.tests[test].outcomes[outcome]))
        return given, evidence


def draw_case(seed: int) -> Case:
    return Case(seed, draw_file(seed))


def parsed(record: Record, language: str = "json") -> rhoplan.POMDP:
    text = as_json(record) if language == "json" else as_yaml(record)
    return parse_model(text, file=record["name"], language=language)


def action_name(model: PlainModel, action: tuple[str, int]) -> str:
    kind, index = action
    return model.tests[index].name if kind == "test" else model.commits[index]


def _combinations(model: PlainModel, steps: int) -> int:
    """Combinations of results of at most `steps` tests, if every test could be repeated."""
    width = sum(len(test.outcomes) for test in model.tests)
    return math.comb(width + steps, steps)


__all__ = ["Case", "TooLarge", "action_name", "draw_case", "parsed"]

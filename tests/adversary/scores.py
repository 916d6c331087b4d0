"""What following an agent brings, by the oracle: all ways that lead to the same evidence are counted together."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from adversary.oracle import Action, Doubtful, Evidence, ImpossibleOutcome, Oracle, Places
from adversary.plain import PlainModel

SAME = Fraction(1, 10**12)
"""A commit is right where its reward is the best for the true state, up to this share of it."""

UNMET = 1e-16
"""Share of cases that a score need not follow."""


@dataclass
class Account:
    """Means and whole distributions; `sizes` are the sums of the sizes of the terms of a mean.

    largest: the largest of the values that were decided by. ground: what is at stake at the start, commit and tests: a
    mass that is negligible is so as a share of this. excluded: share of cases whose state is ruled out in the end.
    """

    reward: float = 0.0
    variance: float = 0.0
    square: float = 0.0
    tests: float = 0.0
    cost: float = 0.0
    success: float = 0.0
    truncated: float = 0.0
    log_score: float = 0.0
    sizes: dict[str, float] = field(default_factory=dict)
    by_tests: dict[int, float] = field(default_factory=dict)
    by_cost: dict[Fraction, float] = field(default_factory=dict)
    commits: dict[int, float] = field(default_factory=dict)
    choices: dict[Evidence, Action] = field(default_factory=dict)
    largest: float = 0.0
    ground: float = 0.0
    excluded: float = 0.0


def right(model: PlainModel) -> list[list[bool]]:
    """Whether a commit (row) is a best one for the state (column)."""
    best = [max(row[s] for row in model.rewards) for s in range(len(model.states))]
    return [[value >= top - SAME * abs(top) for value, top in zip(row, best, strict=True)] for row in model.rewards]


def follow(
    oracle: Oracle,
    *,
    cap: int,
    world: Places | None = None,
    precision: float = math.inf,
    start: Evidence | None = None,
) -> Account:
    """Follow the choices of `oracle` for at most `cap` actions from `start`, in `world`; Doubtful where one is."""
    places, truth = oracle.places, world or oracle.places
    start = places.start if start is None else start
    correct, account = right(truth.model), Account()
    before = truth.spent(start)
    prior, below = truth.joint(start)
    scale = Fraction(below, sum(prior))
    ends: list[tuple[float, float, float]] = []  # mass, spent, reward of the commit
    terms: dict[str, list[float]] = defaultdict(list)
    by_tests, by_cost, commits = defaultdict(list), defaultdict(list), defaultdict(list)
    layer: dict[Evidence, float] = {start: 1}
    for step in range(cap + 1):
        following: dict[Evidence, float] = defaultdict(int)
        for evidence, ways in layer.items():
            joint, common = truth.joint(evidence)
            # A whole number of ways keeps the mass exact until it is rounded once.
            unit = scale / common
            mass = [float(p * unit * ways) if isinstance(ways, int) else float(p * unit) * ways for p in joint]
            if not any(joint):
                continue
            if not any(places.joint(evidence)[0]):
                # What next to no case comes to need not be followed, so the contradiction may be met or not.
                raise ImpossibleOutcome if math.fsum(mass) > UNMET else Doubtful
            logs = places.logs(evidence)
            paid = truth.spent(evidence) - before
            if step == cap:
                _stop(terms, mass, logs, 1.0)
                by_tests[step].append(math.fsum(mass))
                by_cost[paid].append(math.fsum(mass))
                terms["truncated"].append(math.fsum(mass))
                ends += [(m, float(paid), 0.0) for m in mass if m]
                continue
            for (kind, index), taken in oracle.probabilities(evidence, precision):
                if kind == "test":
                    if taken:
                        for outcome in range(len(places.model.tests[index].outcomes)):
                            then = places.after(evidence, index, outcome)
                            if world is not None:
                                world.after(evidence, index, outcome)
                            following[then] += ways * taken if taken < 1 else ways
                    continue
                _stop(terms, mass, logs, taken)
                by_tests[step].append(taken * math.fsum(mass))
                by_cost[paid].append(taken * math.fsum(mass))
                commits[index].append(taken * math.fsum(mass))
                for s, m in enumerate(mass):
                    if m:
                        ends.append((taken * m, float(paid), truth.rewards[index][s]))
                        terms["success"].append(taken * m * correct[index][s])
            if math.isinf(precision):
                account.choices[evidence] = oracle.choice(evidence)
            best = max(parts.size for parts in [*oracle.commits(evidence), oracle.value(evidence, oracle.goal.horizon)])
            account.largest = max(account.largest, best)
        layer = following
        if not layer:
            break
    stakes = [worth.size for worth in oracle.commits(start)]
    account.ground = min(stakes) + max((paid for _, paid, _ in ends), default=0.0)
    account.reward = math.fsum(m * (reward - paid) for m, paid, reward in ends)
    account.cost = math.fsum(m * paid for m, paid, _ in ends)
    account.square = math.fsum(m * (abs(reward) + paid) ** 2 for m, paid, reward in ends)
    account.variance = math.fsum(m * (reward - paid - account.reward) ** 2 for m, paid, reward in ends)
    account.by_tests = {count: math.fsum(parts) for count, parts in by_tests.items()}
    account.by_cost = {paid: math.fsum(parts) for paid, parts in by_cost.items()}
    account.commits = {index: math.fsum(parts) for index, parts in commits.items()}
    account.tests = math.fsum(count * share for count, share in account.by_tests.items())
    for name in ("success", "truncated", "log_score", "excluded"):
        setattr(account, name, math.fsum(terms[name]))
    account.sizes = {
        "reward": math.fsum(m * (abs(reward) + paid) for m, paid, reward in ends),
        "cost": account.cost,
        "log_score": math.fsum(map(abs, terms["log_score"])),
    }
    return account


def _stop(terms: dict[str, list[float]], mass: list[float], logs: tuple[float, ...], taken: float) -> None:
    terms["log_score"] += [taken * m * log for m, log in zip(mass, logs, strict=True) if taken * m]
    terms["excluded"] += [taken * m for m, log in zip(mass, logs, strict=True) if math.isinf(log)]

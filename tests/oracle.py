"""A brute-force oracle for observe-then-commit problems: plain floats, plain recursion, nothing shared with rhoplan.

It follows the paper's equations word for word and is as slow as they are: no arrays, no merging, no memory. Every
outcome sequence is a path of its own, and the agent plans anew at the end of each. Information is computed as mutual
information, sum p(s, o) ln (p(s, o) / p(s) p(o)), not as a difference of entropies: the two ways check each other.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

Belief = list[float]
Rows = list[list[float]]
Used = frozenset[int]

RELATIVE_TIE = 1e-12
"""The tie rule of the specification: a challenger must win by more than this share of the reward scale."""


class Model(NamedTuple):
    """tests: (cost, likelihood rows by state, repeatable). commits: reward by state."""

    prior: Belief
    tests: list[tuple[float, Rows, bool]]
    commits: list[list[float]]


class Goal(NamedTuple):
    """What the agent is after; weight is per nat, precision infinity is the deterministic agent."""

    horizon: int
    weight: float = 0.0
    discount: float = 1.0
    commits_count: bool = True
    precision: float = math.inf


class ImpossibleOutcome(Exception):
    """The world drew an outcome that the agent's model excludes."""


def posteriors(belief: Belief, rows: Rows) -> list[tuple[float, Belief | None]]:
    """Probability of each outcome and the belief after it; None where the outcome cannot happen."""
    result: list[tuple[float, Belief | None]] = []
    for outcome in range(len(rows[0])):
        joint = [belief[s] * rows[s][outcome] for s in range(len(belief))]
        probability = sum(joint)
        result.append((probability, [j / probability for j in joint] if probability > 0 else None))
    return result


def mutual_information(belief: Belief, rows: Rows) -> float:
    """Nats that the outcome and the state share."""
    total = 0.0
    for outcome in range(len(rows[0])):
        probability = sum(belief[s] * rows[s][outcome] for s in range(len(belief)))
        for s in range(len(belief)):
            joint = belief[s] * rows[s][outcome]
            if joint > 0:
                total += joint * math.log(rows[s][outcome] / probability)
    return total


def entropy(belief: Belief) -> float:
    return -sum(p * math.log(p) for p in belief if p > 0)


def expected(belief: Belief, rewards: list[float]) -> float:
    return sum(b * r for b, r in zip(belief, rewards, strict=True))


def after(model: Model, used: Used, test: int) -> Used:
    """The run-once tests that are spent once `test` has run."""
    return used if model.tests[test][2] else used | {test}


def value(model: Model, goal: Goal, belief: Belief, used: Used, depth: int) -> float:
    """V_depth: the best of ending and of every test still allowed."""
    best = max(expected(belief, rewards) for rewards in model.commits) if goal.commits_count else 0.0
    if depth == 0:
        return best
    for test in range(len(model.tests)):
        if test not in used:
            best = max(best, value_of_test(model, goal, belief, used, test, depth))
    return best


def value_of_test(model: Model, goal: Goal, belief: Belief, used: Used, test: int, depth: int) -> float:
    """-c + w I + discount * E[V_{depth-1}]."""
    cost, rows, _ = model.tests[test]
    later = 0.0
    for probability, posterior in posteriors(belief, rows):
        if posterior is not None:
            later += probability * value(model, goal, posterior, after(model, used, test), depth - 1)
    return -cost + goal.weight * mutual_information(belief, rows) + goal.discount * later


def action_values(model: Model, goal: Goal, belief: Belief, used: Used = frozenset()) -> tuple[list[float], dict]:
    """Value of every commit in order, and of every allowed test by its index."""
    commits = [expected(belief, rewards) if goal.commits_count else 0.0 for rewards in model.commits]
    allowed = [test for test in range(len(model.tests)) if test not in used]
    return commits, {test: value_of_test(model, goal, belief, used, test, goal.horizon) for test in allowed}


def tie_width(model: Model, goal: Goal) -> float:
    sizes = [cost for cost, _, _ in model.tests] + [abs(r) for rewards in model.commits for r in rewards]
    scale = max([*sizes, 0.0]) or 1.0
    return RELATIVE_TIE * max(scale, abs(goal.weight) * math.log(len(model.prior)))


def first_best(values: list[float], width: float) -> int:
    """Index of the incumbent that no later value beats by more than `width`."""
    best = 0
    for index, challenger in enumerate(values):
        if challenger > values[best] + width:
            best = index
    return best


def choice(model: Model, goal: Goal, belief: Belief, used: Used = frozenset()) -> tuple[str, int]:
    """("commit", index) or ("test", index): commits are listed first, so they win ties, then the lower index does."""
    width = tie_width(model, goal)
    commits, tests = action_values(model, goal, belief, used)
    # An agent to whom commits are worth nothing still takes the best one by expected reward when it ends.
    best_commit = first_best([expected(belief, rewards) for rewards in model.commits], width)
    order = [("commit", best_commit), *(("test", test) for test in tests)]
    return order[first_best([commits[best_commit], *tests.values()], width)]


def action_probabilities(model: Model, goal: Goal, belief: Belief, used: Used) -> list[tuple[tuple[str, int], float]]:
    """Every action the agent may take and its probability: softmax of precision * value, or the choice."""
    if math.isinf(goal.precision):
        return [(choice(model, goal, belief, used), 1.0)]
    commits, tests = action_values(model, goal, belief, used)
    values = {("commit", i): worth for i, worth in enumerate(commits)}
    if not goal.commits_count:
        best = first_best([expected(belief, rewards) for rewards in model.commits], tie_width(model, goal))
        values = {("commit", best): 0.0}
    values |= {("test", test): worth for test, worth in tests.items()}
    top = max(values.values())
    weights = {action: math.exp(goal.precision * (worth - top)) for action, worth in values.items()}
    return [(action, weight / sum(weights.values())) for action, weight in weights.items()]


class Episode(NamedTuple):
    """One way an episode can go, for one true state."""

    probability: float
    reward: float
    tests: int
    success: bool
    truncated: bool
    log_score: float


class Result(NamedTuple):
    reward: float
    variance: float
    tests: float
    success: float
    truncated: float
    log_score: float
    distribution: list[float]


def score(model: Model, goal: Goal, cap: int, world: Model | None = None) -> Result:
    """Exact score by listing every episode of at most `cap` steps that has positive probability in `world`."""
    world = world or model
    listed = list(episodes(model, goal, world, cap, model.prior, frozenset(), world.prior, 0.0, 0))
    reward = sum(e.probability * e.reward for e in listed)
    return Result(
        reward=reward,
        variance=sum(e.probability * (e.reward - reward) ** 2 for e in listed),
        tests=sum(e.probability * e.tests for e in listed),
        success=sum(e.probability for e in listed if e.success),
        truncated=sum(e.probability for e in listed if e.truncated),
        log_score=sum(e.probability * e.log_score for e in listed),
        distribution=[sum(e.probability for e in listed if e.tests == n) for n in range(cap + 1)],
    )


def episodes(
    model: Model,
    goal: Goal,
    world: Model,
    cap: int,
    belief: Belief,
    used: Used,
    mass: Belief,
    paid: float,
    steps: int,
) -> Iterator[Episode]:
    """Episodes that continue an outcome sequence; mass: probability of sequence and true state, for each state."""
    truths = [(s, p, math.log(belief[s]) if belief[s] > 0 else -math.inf) for s, p in enumerate(mass) if p > 0]
    if steps == cap:
        for _, probability, log_score in truths:
            yield Episode(probability, paid, steps, False, True, log_score)
        return
    for (kind, index), taken in action_probabilities(model, goal, belief, used):
        if taken == 0:
            continue
        if kind == "commit":
            for s, probability, log_score in truths:
                reward = world.commits[index][s]
                best = max(rewards[s] for rewards in world.commits)
                yield Episode(taken * probability, paid + reward, steps, reward >= best, False, log_score)
            continue
        cost, rows, _ = world.tests[index]
        for outcome, (_, posterior) in enumerate(posteriors(belief, model.tests[index][1])):
            moved = [taken * p * row[outcome] for p, row in zip(mass, rows, strict=True)]
            if sum(moved) == 0:
                continue
            if posterior is None:
                raise ImpossibleOutcome
            spent = after(model, used, index)
            yield from episodes(model, goal, world, cap, posterior, spent, moved, paid - cost, steps + 1)

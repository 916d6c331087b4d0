"""What the advisor says against the oracle: pathways, comparisons, stopping bands and steps over the weight."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import rhoplan
from adversary.case import Case, action_name
from adversary.engine import MOST_DEEP, compare_score
from adversary.ledger import Ledger
from adversary.oracle import Evidence, Goal, Oracle, Places
from adversary.plain import positive_of
from adversary.scores import Account, follow, right
from bridge import Ahead, Leaf, Node, Step, bands, policy_steps
from bridge import ComparisonRow as Row
from bridge import compare_agents as compare
from bridge import make_pathway as pathway

UNSEEN = 1e-11
"""Ways that so small a share of cases goes need not be listed, unless that share of what is at stake matters."""

MOST_FOLDED = 4
"""Leaves that go on which are followed to their end by the oracle, for each pathway."""


def short(case: Case, problem: rhoplan.POMDP) -> rhoplan.POMDP:
    """`problem`, its episodes cut off early where the tests have no end that the oracle could wait for."""
    longest = case.model.longest
    return problem if longest is not None and longest <= 5 else replace(problem, cap=4)


def check_pathway(case: Case, ledger: Ledger) -> None:
    rng = case.dice("pathway")
    problem = short(case, case.problem)
    agent, goal = case.agent(rng, problem, most=3)
    given, start = case.evidence(rng, rng.choice([0, 0, 0, 1, 2]))
    oracle = Oracle(case.places, goal)
    account = follow(oracle, cap=problem.cap, start=start)
    found = pathway(problem, agent, given, smallest=rng.choice([0.2, 1e-3, 0.0]))
    compare_ahead(case, ledger, found.ahead, account)
    ledger.near("spent before", found.spent, float(case.places.spent(start)), float(case.places.spent(start)))
    shares = [leaf.share for leaf in found.leaves]
    ledger.near("sum of shares", math.fsum(shares), 1.0, 1.0)
    for name, wanted, size in (
        ("reward", account.reward, account.sizes["reward"]),
        ("tests", account.tests, account.tests),
        ("cost", account.cost, account.cost),
        ("right", account.success, account.success),
    ):
        total = math.fsum(leaf.share * getattr(leaf, name) for leaf in found.leaves)
        noise = UNSEEN * (account.ground if name in ("reward", "cost") else 1.0)
        ledger.near(f"sum over leaves of {name}", total, wanted, size, noise=noise)
    _walk(case, ledger, oracle, found.root, start, [start, 1.0, 0, problem.cap], [MOST_FOLDED])


def _walk(
    case: Case, ledger: Ledger, oracle: Oracle, node: Node, evidence: Evidence, before: list, folded: list[int]
) -> None:
    """Compare `node` and all below it; before: where the pathway starts, share, depth, cap."""
    start, share, depth, cap = before
    places, model = case.places, case.model
    spent = float(places.spent(evidence) - places.spent(start))
    ledger.near("share", node.share, share, share)
    ledger.near("spent", node.spent, spent, spent)
    for state, chance in zip(model.states, places.belief(evidence), strict=True):
        ledger.near(f"chance of {state}", node.belief[state], chance, chance)
    action = oracle.choice(evidence) if depth < cap else oracle.choices(evidence)[0]
    if depth < cap:
        ledger.same(f"step after {depth} tests", node.action, action_name(model, action))
    if isinstance(node, Step):
        if action[0] != "test":
            return
        ledger.near("price", node.cost, places.allowed(evidence)[action[1]], places.allowed(evidence)[action[1]])
        chances = dict(zip(model.tests[action[1]].outcomes, [(0.0, evidence)] * 9, strict=False))
        for chance, then in places.chances(evidence, action[1]):
            outcome = next(o for o in range(len(chances)) if places.after(evidence, action[1], o) == then)
            chances[model.tests[action[1]].outcomes[outcome]] = chance, then
        ledger.same("results", {o.outcome for o in node.outcomes}, {o for o, (p, _) in chances.items() if p})
        for outcome in node.outcomes:
            chance, then = chances[outcome.outcome]
            ledger.near("chance of a result", outcome.probability, chance, chance)
            _walk(case, ledger, oracle, outcome.child, then, [start, share * chance, depth + 1, cap], folded)
    elif folded[0] and isinstance(node, Leaf) and depth < cap:
        folded[0] -= node.kind != "commit"
        rest = follow(oracle, cap=cap - depth, start=evidence)
        nothing = UNSEEN * rest.ground
        ledger.near("tests at a leaf", node.tests, depth + rest.tests, depth + rest.tests, noise=UNSEEN)
        ledger.near("cost at a leaf", node.cost, spent + rest.cost, spent + rest.cost, noise=nothing)
        size = rest.sizes["reward"] + spent
        ledger.near("reward at a leaf", node.reward, rest.reward - spent, size, noise=nothing)
        ledger.near("right at a leaf", node.right, rest.success, rest.success, noise=1e-15)


def compare_ahead(case: Case, ledger: Ledger, ahead: Ahead, account: Account) -> None:
    nothing = UNSEEN * account.ground
    ledger.near("expected reward", ahead.reward, account.reward, account.sizes["reward"], noise=nothing)
    ledger.near("expected tests", ahead.tests, account.tests, account.tests, noise=UNSEEN)
    ledger.near("expected cost", ahead.cost, account.cost, account.cost, noise=nothing)
    ledger.near("expected right", ahead.right, account.success, account.success, noise=UNSEEN)
    ledger.near("cut off", ahead.cut, account.truncated, account.truncated, noise=UNSEEN)
    compare_shares(ledger, "tests", dict(ahead.by_tests), account.by_tests)
    by_cost: dict[float, float] = {}
    for paid, share in account.by_cost.items():
        by_cost[float(paid)] = by_cost.get(float(paid), 0.0) + share
    listed = sum(share > UNSEEN for _, share in ahead.by_cost)
    ledger.same("number of different costs", listed, sum(share > UNSEEN for share in by_cost.values()))
    found = dict.fromkeys(by_cost, 0.0)
    for paid, share in ahead.by_cost:
        nearest = min(by_cost, key=lambda wanted: abs(wanted - paid))
        ledger.near("a cost", paid, nearest, nearest)
        found[nearest] += share
    compare_shares(ledger, "cost", found, by_cost)
    compare_shares(ledger, "commit", ahead.commits, {case.model.commits[i]: s for i, s in account.commits.items()})


def compare_shares(ledger: Ledger, what: str, found: Mapping[Any, float], wanted: Mapping[Any, float]) -> None:
    for key in {*found, *wanted}:
        share = wanted.get(key, 0.0)
        ledger.near(f"share with {what} {key}", found.get(key, 0.0), share, share, noise=UNSEEN)


def check_compare(case: Case, ledger: Ledger) -> None:
    rng = case.dice("compare")
    problem = short(case, case.problem)
    agent, goal = case.agent(rng, problem, most=3)
    rows = {row.key: row for row in compare(problem, agent, seconds=1.0)}
    start = case.places.start
    now = Oracle(case.places, Goal(1))
    chosen = now.endings(start)
    ledger.one_of("commit now", rows["commit-now"].first, [case.model.commits[i] for i in chosen])
    taken = case.model.commits.index(rows["commit-now"].first)
    ledger.near("reward of committing now", rows["commit-now"].reward, *now.commits(start)[taken][:2])
    _compare_everything(case, ledger, now, rows["all-tests"])
    longest = case.model.longest
    depth = longest if longest is not None and longest <= MOST_DEEP else 2
    best = Oracle(case.places, Goal(depth)).value(start, depth)
    size = max(best.size, now.commits(start)[taken].size)
    optimum = rows["optimum"]
    assert optimum.lower is not None
    assert optimum.upper is not None
    ledger.at_most("best value of some depth against the upper bound", best.value, optimum.upper, size)
    if depth == longest:
        ledger.at_most("lower bound of the optimum", optimum.lower, best.value, size)
    efe = Goal(goal.horizon, 1.0 if agent.unit == "nats" else 1 / math.log(2))
    plain = rows["cost-only"].horizon
    for key, aim in (("asked", goal), ("efe", efe), ("cost-only", Goal(plain) if plain else None)):
        if key in rows and aim is not None:
            oracle = Oracle(case.places, aim)
            _compare_row(case, ledger, rows[key], follow(oracle, cap=problem.cap), oracle)


def _compare_row(case: Case, ledger: Ledger, row: Row, account: Account, oracle: Oracle) -> None:
    key = row.key
    ledger.same(f"first of {key}", row.first, action_name(case.model, oracle.choice(case.places.start)))
    nothing = UNSEEN * account.ground
    ledger.near(f"reward of {key}", row.reward, account.reward, account.sizes["reward"], noise=nothing)
    ledger.near(f"tests of {key}", row.tests, account.tests, account.tests, noise=UNSEEN)
    ledger.near(f"cost of {key}", row.cost, account.cost, account.cost, noise=nothing)
    ledger.near(f"right of {key}", row.right, account.success, account.success, noise=UNSEEN)
    reached, ninety = Fraction(0), []
    for paid, share in sorted(account.by_cost.items()):
        if reached < Fraction(9, 10) + Fraction(1, 10**9):
            ninety.append(paid)
        reached += Fraction(share)
        if reached < Fraction(9, 10) - Fraction(1, 10**9):
            ninety.clear()
    if len(ninety) == 1:
        ledger.near(f"cost that nine in ten do not exceed, {key}", row.cost_90, float(ninety[0]), float(ninety[0]))


def _compare_everything(case: Case, ledger: Ledger, oracle: Oracle, row: Row) -> None:
    """All tests, each once, in the model's order as far as it goes."""
    places, model = case.places, case.model
    layer: dict[Evidence, int] = {places.start: 1}
    run: list[int] = []
    while ready := [k for k in places.allowed(next(iter(layer))) if k not in run]:
        test = min(ready)
        run.append(test)
        layer = {places.after(e, test, o): 1 for e in layer for o in range(len(model.tests[test].outcomes))}
    cost = float(places.spent(next(iter(layer))))
    correct, rewards, sizes, rights = right(model), [-cost], [cost], []
    for evidence in layer:
        joint, common = places.joint(evidence)
        if any(joint):
            mass = sum(joint) / common
            best = max(oracle.commits(evidence))
            rewards.append(mass * best.value)
            sizes.append(mass * best.size)
            commits = oracle.endings(evidence)
            doubtful = len({tuple(correct[i]) for i in commits}) > 1
            rights.append(
                math.nan
                if doubtful
                else math.fsum(p / common for p, ok in zip(joint, correct[commits[0]], strict=True) if ok)
            )
    ledger.near("reward of all tests", row.reward, math.fsum(rewards), math.fsum(sizes))
    ledger.near("cost of all tests", row.cost, cost, cost)
    ledger.same("number of all tests", row.tests, float(len(run)))
    if not any(map(math.isnan, rights)):
        ledger.near("right of all tests", row.right, math.fsum(rights), math.fsum(rights), noise=1e-15)


FURTHEST, MISSED = 16.0, 0.06
"""Log odds of the most certain belief that bands are asked about; half of what a band must cover not to be missed."""


def check_bands(case: Case, ledger: Ledger) -> None:
    if len(case.model.states) != 2:
        return
    rng, problem = case.dice("bands"), case.problem
    agent, goal = case.agent(rng, problem, most=2)
    found = bands(problem, agent, seconds=5.0)
    about = positive_of(case.record)
    ledger.same("ends of the bands", (found[0].lower, found[-1].upper), (0.0, 1.0))

    def accepted(odds: float) -> list[str]:
        pair = [Fraction(1 / (1 + math.exp(-odds))), Fraction(1 / (1 + math.exp(odds)))]
        prior = pair if about == case.model.states[0] else pair[::-1]
        places = Places(case.model._replace(prior=tuple(share / sum(pair) for share in prior)))
        return [action_name(case.model, action) for action in Oracle(places, goal).choices(places.start)]

    for place, band in enumerate(found):
        low = max(_odds(band.lower), -FURTHEST)
        high = min(_odds(band.upper), FURTHEST)
        for odds, beside in ((low + 1e-5, place - 1), (high - 1e-5, place + 1)):
            known = {band.action, found[min(max(beside, 0), len(found) - 1)].action}
            if known.isdisjoint(accepted(odds)):
                ledger.skipped["bands: a narrow band is missed, as the docs say"] += 1
            elif high - low > 1e-3:
                ledger.one_of(f"band at log odds {odds:.9g}", band.action, accepted(odds))
        for share in (0.25, 0.5, 0.75):
            odds = low + share * (high - low)
            if high - low > 4 * MISSED:
                ledger.checks[ledger.kind] += 1
                if all(band.action not in accepted(there) for there in (odds, odds - MISSED, odds + MISSED)):
                    ledger.report(f"band at log odds {odds:.9g}", band.action, " or ".join(accepted(odds)))


def _odds(chance: float) -> float:
    if chance <= 0:
        return -math.inf
    return math.log(chance / (1 - chance)) if chance < 1 else math.inf


def check_steps(case: Case, ledger: Ledger) -> None:
    rng = case.dice("steps")
    problem = short(case, case.problem)
    horizon = case.horizon(rng, 3)
    high = max(10 * case.weight(rng), 1e-9)
    resolution = 1e-6 * high
    steps = policy_steps(problem, horizon=horizon, high=high, resolution=resolution, limit=12)
    ledger.same("first weight", steps[0].lower, 0.0)
    if len(steps) < 12:
        ledger.at_most("end of the last step", high - steps[-1].upper, 2 * resolution, high)
    for place, step in enumerate(steps):
        width = step.upper - step.lower
        if width <= 20 * resolution:
            continue
        middle = follow(Oracle(case.places, Goal(horizon, step.lower + width / 2)), cap=problem.cap)
        compare_score(ledger, step.score, middle, f" of step {place}")
        for share in (0.02, 0.98):
            weight = step.lower + share * width
            there = follow(Oracle(case.places, Goal(horizon, weight)), cap=problem.cap)
            ledger.same(f"choices within step {place}, weight {weight:.9g}", there.choices, middle.choices)

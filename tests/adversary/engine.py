"""rhoplan's engine against the oracle: decisions, scores, certified optima, and no two situations taken for one."""

import math
from dataclasses import replace

import rhoplan
from adversary.case import Case, action_name, parsed
from adversary.files import draw_world
from adversary.ledger import LOG_NOISE, Ledger
from adversary.oracle import Evidence, Goal, ImpossibleOutcome, Oracle, Places
from adversary.plain import read
from adversary.scores import Account, follow
from bridge import BoundAgent, make_agent
from bridge import decide_at as decide
from bridge import solve_bounds as solve
from rhoplan import Recommendation

SQUARES = 1e-3
"""Squares may be apart by this times what numbers may: a spread is the root of a difference of squares."""

NEGLIGIBLE = 1e-16
"""Share of cases, in all, that a score need not follow: a few times what one situation may lose."""

MERGED = 1e-12
"""How far information may be off, as a share of the entropy at hand: a result that tells next to nothing leads to a
belief that is merged with the one before it. The tie rule makes the same allowance."""

LOST = 1e-279
"""Chances below this, in all, count nothing in a value: those below 1e-300 are kept there, for the evidence to come.
Seed 90786: after hundreds of contradicting results 2.5e-284 of 44 million are lost."""

MOST_DEEP = 8
"""Tests in a row up to which the oracle works out the optimum without a horizon."""


def check_decide(case: Case, ledger: Ledger) -> None:
    rng, problem = case.dice("decide"), case.problem
    agent, goal = case.agent(rng, problem)
    given, evidence = case.evidence(rng, rng.choice([0, 0, 1, 2, 3]))
    if rng.random() < 0.2 and any(not test.once for test in case.model.tests):
        given, evidence = case.contradictions(rng)
        agent, goal = make_agent("myopic", problem), Goal(1)
    oracle = Oracle(case.places, goal)
    situation = problem.belief(given=given)
    compare_decision(case, ledger, oracle, decide(problem, agent, situation), evidence)


def compare_decision(case: Case, ledger: Ledger, oracle: Oracle, decision: Recommendation, evidence: Evidence) -> None:
    places, goal, model = case.places, oracle.goal, case.model
    for state, chance in zip(model.states, places.belief(evidence), strict=True):
        ledger.near(f"chance of {state}", decision.belief[state], chance, chance)
    ledger.near("entropy", decision.entropy, places.entropy(evidence), places.entropy(evidence), noise=LOG_NOISE)
    tests = {model.tests[k].name: oracle.parts(evidence, k, goal.horizon) for k in places.allowed(evidence)}
    ledger.same("actions", {a.name for a in decision.actions}, {*tests, *model.commits})
    commits = dict(zip(model.commits, oracle.commits(evidence), strict=True))
    worths = {name: parts.worth for name, parts in tests.items()}
    worths |= {name: worth if goal.commits_count else type(worth)(0.0, 0.0) for name, worth in commits.items()}
    lost = LOST * max(abs(float(reward)) for rewards in model.rewards for reward in rewards)
    for action in decision.actions:
        if action.name not in worths:
            continue
        ledger.near(f"value of {action.name}", action.value, *worths[action.name][:2], noise=lost)
        if action.name in tests:
            parts = tests[action.name]
            ledger.near(f"price of {action.name}", -action.reward, parts.price, parts.price)
            told = parts.information
            noise = 1e-15 + MERGED * places.entropy(evidence)
            ledger.near(f"information of {action.name}", action.information, told, told, noise=noise)
            ledger.near(f"continuation of {action.name}", action.continuation, *parts.continuation[:2], noise=lost)
    accepted = [action_name(model, action) for action in oracle.choices(evidence)]
    ledger.one_of("choice", decision.choice, accepted)
    if decision.choice in worths:
        others = [worth for name, worth in worths.items() if name != decision.choice]
        mine, best = worths[decision.choice], max(others, default=None)
        if best is None:
            ledger.same("margin", decision.margin, math.inf)
        else:
            margin = max(mine.value - best.value, 0.0)
            ledger.near("margin", decision.margin, margin, mine.size + max(worth.size for worth in others))


def check_evaluate(case: Case, ledger: Ledger) -> None:
    rng, problem = case.dice("evaluate"), case.problem
    agent, goal = case.agent(rng, problem, most=3)
    cap = rng.choice([1, 2, 4, 6])
    if case.model.longest is not None and case.model.longest <= 5:
        cap = rng.choice([case.model.longest + 1, 200])
    world, truth = None, None
    if rng.random() < 0.4:
        record = draw_world(case.record, case.seed)
        world, truth = parsed(record), Places(read(record))
    precision = math.inf
    if rng.random() < 0.2:
        oracle = Oracle(case.places, goal)
        size = oracle.value(case.places.start, goal.horizon).size or 1.0
        precision = rng.choice([0.1, 1.0, 10.0]) / size
        agent = replace(agent, precision=precision)
    try:
        account = follow(Oracle(case.places, goal), cap=cap, world=truth, precision=precision)
    except ImpossibleOutcome:
        try:
            rhoplan.evaluate(problem, agent, world=world, max_steps=cap)
            ledger.report("outcome that the model excludes", "a score", "an error")
        except rhoplan.ImpossibleEvidence:
            ledger.same("error", "ImpossibleEvidence", "ImpossibleEvidence")
        return
    if math.isfinite(precision) and precision * account.largest > 1e5:
        ledger.skipped["evaluate: probabilities hang on the last digits of values"] += 1
        return
    compare_score(ledger, rhoplan.evaluate(problem, agent, world=world, max_steps=cap), account)


def compare_score(ledger: Ledger, score: rhoplan.Score, account: Account, where: str = "") -> None:
    sizes, nothing = account.sizes, NEGLIGIBLE * account.ground
    ledger.near(f"reward{where}", score.reward, account.reward, sizes["reward"], noise=nothing)
    square = SQUARES * account.square
    ledger.near(f"variance{where}", score.reward_sd**2, account.variance, square, noise=nothing * account.ground)
    ledger.near(f"tests{where}", score.tests, account.tests, account.tests, noise=1e-15)
    ledger.near(f"success{where}", score.success, account.success, account.success, noise=1e-15)
    ledger.near(f"truncated{where}", score.truncated, account.truncated, account.truncated, noise=1e-15)
    if not 0 < account.excluded < NEGLIGIBLE:
        ledger.near(f"log score{where}", score.log_score, account.log_score, sizes["log_score"], noise=LOG_NOISE)
    for count in range(max(len(score.tests_distribution), 1 + max(account.by_tests, default=0))):
        found = score.tests_distribution[count] if count < len(score.tests_distribution) else 0.0
        share = account.by_tests.get(count, 0.0)
        ledger.near(f"share with {count} tests{where}", found, share, share, noise=1e-15)


def check_solve(case: Case, ledger: Ledger) -> None:
    rng, problem, longest = case.dice("solve"), case.problem, case.model.longest
    longest = longest if longest is not None and longest <= MOST_DEEP else None
    weight, discount = rng.choice([0.0, 0.0, case.weight(rng)]), rng.choice([1.0, 1.0, 1.0, 0.9])
    depth = longest if longest is not None else case.horizon(rng, 3)
    oracle = Oracle(case.places, Goal(depth, weight, discount))
    start = case.places.start
    best = oracle.value(start, depth)
    gap = 1e-6 * (best.size or 1.0)
    found = solve(problem, weight=weight, discount=discount, gap=gap, seconds=2.0, memory=2e8)
    size = max([best.size, *(oracle.commits(start)[i].size for i in oracle.endings(start))])
    ledger.at_most("best value of some depth against the upper bound", best.value, found.upper, size)
    ledger.at_most("lower bound against the upper one", found.lower, found.upper, size)
    if longest is None:
        return
    ledger.at_most("lower bound against the optimum", found.lower, best.value, size)
    if found.stopped_by == "gap":
        ledger.at_most("distance of the bounds", found.upper - found.lower, gap, size)
    else:
        ledger.skipped[f"solve: {found.stopped_by} ran out"] += 1
    first = {model_test.name: k for k, model_test in enumerate(case.model.tests)}
    if found.first in first:
        ledger.one_of("first action allowed", first[found.first], case.places.allowed(start))
        worth = oracle.parts(start, first[found.first], depth).worth
    else:
        worth = oracle.commits(start)[case.model.commits.index(found.first)]
    ledger.at_most("lower bound against the value of the first action", found.lower, worth.value, size + worth.size)
    if weight == 0 and discount == 1:
        ledger.at_most("reward of the plan against the optimum", found.reward, best.value, size)
        ledger.at_most("lower bound against the reward of the plan", found.lower, found.reward, size)


def check_merging(case: Case, ledger: Ledger) -> None:
    """Different situations are never taken for one: the graph has at least as many as evidence tells apart."""
    rng, problem = case.dice("merging"), case.problem
    horizon = case.horizon(rng, 4)
    account = rhoplan.evaluate(problem, BoundAgent("planning", horizon), max_steps=1)
    places, seen = case.places, set()
    layer = {places.start}
    for step in range(horizon + 1):
        seen |= {(*_reduced(places, evidence), *_rules(case, evidence)) for evidence in layer}
        if step < horizon:
            layer = {then for e in layer for k in places.allowed(e) for _, then in places.chances(e, k)}
    ledger.at_most("situations told apart", len(_apart(seen)), account.nodes, 1.0)


def _reduced(places: Places, evidence: Evidence) -> tuple[tuple[int, ...]]:
    joint = places.joint(evidence)[0]
    common = math.gcd(*joint)
    return (tuple(p // common for p in joint),)


def _rules(case: Case, evidence: Evidence) -> tuple[object, ...]:
    """What may be run now and for how much, as far as it can be told from outside."""
    return (tuple(sorted(case.places.allowed(evidence).items())),)


def _apart(situations: set[tuple[tuple[int, ...], object]]) -> set[tuple[object, ...]]:
    """Situations of which no two are within a millionth of one another in every chance."""
    return {
        (tuple(round(1e6 * math.log(p / sum(joint))) // 8 if p else None for p in joint), rules)
        for joint, rules in situations
    }

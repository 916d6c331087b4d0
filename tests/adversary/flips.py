"""Flips against the oracle: how far a number can move before the first action changes, on copies of its own."""

from fractions import Fraction

from adversary.case import Case, action_name
from adversary.ledger import Ledger
from adversary.oracle import Evidence, Goal, Oracle, Places
from adversary.plain import PlainModel, Row, exact
from bridge import BoundAgent, Edge, Flip, flips

GRID = 5
"""Values that are looked at between a number's own and the nearest change."""

SURE = 1e-9
"""How close to 0 and 1 a probability is moved."""


class Impossible(Exception):
    """With that value, what was seen could not have been seen."""


def check_flips(case: Case, ledger: Ledger) -> None:
    rng, problem = case.dice("flips"), case.problem
    agent, goal = case.agent(rng, problem, most=2)
    given, start = case.evidence(rng, rng.choice([0, 0, 1, 2]))
    now = [action_name(case.model, action) for action in Oracle(case.places, goal).choices(start)]
    kind = rng.choice(
        ["prior", "weight", "cost", "first-price", "loss" if case.model.counts_losses else "reward", "likelihood"]
    )
    for flip in flips(problem, agent, given, only=[kind], budget=3.0):
        ledger.one_of("action now", flip.now, now)
        if len(now) > 1:
            ledger.skipped["flips: today's choice is a doubtful tie"] += 1
            return
        for edge, side in ((flip.down, -1), (flip.up, 1)):
            _compare_edge(case, ledger, flip, edge, side, (agent, goal), given)


def _compare_edge(
    case: Case,
    ledger: Ledger,
    flip: Flip,
    edge: Edge,
    side: int,
    aim: tuple[BoundAgent, Goal],
    given: list[tuple[str, str]],
) -> None:
    def ask(what: str, value: float, wanted: str) -> None:
        try:
            accepted = first_actions(case.model, aim, given, (flip.kind, *flip.names), value)
        except Impossible:
            accepted = []
        ledger.one_of(f"{what} for {flip.id} at {value!r} (now {flip.value!r})", wanted, accepted)

    if edge.status == "not examined":
        ledger.skipped["flips: not examined"] += 1
        return
    end = edge.limit
    if flip.quantity == "probability":
        end = min(max(end, SURE), 1 - SURE)
    if edge.status == "flips":
        assert edge.before is not None
        assert edge.beyond is not None
        assert edge.then is not None
        ask("action before the flip", edge.before, flip.now) if edge.before != flip.value else None
        ask("action beyond the flip", edge.beyond, edge.then)
        ledger.one_of("flip", flip.now != edge.then, (True,))
        end = edge.before
    if edge.is_nearest and (end - flip.value) * side > 0:  # a probability may be surer already than those asked about
        for step in range(1, GRID + 1):
            # Closer together near the number's own value, where most flips are.
            value = flip.value + (end - flip.value) * (step / (GRID + 1)) ** 2
            if value != flip.value:
                ask("action on the way", value, flip.now)


def first_actions(
    model: PlainModel,
    aim: tuple[BoundAgent, Goal],
    given: list[tuple[str, str]],
    parameter: tuple[str, ...],
    value: float,
) -> list[str]:
    """What may come first after `given` with another value of a parameter."""
    agent, goal = aim
    if parameter == ("weight",):
        goal = goal._replace(weight=goal.weight / agent.weight * value if agent.weight else _per_nat(agent, value))
    else:
        model = changed(model, parameter, exact(value))
    places = Places(model)
    return [action_name(model, action) for action in Oracle(places, goal).choices(_replayed(places, given))]


def _per_nat(agent: BoundAgent, value: float) -> float:
    return value if agent.unit == "nats" else value / 0.6931471805599453


def _replayed(places: Places, given: list[tuple[str, str]]) -> Evidence:
    evidence, tests = places.start, {test.name: (k, test) for k, test in enumerate(places.model.tests)}
    for name, outcome in given:
        k, test = tests[name]
        if k not in places.allowed(evidence):
            raise Impossible
        evidence = places.after(evidence, k, test.outcomes.index(outcome))
        if not any(places.joint(evidence)[0]):
            raise Impossible
    return evidence


def changed(model: PlainModel, parameter: tuple[str, ...], value: Fraction) -> PlainModel:
    """`model` with another value of `parameter`: its kind, and what it is a number of."""
    match parameter:
        case "prior", state:
            return model._replace(prior=_moved(model.prior, model.states.index(state), value))
        case "cost", name:
            return model._replace(tests=tuple(t._replace(cost=value) if t.name == name else t for t in model.tests))
        case "first-price", group:
            return model._replace(first_prices={**model.first_prices, group: value})
        case ("loss" | "reward") as kind, commit, state:
            rows = [list(row) for row in model.rewards]
            rows[model.commits.index(commit)][model.states.index(state)] = -value if kind == "loss" else value
            return model._replace(rewards=tuple(map(tuple, rows)))
    kind, name, state, outcome = parameter
    assert kind == "likelihood"
    tests = []
    for test in model.tests:
        if test.name == name:
            likelihood = list(test.rows)
            place = model.states.index(state)
            likelihood[place] = _moved(likelihood[place], test.outcomes.index(outcome), value)
            test = test._replace(rows=tuple(likelihood))
        tests.append(test)
    return model._replace(tests=tuple(tests))


def _moved(row: Row, place: int, value: Fraction) -> Row:
    """`row` with `value` at `place`, the rest in the proportions it had."""
    rest = sum(row) - row[place]
    return tuple(value if k == place else share * (1 - value) / rest for k, share in enumerate(row))

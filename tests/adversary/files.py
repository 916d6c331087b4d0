"""Random model files: what people may write, and what they would rather not.

A file is drawn as maps, lists and decimals, and written as YAML or JSON; nothing here knows what the numbers mean to
rhoplan. The families lay stress on what floats do badly: rare states with giant losses, prices in cents that add up to
the cap exactly, costs of 1e-10, uniform priors over 2^j states, results that are all but certain. Draws are of whole
numbers mostly, so zeros, equal rows and exact ties come up often.
"""

import json
import random
from decimal import Decimal
from typing import Any

Record = dict[str, Any]

FAMILIES = {"plain": 30, "cents": 15, "giant": 20, "tiny": 10, "dyadic": 10, "rare": 15}

MOST_EVIDENCE = 400
"""Combinations of results that all tests together may have, each run once."""


def draw_file(seed: int) -> Record:
    """The fields of a random model file."""
    rng = random.Random(seed)
    family = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
    states = 2 ** rng.randint(1, 4) if family == "dyadic" else rng.choice([1, 2, 2, 2, 2, 3, 3, 4, 5])
    names = [f"s{s}" for s in range(states)]
    record: Record = {"name": f"adversary-{seed}", "unit": rng.choice(["EUR", "points"]), "states": names}
    record |= _prior(rng, family, names)
    tests = _tests(rng, family, names, record)
    if rng.random() < 0.4 and tests:
        groups = [f"g{g}" for g in range(rng.randint(1, 2))]
        for test in tests.values():
            if rng.random() < 0.6:
                test["group"] = rng.choice(groups)
        used = [group for group in groups if any(test.get("group") == group for test in tests.values())]
        record["groups"] = {group: {} if rng.random() < 0.2 else {"first": _cost(rng, family)} for group in used}
    if rng.random() < 0.4:
        for place, (name, test) in enumerate(tests.items()):
            earlier = [other for other in list(tests)[:place] if other != name]
            if earlier and rng.random() < 0.6:
                waits = rng.sample(earlier, rng.randint(1, min(2, len(earlier))))
                test["after"] = waits[0] if len(waits) == 1 and rng.random() < 0.5 else waits
    if rng.random() < 0.3:
        shuffled = list(tests.items())
        rng.shuffle(shuffled)
        tests = dict(shuffled)
    if not record.get("groups"):
        record.pop("groups", None)
    if tests or rng.random() < 0.5:
        record["tests"] = tests
    record |= _commits(rng, family, names)
    cap = _cap(rng, tests, record)
    if cap:
        record["cap"] = cap
    if rng.random() < 0.5:
        record["horizon"] = rng.randint(1, 4)
    if rng.random() < 0.1:
        record["info"] = {"about": "drawn at random", "illustrative": True}
    return _with_positive(record)


def _with_positive(record: Record) -> Record:
    """The record with the state named that its prevalence and its shorthands are about, in one of the two ways."""
    rates = any("likelihood" not in test for test in record.get("tests", {}).values())
    named = "positive" in record or isinstance(record.get("prevalence"), dict)
    if named or not (rates or "prevalence" in record):
        return record
    last = record["states"][-1]
    if "prevalence" in record and len(record.get("tests", {})) % 2:
        return {**record, "prevalence": {last: record["prevalence"]}}
    return {**record, "positive": last}


def draw_world(record: Record, seed: int) -> Record:
    """A file with the names and rules of `record` and numbers of its own; now and then one that agrees in part."""
    rng = random.Random(seed)
    names = record["states"]
    world = {**record, "name": f"{record['name']}-world"}
    if rng.random() < 0.6:
        for field in ("prior", "prevalence"):
            world.pop(field, None)
        world["prior"] = _distribution(rng, len(names), zeros=rng.random() < 0.3)
    tests = {}
    for name, test in record.get("tests", {}).items():
        changed = dict(test)
        if "likelihood" in test and rng.random() < 0.6:
            outcomes = len(test["outcomes"])
            changed["likelihood"] = {s: _distribution(rng, outcomes, zeros=rng.random() < 0.1) for s in names}
        if "sensitivity" in test and rng.random() < 0.6:
            changed["sensitivity"], changed["specificity"] = _rate(rng), _rate(rng)
        if rng.random() < 0.4:
            changed["cost"] = test["cost"] * rng.randint(0, 3)
        tests[name] = changed
    if "tests" in record:
        world["tests"] = tests
    field = "losses" if "losses" in record else "commits"
    if rng.random() < 0.4:
        world[field] = {
            name: {s: value * rng.randint(0, 3) for s, value in _by_name(row, names).items()}
            for name, row in record[field].items()
        }
    return _with_positive(world)


def as_json(record: Record) -> str:
    return _flow(record)


def as_yaml(record: Record) -> str:
    """A file for people: one line for every test, commit and group."""
    lines = []
    for field, value in record.items():
        if isinstance(value, dict) and value and all(isinstance(part, dict | list) for part in value.values()):
            lines += [f"{field}:", *(f"  {name}: {_flow(part)}" for name, part in value.items())]
        else:
            lines.append(f"{field}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_flow(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value)


def _by_name(row: Any, names: list[str]) -> dict[str, Decimal]:
    return row if isinstance(row, dict) else dict(zip(names, row, strict=True))


def _prior(rng: random.Random, family: str, names: list[str]) -> Record:
    two, states = len(names) == 2, len(names)
    found: Record = {"positive": rng.choice(names)} if two and rng.random() < 0.3 else {}
    if family == "dyadic" or rng.random() < 0.15:
        return found if rng.random() < 0.5 else {**found, "prior": _uniform(states)}
    if family in ("giant", "rare") and states > 1:
        shares = [Decimal(rng.randint(1, 9)).scaleb(-rng.choice([3, 6, 9, 13, 13, 14, 16])) for _ in names[1:]]
        shares = [Decimal(0) if rng.random() < 0.1 else share for share in shares]
        shares.insert(rng.randrange(states), 1 - sum(shares))
        return {**found, "prior": _listed(rng, shares, names)}
    if two and rng.random() < 0.4:
        share = _rate(rng)
        return {**found, "prevalence": _percent(share) if rng.random() < 0.5 else share}
    return {**found, "prior": _listed(rng, _distribution(rng, states, zeros=rng.random() < 0.3), names)}


def _tests(rng: random.Random, family: str, names: list[str], record: Record) -> dict[str, Record]:
    tests: dict[str, Record] = {}
    evidence = 1
    for place in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5])):
        test: Record = {"cost": _cost(rng, family)}
        if len(names) == 2 and rng.random() < 0.25:
            test |= _shorthand(rng)
            outcomes = 3 if "inconclusive" in test else 2
        else:
            rows = _likelihood(rng, family, len(names), [t for t in tests.values() if "likelihood" in t])
            outcomes = len(rows[0])
            test["outcomes"] = [f"o{o}" for o in range(outcomes)]
            as_map = rng.random() < 0.2
            test["likelihood"] = {
                s: dict(zip(test["outcomes"], row, strict=True)) if as_map else row
                for s, row in zip(names, rows, strict=True)
            }
        if evidence * (outcomes + 1) > MOST_EVIDENCE:
            break
        evidence *= outcomes + 1
        if rng.random() < 0.3:
            test["repeat"] = rng.choice(["independent", "independent", "once"])
        tests[f"t{place}"] = test
    return tests


def _shorthand(rng: random.Random) -> Record:
    kind = rng.randint(0, 3)
    if kind <= 1:
        found: Record = {"sensitivity": _rate(rng), "specificity": _rate(rng)}
        if rng.random() < 0.5:
            found = {name: _percent(value) for name, value in found.items()}
    elif kind == 2:
        found = {"lr_positive": Decimal(rng.randint(11, 400)) / 10, "lr_negative": Decimal(rng.randint(0, 9)) / 10}
    else:
        found = dict(zip(("tp", "fn", "fp", "tn"), (rng.randint(1, 50) for _ in range(4)), strict=True))
    if rng.random() < 0.3:
        found["inconclusive"] = Decimal(rng.randint(0, 10)) / 20
    if rng.random() < 0.3:
        found["outcomes"] = ["low", "high", "unclear"][: 3 if "inconclusive" in found else 2]
    return found


def _likelihood(rng: random.Random, family: str, states: int, earlier: list[Record]) -> list[list[Decimal]]:
    kind, outcomes = rng.randint(0, 9), rng.choice([1, 2, 2, 2, 2, 3, 3, 4, 5])
    if kind == 0:  # says nothing
        return [_distribution(rng, outcomes, zeros=True)] * states
    if kind == 1 and earlier:  # the same as a test that is there already
        rows = [
            row if isinstance(row, list) else list(row.values()) for row in rng.choice(earlier)["likelihood"].values()
        ]
        return rows
    if kind <= 3 or (family == "dyadic" and kind <= 7):  # certain
        outcomes = max(outcomes, 2)
        places = [rng.randrange(outcomes) for _ in range(states)]
        return [[Decimal(int(o == place)) for o in range(outcomes)] for place in places]
    if kind <= 6:  # errs alike on both labels
        right = 1 - Decimal(1).scaleb(-rng.choice([6, 9, 12, 13])) if rng.random() < 0.15 else _rate(rng, low=10)
        return [[right, 1 - right] if rng.random() < 0.5 else [1 - right, right] for _ in range(states)]
    return [_distribution(rng, max(outcomes, 2), zeros=rng.random() < 0.4) for _ in range(states)]


def _commits(rng: random.Random, family: str, names: list[str]) -> Record:
    losses = rng.random() < 0.4
    rows: list[list[Decimal]]
    if rng.random() < 0.4:
        wrong, right = _money(rng, family), _money(rng, family) if rng.random() < 0.3 else Decimal(0)
        rows = [[right if s == i else -abs(wrong) for s in range(len(names))] for i in range(min(len(names), 8))]
    else:
        rows = [[_money(rng, family) for _ in names] for _ in range(rng.randint(1, 4))]
    if losses:
        rows = [[abs(value) for value in row] for row in rows]
    return {"losses" if losses else "commits": {f"c{i}": _listed(rng, row, names) for i, row in enumerate(rows)}}


def _cap(rng: random.Random, tests: dict[str, Record], record: Record) -> Record:
    cap: Record = {}
    if rng.random() < 0.3:
        cap["tests"] = rng.randint(0, 4)
    if tests and rng.random() < 0.3:
        # Prices of some tests in a row: the cap is met to the cent, or missed by the last digit of a price.
        run = rng.choices(list(tests), k=rng.randint(1, 4))
        groups = {tests[name]["group"] for name in run if "group" in tests[name]}
        total = sum(tests[name]["cost"] for name in run)
        total += sum(record["groups"][group].get("first", Decimal(0)) for group in groups)
        last = min(Decimal(1).scaleb(int(tests[name]["cost"].as_tuple().exponent)) for name in run)
        cap["spend"] = max(Decimal(0), total - (last if rng.random() < 0.2 else 0))
    return cap


def _cost(rng: random.Random, family: str) -> Decimal:
    if rng.random() < 0.08:
        return Decimal(0)
    if family == "cents":
        return Decimal(rng.randint(1, 10 ** rng.choice([3, 5, 8]))) / 100
    if family == "giant":
        return Decimal(rng.randint(1, 99)).scaleb(rng.choice([-3, -1, 0]))
    if family == "tiny":
        return Decimal(rng.randint(1, 9)).scaleb(-10)
    return Decimal(rng.randint(0, 16)) / 8


def _money(rng: random.Random, family: str) -> Decimal:
    if family == "cents":
        return Decimal(rng.randint(-(10**10), 10**9)) / 100
    if family == "giant" and rng.random() < 0.6:
        return Decimal(rng.choice([-9, -5, -2, -1, -1, 1, 2])).scaleb(rng.choice([12, 13, 13, 15, 18]))
    if family == "tiny":
        return Decimal(rng.randint(-60, 40)).scaleb(-rng.choice([8, 9, 10]))
    return Decimal(rng.randint(-60, 40)) / 2


def _rate(rng: random.Random, low: int = 0) -> Decimal:
    """A probability in steps of a twentieth, seldom an extreme one."""
    if rng.random() < 0.05:
        return Decimal(rng.randint(1, 9)).scaleb(-rng.choice([9, 13]))
    return Decimal(rng.randint(low, 20)) / 20


def _percent(share: Decimal) -> str:
    return f"{format(share * 100, 'f')}%"


def _uniform(size: int) -> list[Decimal]:
    share = (Decimal(1) / size).quantize(Decimal(1).scaleb(-16))
    return [share] * (size - 1) + [1 - share * (size - 1)]


def _distribution(rng: random.Random, size: int, *, zeros: bool) -> list[Decimal]:
    """Decimals that sum to exactly 1."""
    weights = [rng.randint(0 if zeros else 1, 12) for _ in range(size)]
    total = sum(weights)
    if not total:
        return _uniform(size)
    shares = [(Decimal(weight) / total).quantize(Decimal(1).scaleb(-16)).normalize() for weight in weights]
    largest = weights.index(max(weights))
    shares[largest] += 1 - sum(shares)
    return shares


def _listed(rng: random.Random, row: list[Decimal], names: list[str]) -> Any:
    """The row as a list or as a map."""
    return row if rng.random() < 0.4 else dict(zip(names, row, strict=True))

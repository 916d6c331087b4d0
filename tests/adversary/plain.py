"""A model file as exact fractions: the oracle's own reading of the fields, shorthands included."""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from adversary.files import Record

Row = tuple[Fraction, ...]


class PlainTest(NamedTuple):
    name: str
    cost: Fraction
    outcomes: tuple[str, ...]
    rows: tuple[Row, ...]
    once: bool
    group: str
    after: tuple[int, ...]

    @property
    def whole(self) -> tuple[int, tuple[tuple[int, ...], ...]]:
        """A common denominator of all rows, and the numerators."""
        common = lcm(*(share.denominator for row in self.rows for share in row))
        return common, tuple(tuple(int(share * common) for share in row) for row in self.rows)


class PlainModel(NamedTuple):
    states: tuple[str, ...]
    prior: Row
    tests: tuple[PlainTest, ...]
    commits: tuple[str, ...]
    rewards: tuple[Row, ...]
    first_prices: Mapping[str, Fraction]
    most_tests: int | None
    budget: Fraction | None
    counts_losses: bool

    @property
    def longest(self) -> int | None:
        """How many tests an episode can have at most; None where there is no end."""
        limits = [self.most_tests] if self.most_tests is not None else []
        if all(test.once for test in self.tests):
            limits.append(len(self.tests))
        elif self.budget is not None and all(test.cost > 0 for test in self.tests if not test.once):
            cheapest = min(test.cost for test in self.tests if not test.once)
            limits.append(int(self.budget / cheapest) + sum(test.once for test in self.tests))
        return min(limits) if limits else None


def read(record: Record) -> PlainModel:
    """What a file says, in fractions of the decimals that stand there."""
    states = tuple(record["states"])
    positive = positive_of(record)
    names = list(record.get("tests", {}))
    tests = tuple(_test(name, record["tests"][name], states, positive, names) for name in names)
    sign = -1 if "losses" in record else 1
    commits = record.get("losses") or record["commits"]
    rewards = tuple(tuple(sign * share for share in _row(row, states)) for row in commits.values())
    cap = record.get("cap", {})
    return PlainModel(
        states=states,
        prior=_prior(record, states, positive),
        tests=tests,
        commits=tuple(commits),
        rewards=rewards,
        first_prices={g: exact(group["first"]) for g, group in record.get("groups", {}).items() if "first" in group},
        most_tests=cap.get("tests"),
        budget=exact(cap["spend"]) if "spend" in cap else None,
        counts_losses="losses" in record or all(value <= 0 for row in rewards for value in row),
    )


def positive_of(record: Record) -> str:
    """The state that prevalence and shorthands are about; the last one where there are none."""
    share = record.get("prevalence")
    named = next(iter(share)) if isinstance(share, dict) else record["states"][-1]
    found: str = record.get("positive", named)
    return found


def exact(value: Any) -> Fraction:
    """The number as it is written: decimals, a percentage, or a float by its shortest decimals."""
    if isinstance(value, str):
        return Fraction(value.removesuffix("%")) / 100
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _row(row: Any, names: tuple[str, ...]) -> Row:
    return tuple(exact(row[name]) for name in names) if isinstance(row, dict) else tuple(map(exact, row))


def _prior(record: Record, states: tuple[str, ...], positive: str) -> Row:
    if "prevalence" in record:
        share = record["prevalence"]
        share = exact(share[positive] if isinstance(share, dict) else share)
        return tuple(share if state == positive else 1 - share for state in states)
    return _row(record["prior"], states) if "prior" in record else (Fraction(1, len(states)),) * len(states)


def _test(name: str, test: Record, states: tuple[str, ...], positive: str, names: list[str]) -> PlainTest:
    after = test.get("after", [])
    waits = tuple(names.index(other) for other in ([after] if isinstance(after, str) else after))
    if "likelihood" in test:
        outcomes = tuple(test["outcomes"])
        rows = tuple(_row(test["likelihood"][state], outcomes) for state in states)
    else:
        silent = "inconclusive" in test
        outcomes = tuple(test.get("outcomes", ["negative", "positive", "inconclusive"][: 2 + silent]))
        sensitivity, specificity = _rates(test)
        quiet = exact(test.get("inconclusive", 0))
        pair = ((specificity, 1 - specificity), (1 - sensitivity, sensitivity))
        rows = tuple(
            (*((1 - quiet) * share for share in pair[state == positive]), *([quiet] if silent else []))
            for state in states
        )
    once = test.get("repeat", "once") == "once"
    return PlainTest(name, exact(test["cost"]), outcomes, rows, once, test.get("group", ""), waits)


def _rates(test: Record) -> tuple[Fraction, Fraction]:
    if "sensitivity" in test:
        return exact(test["sensitivity"]), exact(test["specificity"])
    if "lr_positive" in test:
        high, low = exact(test["lr_positive"]), exact(test["lr_negative"])
        return high * (1 - low) / (high - low), (high - 1) / (high - low)
    return Fraction(test["tp"], test["tp"] + test["fn"]), Fraction(test["tn"], test["tn"] + test["fp"])

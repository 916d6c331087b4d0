"""The oracle: a plain recursion over evidence, in exact probabilities.

Evidence is a count for every outcome of every test. Two ways to the same counts are one place; beliefs are never
compared. What has been run, paid and spent follows from the counts, in exact fractions. The probability of a state
together with the evidence is a whole number over a known denominator, so a ratio of two is rounded once, however small
it is. Values are floats that come with the sum of the sizes of their terms (`Worth.size`): a sum of floats is right to
about 1e-15 of that, and this is the yardstick of every comparison, not the largest reward of the model.

Information is sum p(s) p(o) h(r) with r = p(s, o) / p(s) p(o) and h(r) = r ln r - r + 1, which is never negative: no
digits cancel, even where next to nothing is learnt.
"""

import math
from functools import cache
from typing import NamedTuple

from adversary.plain import PlainModel

Evidence = tuple[int, ...]
Action = tuple[str, int]

SURE_TIE, SURE_WIN = 1e-13, 1e-9
"""The tie rule says 1e-12 of the size at hand. Closer than the first it is a tie for anybody, further than the second
for nobody; in between rounding may decide."""


class TooLarge(Exception):
    """More evidence than the oracle is willing to look at."""


class Doubtful(Exception):
    """A choice on the way is neither a clear tie nor clearly none."""


class ImpossibleOutcome(Exception):
    """The world drew an outcome that the agent's model excludes."""


class Goal(NamedTuple):
    """What an agent is after; the weight is per nat."""

    horizon: int
    weight: float = 0.0
    discount: float = 1.0
    commits_count: bool = True


class Worth(NamedTuple):
    """A value, the sizes of its terms added up, and the gains among its rewards."""

    value: float
    size: float
    gains: float = 0.0


class Parts(NamedTuple):
    """What a test is worth: -price + weighted information + continuation."""

    price: float
    information: float
    continuation: Worth
    worth: Worth


class Places:
    """All that evidence says of a model, whatever the goal: probabilities, what may be run, what it costs."""

    def __init__(self, model: PlainModel, most: int = 3000) -> None:
        self.model, self.most = model, most
        self.first: list[int] = []
        total = 0
        for test in model.tests:
            self.first.append(total)
            total += len(test.outcomes)
        self.start: Evidence = (0,) * total
        common = math.lcm(*(share.denominator for share in model.prior))
        self._whole = [test.whole for test in model.tests]
        self._joint = {self.start: (tuple(int(share * common) for share in model.prior), common)}
        self.rewards = [[float(value) for value in row] for row in model.rewards]
        self.chances = cache(self._chances)
        self.allowed = cache(self._allowed)
        self.belief = cache(self._belief)
        self.entropy = cache(self._entropy)
        self.information = cache(self._information)

    def after(self, evidence: Evidence, test: int, outcome: int) -> Evidence:
        """`evidence` with one result more; its probabilities are known from then on."""
        place = self.first[test] + outcome
        found = (*evidence[:place], evidence[place] + 1, *evidence[place + 1 :])
        if found not in self._joint:
            if len(self._joint) >= self.most:
                raise TooLarge
            joint, common = self._joint[evidence]
            below, rows = self._whole[test]
            self._joint[found] = tuple(p * row[outcome] for p, row in zip(joint, rows, strict=True)), common * below
        return found

    def joint(self, evidence: Evidence) -> tuple[tuple[int, ...], int]:
        """Probability of each state together with `evidence`, in one order, over a common denominator."""
        return self._joint[evidence]

    def runs(self, evidence: Evidence, test: int) -> int:
        first = self.first[test]
        return sum(evidence[first : first + len(self.model.tests[test].outcomes)])

    def spent(self, evidence: Evidence, costs: PlainModel | None = None):
        """What all tests of `evidence` cost together, at the prices of `costs`."""
        tests, prices = (costs or self.model).tests, (costs or self.model).first_prices
        runs = [self.runs(evidence, k) for k in range(len(tests))]
        groups = {test.group for test, count in zip(tests, runs, strict=True) if count}
        total = sum(test.cost * count for test, count in zip(tests, runs, strict=True))
        return total + sum(prices.get(group, 0) for group in groups)

    def _allowed(self, evidence: Evidence) -> dict[int, float]:
        """Tests that may be run now, and their prices."""
        model = self.model
        runs = [self.runs(evidence, k) for k in range(len(model.tests))]
        if model.most_tests is not None and sum(runs) >= model.most_tests:
            return {}
        paid = {test.group for test, count in zip(model.tests, runs, strict=True) if count}
        spent = self.spent(evidence)
        found = {}
        for k, test in enumerate(model.tests):
            price = test.cost + (0 if test.group in paid else model.first_prices.get(test.group, 0))
            if (test.once and runs[k]) or not all(runs[other] for other in test.after):
                continue
            if model.budget is None or spent + price <= model.budget:
                found[k] = float(price)
        return found

    def _belief(self, evidence: Evidence) -> tuple[float, ...]:
        joint, _ = self._joint[evidence]
        total = sum(joint)
        return tuple(p / total for p in joint)

    def logs(self, evidence: Evidence) -> tuple[float, ...]:
        """Log of the chance of each state: a number also where the chance is too small for a float."""
        joint, _ = self._joint[evidence]
        total = sum(joint)
        return tuple(_log_ratio(p, total) if p else -math.inf for p in joint)

    def _entropy(self, evidence: Evidence) -> float:
        pairs = zip(self.belief(evidence), self.logs(evidence), strict=True)
        return math.fsum(-chance * log for chance, log in pairs if chance)

    def _chances(self, evidence: Evidence, test: int) -> list[tuple[float, Evidence]]:
        """Probability of each outcome that can happen, and the evidence then."""
        below, total = self._whole[test][0], sum(self._joint[evidence][0])
        found = []
        for outcome in range(len(self.model.tests[test].outcomes)):
            then = self.after(evidence, test, outcome)
            mass = sum(self._joint[then][0])
            if mass:
                found.append((mass / (below * total), then))
        return found

    def _information(self, evidence: Evidence, test: int) -> float:
        """Nats that the outcome tells of the state."""
        joint, (below, rows) = self._joint[evidence][0], self._whole[test]
        total = sum(joint)
        terms = []
        for outcome in range(len(rows[0])):
            mass = sum(p * row[outcome] for p, row in zip(joint, rows, strict=True))
            for p, row in zip(joint, rows, strict=True):
                if p and mass:
                    # r = row * total / mass, and p(s) p(o) = (p / total) (mass / (below * total))
                    terms.append(p / total * (mass / (below * total)) * _bend(row[outcome] * total, mass))
        return math.fsum(terms)


class Oracle:
    """Values and choices of a goal on the places of a model."""

    def __init__(self, places: Places, goal: Goal) -> None:
        self.places, self.goal = places, goal
        self.value = cache(self._value)
        self.parts = cache(self._parts)
        self.commits = cache(self._commits)
        self.choices = cache(self._choices)

    def _commits(self, evidence: Evidence) -> list[Worth]:
        """Expected reward of every commit."""
        belief = self.places.belief(evidence)
        found = []
        for row in self.places.rewards:
            terms = [b * r for b, r in zip(belief, row, strict=True)]
            gains = math.fsum(term for term in terms if term > 0)
            found.append(Worth(math.fsum(terms), math.fsum(map(abs, terms)), gains))
        return found

    def _value(self, evidence: Evidence, depth: int) -> Worth:
        ending = max(self.commits(evidence)) if self.goal.commits_count else Worth(0.0, 0.0)
        if depth == 0:
            return ending
        going = [self.parts(evidence, test, depth).worth for test in self.places.allowed(evidence)]
        return max([ending, *going])

    def _parts(self, evidence: Evidence, test: int, depth: int) -> Parts:
        goal, price = self.goal, self.places.allowed(evidence)[test]
        later = [(p, self.value(then, depth - 1)) for p, then in self.places.chances(evidence, test)]
        follows = Worth(
            goal.discount * math.fsum(p * worth.value for p, worth in later),
            goal.discount * math.fsum(p * worth.size for p, worth in later),
            goal.discount * math.fsum(p * worth.gains for p, worth in later),
        )
        told = self.places.information(evidence, test)
        value = math.fsum([-price, goal.weight * told, follows.value])
        # Chances of size 1 are known to 1e-16, so what a result tells is known to 1e-15 nats, not to 1e-15 of itself.
        size = price + goal.weight * max(told, 1e-6 * bool(len(self.places.model.states) > 1)) + follows.size
        return Parts(price, told, follows, Worth(value, size, follows.gains))

    def endings(self, evidence: Evidence) -> list[int]:
        """Commits that may be the one taken: one, unless a tie is doubtful."""
        return winners(self.commits(evidence))

    def _choices(self, evidence: Evidence) -> list[Action]:
        """Actions that may be the one taken at `evidence`: one, unless a tie is doubtful."""
        tests = list(self.places.allowed(evidence))
        ending = max(self.commits(evidence)) if self.goal.commits_count else Worth(0.0, 0.0)
        worths = [ending, *(self.parts(evidence, test, self.goal.horizon).worth for test in tests)]
        found: list[Action] = []
        for place in winners(worths, self.goal.weight * self.places.entropy(evidence)):
            if place:
                found.append(("test", tests[place - 1]))
            else:
                found += [("commit", commit) for commit in self.endings(evidence)]
        return found

    def choice(self, evidence: Evidence) -> Action:
        """The action taken at `evidence`."""
        found = self.choices(evidence)
        if len(found) > 1:
            raise Doubtful
        return found[0]

    def probabilities(self, evidence: Evidence, precision: float) -> list[tuple[Action, float]]:
        """Every action that may be taken and its probability: softmax of precision * value, or the choice."""
        if math.isinf(precision):
            return [(self.choice(evidence), 1.0)]
        if self.goal.commits_count:
            values = {("commit", i): worth.value for i, worth in enumerate(self.commits(evidence))}
        else:
            best = self.endings(evidence)
            if len(best) > 1:
                raise Doubtful
            values = {("commit", best[0]): 0.0}
        for test in self.places.allowed(evidence):
            values["test", test] = self.parts(evidence, test, self.goal.horizon).worth.value
        top = max(values.values())
        weights = {action: math.exp(precision * (value - top)) for action, value in values.items()}
        total = math.fsum(weights.values())
        return [(action, weight / total) for action, weight in weights.items()]


def winners(worths: list[Worth], information: float = 0.0) -> list[int]:
    """Indices of which one wins: the first of those that tie with the best, by the larger of the two scales.

    information: all that there is to learn counts as a gain, since what is learned is a difference of entropies.
    """
    best = max(worths)

    def apart(worth: Worth) -> float:
        scale = max(abs(one.value) + 2 * (one.gains + information) for one in (best, worth))
        return (best.value - worth.value) / scale if scale else 0.0

    surely = next(i for i, worth in enumerate(worths) if apart(worth) <= SURE_TIE)
    return [i for i, worth in enumerate(worths[: surely + 1]) if apart(worth) <= SURE_WIN or i == surely]


def _log_ratio(above: int, below: int) -> float:
    """ln(above / below), to its last digits where they are nearly the same."""
    apart = (above - below) / below if abs(above - below) < below else 1.0
    return math.log1p(apart) if abs(apart) < 0.5 else math.log(above) - math.log(below)


def _bend(above: int, below: int) -> float:
    """h(r) = r ln r - r + 1 for r = above / below."""
    if not above:
        return 1.0
    try:
        apart = (above - below) / below
    except OverflowError:
        raise TooLarge from None  # more than 1e308 times as likely
    if abs(apart) < 1e-3:
        return apart * apart * (1 / 2 - apart * (1 / 6 - apart * (1 / 12 - apart * (1 / 20 - apart / 30))))
    return (1 + apart) * _log_ratio(above, below) - apart

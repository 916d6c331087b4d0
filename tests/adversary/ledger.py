"""What was compared, how far apart it was, and what differs by more than it may."""

import math
from collections import Counter
from dataclasses import dataclass, field

ALLOWED = 1e-9
"""How far numbers may be apart, as a share of the sizes of the terms they are sums of."""

LOG_NOISE = 1e-14
"""How far expected logs and entropies may be apart in nats: chances near 1 are known to 1e-16 only."""


@dataclass(frozen=True)
class Difference:
    seed: int
    kind: str
    what: str
    found: str
    wanted: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.kind}: {self.what} is {self.found}; the oracle says {self.wanted}"


@dataclass
class Ledger:
    """Counts of comparisons by kind, of what could not be compared, the largest shares apart, and the differences."""

    seed: int = -1
    kind: str = ""
    checks: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    worst: dict[str, tuple[float, int, str]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def near(self, what: str, found: float, wanted: float, size: float, *, noise: float = 0.0) -> None:
        """Compare numbers: `size` is the sum of the sizes of the terms, `noise` what is allowed besides."""
        self.checks[self.kind] += 1
        if found == wanted:
            return
        apart = abs(found - wanted) - noise
        share = max(0.0, apart / max(size, 1e-300)) if math.isfinite(apart) else math.inf
        if not share <= ALLOWED:
            self.report(what, repr(found), f"{wanted!r} (size {size:.3g})")
        elif share > self.worst.get(self.kind, (0.0, 0, ""))[0]:
            self.worst[self.kind] = share, self.seed, what

    def at_most(self, what: str, found: float, limit: float, size: float) -> None:
        """`found` must not exceed `limit` but for rounding."""
        self.near(what, max(found, limit), limit, size)

    def one_of(self, what: str, found: object, accepted: object) -> None:
        self.checks[self.kind] += 1
        if found not in accepted:  # type: ignore[operator]
            self.report(what, str(found), " or ".join(map(str, accepted)))  # type: ignore[call-overload]

    def same(self, what: str, found: object, wanted: object) -> None:
        self.one_of(what, found, (wanted,))

    def report(self, what: str, found: str, wanted: str) -> None:
        self.differences.append(Difference(self.seed, self.kind, what, found, wanted))

    def add(self, other: "Ledger") -> None:
        for name in ("checks", "skipped", "models"):
            getattr(self, name).update(getattr(other, name))
        for kind, worst in other.worst.items():
            self.worst[kind] = max(worst, self.worst.get(kind, worst))
        self.differences += other.differences

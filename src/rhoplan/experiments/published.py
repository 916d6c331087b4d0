"""Numbers printed in the paper, as data, each with its place. Checked against the paper's text by a test.

Rows hold: mean number of tests, success rate, mean reward and its standard error as printed (None where not given).
Weights are as printed; whether they are per nat, as the paper says, or per bit is found by computing both (`core`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedRow:
    """One agent's line in one of the paper's tables."""

    problem: str
    agent: str
    weight: float | None
    tests: float
    success: float
    reward: float
    reward_se: float | None
    episodes: int
    place: str


def _table(problem: str, place: str, episodes: int, lines: str) -> tuple[PublishedRow, ...]:
    rows = []
    for line in lines.strip().splitlines():
        agent, weight, tests, success, reward, error = line.split()
        printed = (float(tests), float(success) / 100, float(reward), float(error))
        rows.append(PublishedRow(problem, agent, None if weight == "-" else float(weight), *printed, episodes, place))
    return tuple(rows)


CORE = (
    *_table("tiger", "Appendix B, Tiger", 5000, """
        myopic          -   1.00  84.6   -7.98  0.56
        planning        -   4.28  99.5    5.15  0.12
        info-gain      20   4.25  99.6    5.31  0.10
        planning-ig    20   4.20  99.4    5.19  0.12
        epistemic-only  -   0.00  50.1  -44.93  0.78
        efe             -   4.22  99.5    5.23  0.11
    """),
    *_table("testbed", "Appendix C, Testbed", 5000, """
        myopic          -   1.00  75.0    0.40  0.01
        planning        -   3.22  90.5    0.49  0.01
        info-gain      50  12.02  99.9   -0.20  0.01
        planning-ig    50  13.99  99.9   -0.40  0.01
        efe             -   5.55  97.1    0.39  0.01
    """),
    *_table("diagnosis", "Appendix B, Diagnosis", 5000, """
        myopic          -   2.00  64.2  -13.48  0.41
        planning        -   5.91  89.2   -2.37  0.26
        info-gain     100  13.27  99.2   -3.75  0.10
        planning-ig   100  13.21  99.3   -3.63  0.10
        efe             -   9.73  97.1   -1.50  0.15
    """),
    *_table("bandit", "Appendix B, Structured bandit", 5000, """
        myopic          -   2.04  61.7    5.53  0.06
        planning        -   3.24  69.6    5.65  0.06
        info-gain      50  10.99  99.7    4.48  0.04
        planning-ig   100  12.41  99.8    3.78  0.04
        epistemic-only  -   0.00  25.1    3.26  0.06
        efe             -   5.16  87.3    6.27  0.05
    """),
)  # fmt: skip

"""Small tables with known truth for the tests of learning."""

from __future__ import annotations

import numpy as np

from bridge import CaseTable as Table
from bridge import LearningPlan as Plan
from bridge import parse_plan, table_of

PLAN = """
unit: points
target: outcome
tests:
  good: {cost: 1}
  fair: {cost: 1}
  noise: {cost: 1}
losses:
  call-well: {well: 0, ill: 40}
  call-ill: {well: 40, ill: 0}
"""


def plan_of(text: str = PLAN) -> Plan:
    return parse_plan(text, file="plan.yaml")


def signal_table(cases: int = 150, seed: int = 0, strength: float = 3.0) -> Table:
    """Two diagnoses; `good` and `fair` tell them apart, `noise` does not. strength 0: nothing does."""
    generator = np.random.default_rng(seed)
    ill = generator.random(cases) < 0.4
    good = generator.normal(strength * ill, 1.0).round(2)
    fair = generator.normal(strength * ill / 2, 1.0).round(2)
    noise = generator.normal(size=cases).round(2)
    outcome = np.where(ill, "ill", "well")
    columns = {"good": good, "fair": fair, "noise": noise, "outcome": outcome}
    return table_of(list(columns), [column.tolist() for column in columns.values()])

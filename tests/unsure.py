"""A small model with uncertain numbers, that several tests ask about."""

SMALL = """
name: small
unit: EUR
states: [well, ill]
prevalence: {ill: 20% (12-30)}
tests:
  smear: {cost: 5, sensitivity: 0.83 (0.70-0.92), specificity: 90% (80-96)}
  scan: {cost: 12 to 20, tp: 45, fn: 5, fp: 6, tn: 94}
losses:
  leave: {well: 0, ill: 300 to 700}
  treat: {well: 100 (60-150), ill: 10}
horizon: 2
"""

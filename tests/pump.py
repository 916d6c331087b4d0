"""A model with two hidden factors, one of which changes by itself, and an action that shows something of both."""

from __future__ import annotations

PUMP = """unit: EUR
factors: {a: {states: [g, b], prior: [0.7, 0.3]}, c: {states: [x, y]}}
actions:
  go:
    reward: {a: {g: {ok: {g: 5, b: -2}, odd: 1}, b: {ok: 0, odd: -4}}}
    parts:
      a: {outcomes: [ok, odd], likelihood: {g: [0.8, 0.2], b: [0.4, 0.6]}, change: {g: {g: 0.75, b: 0.25}}}
      c: {outcomes: [hi, lo], likelihood: {x: [0.9, 0.1], y: [0.3, 0.7]}}
  fix: {cost: 3, parts: {a: {change: {b: g}}}}
  out: {ends: true, reward: {a: {g: 2, b: -2}, c: {x: 1, y: -1}}}
passive: {c: {x: {x: 0.8, y: 0.2}}}
discount: 0.9
cap: 6
"""

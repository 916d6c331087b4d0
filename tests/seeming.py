"""Problems of errands that are not what they look like from their starts."""

from __future__ import annotations

from bridge import parse_problem
from rhoplan import POMDP

EVEN = "states: [good, bad], prior: [0.5, 0.5]"

PERFECT = "outcomes: [g, x], likelihood: {good: [1, 0], bad: [0, 1]}"

DUSTY = f"""
factors: {{a: {{states: [good, bad], prior: [0.9, 0.1]}}, b: {{{EVEN}}}}}
places: [clean, dusty, b-done, all-done]
actions:
  sample-a:
    - {{at: clean, to: dusty, reward: {{a: {{good: 100, bad: -10}}}}}}
    - {{at: b-done, to: all-done, reward: {{a: {{good: 100, bad: -10}}}}}}
  look-b:
    - {{at: clean, cost: 0.1, parts: {{b: {{{PERFECT}}}}}}}
    - {{at: dusty, cost: 0.1, parts: {{b: {{outcomes: [g, x], likelihood: {{good: [0.5, 0.5], bad: [0.5, 0.5]}}}}}}}}
  sample-b:
    - {{at: clean, to: b-done, reward: {{b: {{good: 10, bad: -10}}}}}}
    - {{at: dusty, to: all-done, reward: {{b: {{good: 10, bad: -10}}}}}}
  exit: {{ends: true}}
discount: 0.95
"""
"""After a the test of b tells nothing: the plan that tests it then is not worth what it looks like."""

BESIDE = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
actions:
  look-a: {{cost: 0.1, parts: {{a: {{outcomes: [g, x], likelihood: {{good: [0.9, 0.1], bad: [0.1, 0.9]}}}}}}}}
  look-b: {{cost: 0.1, parts: {{b: {{outcomes: [g, x], likelihood: {{good: [0.9, 0.1], bad: [0.1, 0.9]}}}}}}}}
  keep: {{ends: true, reward: {{a: {{good: 1, bad: -5}}}}}}
  drop: {{ends: true, reward: {{a: {{good: -5, bad: 1}}}}}}
"""
"""Nothing is to be done about b, but to know it is worth something where information has a price."""

SHUFFLED = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
places: [x, xa, xb]
actions:
  look-a: {{cost: 0.1, parts: {{a: {{{PERFECT}}}}}}}
  look-b: {{cost: 0.1, parts: {{b: {{{PERFECT}}}}}}}
  call-a:
    - {{at: x, to: xa, reward: {{a: {{good: 1, bad: -1}}}},
       parts: {{a: {{change: {{good: [0.5, 0.5], bad: [0.5, 0.5]}}}}}}}}
    - {{at: xb, ends: true, reward: {{a: {{good: 1, bad: -1}}}},
       parts: {{a: {{change: {{good: [0.5, 0.5], bad: [0.5, 0.5]}}}}}}}}
  call-b:
    - {{at: x, to: xb, reward: {{b: {{good: 1, bad: -1}}}},
       parts: {{b: {{change: {{good: [0.5, 0.5], bad: [0.5, 0.5]}}}}}}}}
    - {{at: xa, ends: true, reward: {{b: {{good: 1, bad: -1}}}},
       parts: {{b: {{change: {{good: [0.5, 0.5], bad: [0.5, 0.5]}}}}}}}}
"""
"""What is dealt with is uncertain anew, and can be tested once more."""

FORCED = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
places: [x, y, xa, ya, xb, yb]
actions:
  go: {{to: {{x: y, y: x, xa: ya, ya: xa, xb: yb, yb: xb}}}}
  call-a-good:
    - {{at: x, to: xa, reward: {{a: {{good: -1, bad: -5}}}}}}
    - {{at: xb, ends: true, reward: {{a: {{good: -1, bad: -5}}}}}}
  call-b-good:
    - {{at: y, to: yb, reward: {{b: {{good: -1, bad: -5}}}}}}
    - {{at: ya, ends: true, reward: {{b: {{good: -1, bad: -5}}}}}}
"""
"""Every way to end is a loss, and walking is free: who walks for ever loses nothing."""

PUT_OFF = FORCED.replace("go: {to", "go: {cost: 0.1, to") + "discount: 0.8\n"

DEAR_EXIT = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
discount: 0.8
places: [x, xa, xb, xab]
actions:
  look-a: {{at: [x, xb], cost: 0.01,
    parts: {{a: {{outcomes: [g, x], likelihood: {{good: [0.8, 0.2], bad: [0.2, 0.8]}}}}}}}}
  take-a:
    - {{at: x, to: xa, reward: {{a: {{good: 1, bad: -1}}}}}}
    - {{at: xb, to: xab, reward: {{a: {{good: 1, bad: -1}}}}}}
  take-b:
    - {{at: x, to: xb, reward: {{b: {{good: 1, bad: -1}}}}}}
    - {{at: xa, to: xab, reward: {{b: {{good: 1, bad: -1}}}}}}
  exit: {{ends: true, cost: 10}}
"""

PIT = f"""
factors: {{rock: {{{EVEN}}}, other: {{{EVEN}}}}}
discount: 0.95
places: [camp, pit, ledge]
actions:
  jump: {{cost: 0.1, to: {{camp: pit}}}}
  walk: {{cost: 0.1, to: {{pit: ledge, ledge: pit}}}}
  sample-rock: {{at: pit, reward: {{rock: {{good: 50, bad: -1}}}}, parts: {{rock: {{change: {{good: bad}}}}}}}}
  sample-other: {{at: camp, reward: {{other: {{good: 2, bad: -1}}}}, parts: {{other: {{change: {{good: bad}}}}}}}}
  exit: {{at: camp, ends: true, reward: 1}}
"""
"""The best there is waits where no way leads out."""

TRAP = """
factors:
  a: {states: [good, bad], prior: [0.9, 0.1]}
  b: {states: [good, bad], prior: [0.9, 0.1]}
  d: {states: [good, bad], prior: [0.9, 0.1]}
places: [s, s-a, s-b, s-ab, trap]
actions:
  take-a: {to: {s: s-a, s-b: s-ab}, reward: {a: {good: 10, bad: -10}}}
  take-b: {to: {s: s-b, s-a: s-ab}, reward: {b: {good: 5, bad: -10}}}
  take-d: {to: {s-a: trap}, reward: {d: {good: 7, bad: -10}}}
  exit: {at: [s, s-a, s-b, s-ab], ends: true}
  pay: {at: trap, ends: true, cost: 100}
discount: 0.95
"""
"""What is on offer after a looks better than what was planned, and is not: the way out then costs 100."""


LATE_TEST = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
places: [none, a-done, b-done]
actions:
  test-a: {{at: a-done, cost: 0.05, parts: {{a: {{{PERFECT}}}}}}}
  say-a:
    - {{at: none, to: a-done, reward: {{a: {{good: 1, bad: -1}}}}}}
    - {{at: b-done, ends: true, reward: {{a: {{good: 1, bad: -1}}}}}}
  say-b:
    - {{at: none, to: b-done, reward: {{b: {{good: 1, bad: -1}}}}}}
    - {{at: a-done, ends: true, reward: {{b: {{good: 1, bad: -1}}}}}}
"""
"""A test that is on offer only once its factor has been dealt with."""

STILL_TESTED = LATE_TEST.replace("at: a-done, cost: 0.05", "at: [none, a-done, b-done], cost: 0.1")
"""The same test before and after."""

FREE_TEST = LATE_TEST.replace("cost: 0.05", "cost: 0").replace("b: {good: 1, bad: -1}", "b: {good: -4, bad: -6}")
"""Who goes on testing for nothing never pays what b costs."""

LAST_ENDS = f"""
factors: {{a: {{{EVEN}}}, b: {{{EVEN}}}}}
places: [none, a-done, b-done]
actions:
  say-a:
    - {{at: none, to: a-done, reward: {{a: {{good: 3, bad: -1}}}}}}
    - {{at: b-done, ends: true, reward: {{a: {{good: 3, bad: -1}}}}}}
  say-b:
    - {{at: none, to: b-done, reward: {{b: {{good: 3, bad: -1}}}}}}
    - {{at: a-done, ends: true, reward: {{b: {{good: 3, bad: -1}}}}}}
  quit: {{ends: true, reward: -5}}
"""
"""The second declaration ends it: nobody has to quit."""

SPENT = "states: [bad, good, spent], prior: [0.5, 0.5, 0]"

RISKY = f"""
factors: {{a: {{{SPENT}}}, b: {{{EVEN}}}}}
places: [here, there]
actions:
  go: {{cost: 0.1, to: {{here: there}}}}
  back: {{cost: 0.1, to: {{there: here}}}}
  sample-a: {{at: here, reward: {{a: {{bad: -5, good: 1, spent: -0.1}}}},
    parts: {{a: {{change: {{bad: spent, good: spent}}}}}}}}
  risky: {{at: there, cost: 0.1, to: {{quiet: there, boom: end}},
    parts: {{a: {{outcomes: [quiet, boom], likelihood: {{bad: [0.5, 0.5], good: [0.5, 0.5], spent: [0.5, 0.5]}}}}}}}}
  exit: {{at: there, ends: true, reward: -10}}
"""
"""A test from afar that may end it."""

ENDLESS = f"""
factors: {{a: {{{SPENT}}}, b: {{{SPENT}}}}}
places: [here]
actions:
  test-a: {{cost: 0.1, parts: {{a: {{outcomes: [n, p], likelihood: {{bad: [1, 0], good: [0, 1], spent: [1, 0]}}}}}}}}
  sample-a: {{reward: {{a: {{bad: -5, good: 1, spent: 0}}}}, parts: {{a: {{change: {{bad: spent, good: spent}}}}}}}}
  sample-b: {{reward: {{b: {{bad: -5, good: -4, spent: 0}}}}, parts: {{b: {{change: {{bad: spent, good: spent}}}}}}}}
"""
"""Nothing ends it, so nobody has to deal with b."""


def made(text: str) -> POMDP:
    return parse_problem(text, file="some.yaml", language="yaml")

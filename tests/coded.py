"""A model whose test has numbers as names of its results, as one that is learned from a table of codes."""

CODED = """name: coded
unit: EUR
states: [healthy, disease]
positive: disease
prevalence: 50%
tests:
  sex: {cost: 1, outcomes: ["0", "1"], likelihood: {healthy: [0.8, 0.2], disease: [0.2, 0.8]}}
losses:
  call-healthy: {healthy: 0, disease: 200}
  call-disease: {healthy: 200, disease: 0}
"""

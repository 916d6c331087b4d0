"""A standing adversary: random model files with every feature, against an oracle that shares nothing with rhoplan.

`files` draws model files, `oracle` reads and solves them in exact probabilities, keyed by evidence; `engine` and
`advice` ask rhoplan the same questions and compare; `examine` does all that for one seed. `python -m adversary`
goes on for as long as it is told.
"""

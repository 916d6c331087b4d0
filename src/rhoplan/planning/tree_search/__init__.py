"""Online tree search for any problem, compiled by Numba: POMCP, and MCTS over beliefs (MCTS-EFE).

>>> import rhoplan
>>> from rhoplan.planning.tree_search import TreeSearch, TreeSearchSettings
>>> search = TreeSearch(rhoplan.make("tiger"), TreeSearchSettings("mcts", horizon=4, simulations=500))
>>> found = search.run(search.problem.belief())
>>> found.exact, found.place, round(found.value, 6)
(True, 2, 1.0625)
"""

from rhoplan.planning.tree_search.search import METHODS, SearchResult, TreeSearch, TreeSearchSettings

__all__ = ["METHODS", "SearchResult", "TreeSearch", "TreeSearchSettings"]

"""Online tree search for any problem, compiled by Numba: POMCP and MCTS-EFE.

>>> import rhoplan
>>> from rhoplan.planning.search import TreeSearch
>>> search = TreeSearch(rhoplan.make("tiger"), method="mcts", depth=4)
>>> found = search.run(search.problem.belief().situation, simulations=500)
>>> found.solved, found.choice, round(found.value, 6)
(True, 0, 1.0625)
"""

from rhoplan.planning.search.tree import METHODS, SearchResult, TreeSearch

__all__ = ["METHODS", "SearchResult", "TreeSearch"]

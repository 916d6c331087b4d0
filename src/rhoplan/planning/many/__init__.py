"""Planning with many tests: branch and bound over evidence, compiled by Numba; `search` says how it works.

>>> import rhoplan
>>> from rhoplan.planning.many import search
>>> found = search(rhoplan.make("chest-pain"))
>>> found.stopped_by, found.proven == found.first
('gap', True)
"""

from rhoplan.planning.many.search import search
from rhoplan.planning.many.solution import ManyPolicy, ManySolution

__all__ = ["ManyPolicy", "ManySolution", "search"]

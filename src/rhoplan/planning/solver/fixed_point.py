"""Linear systems x = known + matrix @ x of values. What a solution misses is paid for by those who claim something."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rhoplan.model.pomdp import Array

DENSE, DIRECT = 100, 1000
"""Systems of up to so many unknowns are solved by dense, and by sparse elimination."""


def solve_linear(matrix: sp.csr_array, known: Array, guess: Array, tolerance: float) -> Array:
    """x with known + matrix @ x = x, up to `tolerance` if all goes well."""
    from scipy.sparse.linalg import bicgstab, spsolve

    count = len(known)
    if count <= DENSE:
        solution: Array = np.linalg.solve(np.eye(count) - matrix.toarray(), known)
        return solution
    system = sp.identity(count, format="csr") - matrix
    if count <= DIRECT:
        return np.asarray(spsolve(system.tocsc(), known), dtype=float)
    values, _ = bicgstab(system, known, x0=guess, rtol=0.0, atol=tolerance, maxiter=200)
    return np.asarray(values, dtype=float)

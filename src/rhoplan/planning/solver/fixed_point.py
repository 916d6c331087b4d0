"""Linear systems x = known + matrix @ x of values. They need not be solved exactly: bounds are corrected afterwards."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from rhoplan.model.pomdp import Array

DIRECT = 300
"""Systems of up to so many unknowns are solved by elimination."""


def solve_linear(matrix: sp.csr_array, known: Array, guess: Array, tolerance: float) -> Array:
    """x with known + matrix @ x = x, up to `tolerance` if all goes well, and not farther from it than `guess`."""
    from scipy.sparse.linalg import bicgstab

    count = len(known)
    system = sp.identity(count, format="csr") - matrix
    if count <= DIRECT:
        values = np.linalg.solve(system.toarray(), known)
    else:
        values, _ = bicgstab(system, known, x0=guess, rtol=0.0, atol=tolerance, maxiter=200)
    before, after = (np.abs(known - system @ x).max() for x in (guess, values))
    return np.asarray(values if after <= before else guess, dtype=float)

"""P(s', o | s) of an action on its factor: the same from a dense and from a sparse change of state."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from scipy.sparse import csr_array

from rhoplan.model.pomdp import Action
from rhoplan.planning.certified.pointbased.records import entry_count, factor_entries


@pytest.mark.parametrize("by_outcome", [False, True])
@pytest.mark.parametrize("kept", ["dense", "sparse"])
def test_entries_are_likelihood_times_change_however_that_is_kept(kept: str, by_outcome: bool) -> None:
    rng = np.random.default_rng(0)
    likelihood = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.6, 0.4]])
    change = rng.dirichlet(np.ones(4), (3, 4) if by_outcome else 4) * (
        rng.random((3, 4, 4) if by_outcome else (4, 4)) < 0.6
    )
    sparse = csr_array(change.reshape(-1, 4))
    names = ("x", "y", "z")
    action = Action("go", np.zeros(4), likelihood, names, names, 0, change if kept == "dense" else sparse)
    found, entries = np.zeros((4, 3, 4)), factor_entries(action)
    np.add.at(found, entries[:3], entries[3])
    wanted = likelihood[:, :, None] * (np.moveaxis(change, 0, 1) if by_outcome else change[:, None, :])
    assert found == pytest.approx(wanted)
    assert (entries[3] > 0).all()
    assert len(entries[0]) == np.count_nonzero(wanted) <= entry_count(action) <= 3 * np.count_nonzero(change)
    assert entry_count(action) <= np.count_nonzero(np.broadcast_to(change, (3, 4, 4)))

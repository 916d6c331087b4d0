"""Circles in which one can stay for ever for nothing, beside a plain search with a table of what can be reached."""

from __future__ import annotations

import numpy as np
import pytest

from rhoplan.planning.certified import components
from rhoplan.planning.certified.components import circles_of


def plainly(source: np.ndarray, row: np.ndarray, target: np.ndarray, free: np.ndarray, places: int) -> np.ndarray:
    """The rows that stay inside a circle: those of which one can come back from all that they lead to, again and again
    until nothing is left out."""
    staying = free.copy()
    while True:
        linked = np.eye(places, dtype=bool)
        linked[source[staying[row]], target[staying[row]]] = True
        for _ in range(places):
            linked = linked | (linked.astype(int) @ linked.astype(int) > 0)
        leaves = [number for number in np.flatnonzero(staying)
                  if not linked[target[row == number], source[row == number]].all()]  # fmt: skip
        if not leaves:
            return staying
        staying[leaves] = False


def test_a_walk_that_ends_at_both_sides_is_not_looked_at_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place falls away once its neighbour has: the search for circles must not begin anew for each."""
    places, calls = 400, []
    row = np.repeat(np.arange(places), 2)
    target = np.clip(np.stack([np.arange(places) - 1, np.arange(places) + 1], axis=1), 0, places - 1).ravel()
    free = (np.arange(places) > 0) & (np.arange(places) < places - 1)
    searched = components.rooms_of
    monkeypatch.setattr(components, "rooms_of", lambda targets: calls.append(1) or searched(targets))
    circle, staying = circles_of(row, row, target, free, places)
    assert not staying.any()
    assert (circle == -1).all()
    assert len(calls) == 1


@pytest.mark.parametrize("repeated", [1, 40], ids=["few entries", "many for each pair"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_stay_are_those_of_a_plain_search(seed: int, repeated: int) -> None:
    rng = np.random.default_rng(seed)
    places, rows = 7, 14
    origin, free = rng.integers(0, places, rows), rng.uniform(size=rows) < 0.8
    row = np.repeat(np.arange(rows), 2)
    target = rng.integers(0, places, len(row))
    row, target = np.tile(row, repeated), np.tile(target, repeated)
    given = free.copy()
    circle, staying = circles_of(origin[row], row, target, free, places)
    assert free.tolist() == given.tolist()
    assert staying.tolist() == plainly(origin[row], row, target, free, places).tolist()
    held = staying[row]
    assert (circle[origin[row][held]] == circle[target[held]]).all()
    assert set(np.flatnonzero(circle >= 0)) == set(origin[row][held])

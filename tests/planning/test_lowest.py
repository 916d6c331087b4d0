"""The least of many numbers, found eight at a time, is the one that looking at each would find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("numba", reason="machine code comes with the extra rhoplan[fast]")

from rhoplan.planning.certified.pointbased.machine import least_of_eight, lowest_place, most_of_eight

NUMBERS = st.lists(st.sampled_from([-2.0, -1.0, -1e-12, 0.0, 0.5, 1.0, 1e200, np.inf]), min_size=8, max_size=40)


@given(NUMBERS, st.data())
def test_the_least_is_found_where_there_is_one_below(numbers: list[float], data: st.DataObject) -> None:
    count = data.draw(st.integers(0, len(numbers)))
    least = data.draw(st.sampled_from([-3.0, -1.0, -1e-11, 0.0, 0.75, np.inf]))
    found = lowest_place(np.array(numbers), count, least)
    below = [number for number in numbers[:count] if number < least]
    if below:
        assert 0 <= found < count
        assert numbers[found] == min(below)
    else:
        assert found == -1


@given(NUMBERS, st.data())
def test_the_least_of_eight(numbers: list[float], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(numbers) - 8))
    assert least_of_eight(np.array(numbers), at) == min(numbers[at : at + 8])
    assert most_of_eight(np.array(numbers), at) == max(numbers[at : at + 8])

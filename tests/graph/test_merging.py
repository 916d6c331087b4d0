"""Rows get one id exactly where they are equal, whatever their keys are."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import make_agent
from rhoplan.graph import merging
from rhoplan.graph.graph import Graph
from rhoplan.graph.merging import Keys, RowIndex, rounded, row_keys
from rhoplan.model.pomdp import Ids


def identified(index: RowIndex, kept: list[np.ndarray], rows: Keys, key: Callable[[Keys], Keys]) -> Ids:
    """Ids of `rows`; kept: the rows of ids given so far, in order."""

    def stored(ids: Ids) -> Keys:
        return np.array([kept[i] for i in ids], dtype=np.uint64).reshape(len(ids), rows.shape[1])

    ids, fresh = index.identify(key(rows), rows, stored)
    kept += [rows[place] for place in fresh]
    return ids


@pytest.mark.parametrize("bits", [0, 1, 3, 64])
def test_ids_are_right_however_poor_the_keys(bits: int) -> None:
    """With keys of few bits nearly all rows collide: ids must be those of a dictionary all the same."""
    random, index, kept = np.random.default_rng(5), RowIndex(), list[np.ndarray]()
    mask = np.uint64(2**bits - 1)
    known: dict[bytes, int] = {}
    for _ in range(12):
        rows = random.integers(0, 6, size=(random.integers(1, 60), 2)).astype(np.uint64)
        ids = identified(index, kept, rows, lambda rows: row_keys(rows) & mask)
        for row, found in zip(rows, ids.tolist(), strict=True):
            assert known.setdefault(row.tobytes(), found) == found
    assert sorted(known.values()) == list(range(index.size))


def test_a_full_index_stays_as_it_was() -> None:
    index, kept = RowIndex(), list[np.ndarray]()
    rows = np.arange(6, dtype=np.uint64)[:, None]
    identified(index, kept, rows[:3], row_keys)
    index.limit = 5
    with pytest.raises(OverflowError):
        identified(index, kept, rows, row_keys)

    assert index.size == 3
    assert identified(index, kept, rows[1:3], row_keys).tolist() == [1, 2]


def test_rounding_keeps_36_bits() -> None:
    one = np.array([[0.3, 0.7]])

    assert (rounded(one) == rounded(one * (1 + 1e-15))).all()
    assert not (rounded(one) == rounded(one * (1 + 1e-10))).any()


def certain(states: int, tests: int, seed: int) -> tuple[rhoplan.Test, ...]:
    """Yes/no tests that never err, each splitting the states by a coin of its own."""
    random = np.random.default_rng(seed)
    rows = [np.eye(2)[random.integers(0, 2, states)] for _ in range(tests)]
    return tuple(rhoplan.Test(f"t{k}", 0.01, ("no", "yes"), row, repeatable=False) for k, row in enumerate(rows))


def test_dyadic_beliefs_are_told_apart() -> None:
    """256 equally likely states and certain tests: beliefs are uniform over what is left, and equal only if that is."""
    problem = rhoplan.observe_then_commit(
        "dyadic",
        tuple(f"s{k}" for k in range(256)),
        tests=certain(256, 14, 1),
        commits=(rhoplan.Commit("go", np.zeros(256)),),
    )
    graph = Graph(problem)
    layer = np.array([graph.root])
    for _ in range(3):
        graph.expand(layer)
        arcs = graph.next[layer]
        layer = np.unique(arcs[arcs >= 0]).astype(np.int64)
    beliefs = graph.tables[0].beliefs
    assert len(np.unique(beliefs > 0, axis=0)) == graph.tables[0].size
    for node in np.random.default_rng(2).choice(layer, 200):
        for slot, outcome in product(range(3), range(2)):
            graph.expand(np.array([node]))
            after, held = graph.next[node, slot, outcome], graph.beliefs(np.array([node]))[0]
            if after >= 0:
                kept = (held > 0) & (graph.menus[graph.visible[node]].going[slot].likelihood[:, outcome] > 0)
                assert ((graph.beliefs(np.array([after]))[0] > 0) == kept).all()


@pytest.mark.parametrize("seed", range(4))
def test_digging_among_256_states_is_scored_as_enumeration_scores_it(seed: int) -> None:
    """Six certain tests for nothing, then dig for +10 or -30, or leave: all results of all tests, one by one."""
    random, tests = np.random.default_rng(seed), certain(256, 6, seed)
    free = tuple(rhoplan.Test(t.name, 0.0, t.outcomes, t.likelihood, repeatable=False) for t in tests)
    reward = np.where(random.random(256) < 0.72, 10.0, -30.0)
    problem = rhoplan.observe_then_commit(
        "dig",
        tuple(f"s{k}" for k in range(256)),
        tests=free,
        commits=(rhoplan.Commit("leave", np.zeros(256)), rhoplan.Commit("dig", reward)),
    )

    truth = 0.0
    for results in product(range(2), repeat=6):
        left = np.prod([test.likelihood[:, result] for test, result in zip(free, results, strict=True)], axis=0)
        truth += max(0.0, float(left @ reward) / 256)

    score = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=6))
    assert score.reward == pytest.approx(truth, abs=1e-12)


def test_results_do_not_depend_on_the_draw_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = rhoplan.make("tileworld:n=4")
    agent = make_agent("efe", problem)
    one = rhoplan.evaluate(problem, agent)
    merging.multipliers.cache_clear()
    monkeypatch.setattr(merging, "SECRET", np.random.Generator(np.random.PCG64(7)))

    other = rhoplan.evaluate(rhoplan.make("tileworld:n=4"), agent)

    merging.multipliers.cache_clear()
    assert other == one

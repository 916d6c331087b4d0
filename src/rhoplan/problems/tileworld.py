"""Tileworld: find a target on an n x n grid with noisy scans, each of which splits the cells in two groups."""

from __future__ import annotations

import math

import numpy as np

from rhoplan.model.diagnostic import DiagnosticProblem
from rhoplan.model.pomdp import POMDP, Ids
from rhoplan.problems.building import matching_decisions, noisy_label, require


def tileworld(
    *,
    n: int = 6,
    k: int | None = None,
    partition: str = "bitwise",
    seed: int = 42,
    accuracy: float = 0.8,
    cost: float = 1.0,
    right: float = 10.0,
    wrong: float = -50.0,
) -> POMDP:
    """A target in one of n x n cells, k noisy scans (2 * ceil(log2 n) of them), then collect at one cell."""
    require(n >= 2, "n", "be at least 2", n)
    full = 2 * math.ceil(math.log2(n))
    k = full if k is None else k
    require(k >= 1, "k", "be at least 1", k)
    require(0 <= seed < 2**32, "seed", "lie between 0 and 2**32 - 1", seed)
    kinds = ("bitwise", "random", "overlapping")
    require(partition in kinds, "partition", f"be one of {', '.join(kinds)}", f"'{partition}'")
    most = math.inf if partition != "bitwise" else full
    require(k <= most, "k", f"be at most {full} with the bitwise partition of a {n} x {n} grid", k)
    cells = tuple(f"r{row}c{column}" for row in range(n) for column in range(n))
    return DiagnosticProblem(
        name="tileworld",
        states=cells,
        tests=tuple(noisy_label(*scan, accuracy, cost) for scan in scans(n, k, partition, seed)),
        decisions=matching_decisions(tuple(f"collect-{cell}" for cell in cells), right, wrong),
        horizon=2,
        details={"grid": n},
    )


def scans(n: int, k: int, partition: str, seed: int) -> list[tuple[str, Ids]]:
    """Name of each of the k scans, and the group (n * n,) of each cell under it, 0 or 1; cell = row * n + column."""
    row, column = np.divmod(np.arange(n * n), n)
    if partition == "bitwise":
        axes, bits = {"row": row, "column": column}, math.ceil(math.log2(n))
        return [(f"{name}-bit-{b}", (axis >> b) & 1) for name, axis in axes.items() for b in range(bits)][:k]
    draw = np.random.RandomState(seed)
    groups = []
    for _ in range(k):
        if partition == "random":
            group = np.ones(n * n, dtype=np.int64)
            group[draw.permutation(n * n)[: n * n // 2]] = 0
        else:
            across, down, threshold = draw.randn(), draw.randn(), 0.5 * draw.randn()
            group = (across * row / (n - 1) + down * column / (n - 1) > threshold).astype(np.int64)
        groups.append(group)
    return [(f"scan-{j}", group) for j, group in enumerate(groups)]

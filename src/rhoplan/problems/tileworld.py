"""Tileworld: find a target on an n x n grid with noisy scans, each of which splits the cells in two groups."""

from __future__ import annotations

import math

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.diagnostic import DiagnosticProblem
from rhoplan.model.pomdp import POMDP, Ids
from rhoplan.problems.classics import at_least, matching_commits, noisy_label

PARTITIONS = ("bitwise", "random", "overlapping")


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
    at_least("n", n, 2)
    full = 2 * math.ceil(math.log2(n))
    k = full if k is None else k
    at_least("k", k, 1)
    if not 0 <= seed < 2**32:
        raise ProblemError(f"seed must lie between 0 and 2**32 - 1; it is {seed}", field=("seed",))
    if partition == "bitwise" and k > full:
        raise ProblemError(
            f"k must be at most {full} with the bitwise partition of a {n} x {n} grid; it is {k}", field=("k",)
        )
    names, groups = scan_groups(n, k, partition, seed)
    cells = tuple(f"r{row}c{column}" for row in range(n) for column in range(n))
    return DiagnosticProblem(
        name="tileworld",
        states=cells,
        tests=tuple(noisy_label(name, group, accuracy, cost) for name, group in zip(names, groups, strict=True)),
        decisions=matching_commits(tuple(f"collect-{cell}" for cell in cells), right, wrong),
        horizon=2,
        details={"grid": n},
    )


def scan_groups(n: int, k: int, partition: str, seed: int) -> tuple[list[str], list[Ids]]:
    """Names of the scans and the group (0 or 1) of each cell under each scan, cell = row * n + column."""
    row, column = np.divmod(np.arange(n * n), n)
    if partition == "bitwise":
        bits = math.ceil(math.log2(n))
        scans = [(f"row-bit-{b}", (row >> b) & 1) for b in range(bits)]
        scans += [(f"column-bit-{b}", (column >> b) & 1) for b in range(bits)]
        return [name for name, _ in scans[:k]], [group for _, group in scans[:k]]
    if partition not in PARTITIONS:
        raise ProblemError(
            f"partition must be one of {', '.join(PARTITIONS)}; it is '{partition}'", field=("partition",)
        )
    draw = np.random.RandomState(seed)
    groups = []
    for _ in range(k):
        if partition == "random":
            order = draw.permutation(n * n)
            group = np.ones(n * n, dtype=np.int64)
            group[order[: n * n // 2]] = 0
        else:
            across, down, threshold = draw.randn(), draw.randn(), 0.5 * draw.randn()
            group = (across * row / (n - 1) + down * column / (n - 1) > threshold).astype(np.int64)
        groups.append(group)
    return [f"scan-{j}" for j in range(k)], groups

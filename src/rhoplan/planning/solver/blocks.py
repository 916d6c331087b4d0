"""Vectors over the states of classes, LANES of them side by side.

The vectors of a class stand in a chain of blocks, in the order in which they were added; in a block the numbers of
all its vectors for one state are next to each other. So the inner products of a belief with LANES vectors are
computed together, one state after the other, whether the belief is sparse or dense.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.solver.jit import entry_point, kernel

LANES = 16

Number = TypeVar("Number", bound=np.generic)

CHAIN = np.dtype([("head", "i8"), ("tail", "i8"), ("total", "i8")])
BLOCK = np.dtype([("class_", "i8"), ("next", "i8"), ("first", "i8"), ("filled", "i8")])


class Blocks(NamedTuple):
    """chains: per class the first and last block and how many vectors there are. blocks: next one of the class (-1:
    none), first place in `numbers`, vectors in it. item, value (blocks, LANES): what each vector belongs to, and one
    number of its own. used (2,): blocks and numbers.
    """

    chains: NDArray[np.void]
    blocks: NDArray[np.void]
    item: Ids
    value: Array
    numbers: Array
    used: Ids


def make_blocks(classes: int) -> Blocks:
    chains = np.zeros(classes, dtype=CHAIN)
    chains["head"] = chains["tail"] = -1
    item, value = np.full((64, LANES), -1), np.zeros((64, LANES))
    return Blocks(chains, np.zeros(64, dtype=BLOCK), item, value, np.zeros(1024), np.zeros(2, dtype=np.int64))


def with_room(store: Blocks, more: int, numbers: int) -> Blocks:
    """`store` with room for so many more blocks and numbers."""
    blocks, used = store.used.tolist()
    if blocks + more >= len(store.blocks):
        rows: dict[str, Any] = {
            name: lengthened(getattr(store, name), 2 * blocks + more + 64) for name in ("blocks", "item", "value")
        }
        store = store._replace(**rows)
    if used + numbers >= len(store.numbers):
        store = store._replace(numbers=lengthened(store.numbers, 2 * used + numbers + 1))
    return store


def lengthened(array: NDArray[Number], rows: int) -> NDArray[Number]:
    """`array` with more rows, which are zeros."""
    result: NDArray[Number] = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    result[: len(array)] = array
    return result


@kernel
def append(store: Blocks, class_: int, size: int, item: int, value: float) -> int:
    """Place of a new vector of `class_`, block * LANES + lane; its numbers are still to be written."""
    chain = store.chains[class_]
    if chain.tail < 0 or store.blocks[chain.tail].filled == LANES:
        block = store.used[0]
        store.used[0] += 1
        store.blocks[block].class_, store.blocks[block].next = class_, -1
        store.blocks[block].first = store.used[1]
        store.blocks[block].filled = 0
        store.used[1] += size * LANES
        for place in range(store.blocks[block].first, store.used[1]):
            store.numbers[place] = 0.0
        for lane in range(LANES):
            store.item[block, lane], store.value[block, lane] = -1, 0.0
        if chain.tail < 0:
            chain.head = block
        else:
            store.blocks[chain.tail].next = block
        chain.tail = block
    block = chain.tail
    lane = store.blocks[block].filled
    store.blocks[block].filled += 1
    chain.total += 1
    store.item[block, lane], store.value[block, lane] = item, value
    return int(block * LANES + lane)


@kernel
def unread(store: Blocks, class_: int, block: int, read: int) -> tuple[int, int]:
    """Block and lane of the first vector of `class_` after the first `read` ones, the last of which is in `block`; a
    block of -1 if there is none."""
    if read >= store.chains[class_].total:
        return -1, 0
    if read % LANES > 0:
        return block, read % LANES
    return (int(store.blocks[block].next) if read > 0 else int(store.chains[class_].head)), 0


@entry_point
def copy_kept(old: Blocks, new: Blocks, sizes: Ids, keep: NDArray[np.bool_], places: Ids) -> None:
    """Append the vectors of `old` to `new` that are to be kept, a flag per block and lane. places: where each is, -1 if
    it was dropped."""
    for block in range(old.used[0]):
        class_ = old.blocks[block].class_
        for lane in range(old.blocks[block].filled):
            places[block * LANES + lane] = -1
            if keep[block, lane]:
                place = append(new, class_, sizes[class_], old.item[block, lane], old.value[block, lane])
                places[block * LANES + lane] = place
                at = new.blocks[place // LANES].first + place % LANES
                for s in range(sizes[class_]):
                    new.numbers[at + s * LANES] = old.numbers[old.blocks[block].first + s * LANES + lane]


def compacted(old: Blocks, sizes: Ids, keep: NDArray[np.bool_]) -> tuple[Blocks, Ids]:
    """Only the vectors to be kept, a flag per block and lane, and the new place of each old one."""
    new = make_blocks(len(sizes))
    used = int(old.used[0])
    new = new._replace(
        blocks=np.zeros(used + 64, dtype=BLOCK), item=np.full((used + 64, LANES), -1),
        value=np.zeros((used + 64, LANES)), numbers=np.zeros(len(old.numbers)),
    )  # fmt: skip
    places = np.full(used * LANES, -1)
    copy_kept(old, new, sizes, keep, places)
    return new, places


def positions_after(old: Blocks, new: Blocks, places: Ids, classes: Ids, read: Ids) -> tuple[Ids, Ids]:
    """How many of the first `read` vectors of each of `classes` were kept, and the block of the last of them, or -1."""
    used = int(old.used[0])
    owner = np.repeat(old.blocks["class_"][:used], LANES)
    there = np.flatnonzero(np.arange(LANES) < old.blocks["filled"][:used, None])
    order = there[np.argsort(owner[there], kind="stable")]
    kept = np.concatenate([[0], np.cumsum(places[order] >= 0)])
    first = np.searchsorted(owner[order], np.arange(len(old.chains)))
    count = kept[first[classes] + read] - kept[first[classes]]
    last = order[np.flatnonzero(places[order] >= 0)]
    blocks = np.append(places[last] // LANES, -1)
    return count, np.where(count > 0, blocks[kept[first[classes]] + count - 1], -1)

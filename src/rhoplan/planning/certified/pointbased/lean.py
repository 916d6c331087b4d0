"""Leaner beliefs: where a walk has become long, the next one begins at its last belief without what hardly counts.

Tests taken again and again bring beliefs ever nearer to one where states are ruled out that cannot be told from others
in the end, and never there. Points on the way say nothing of what lies farther on: no mixture of beliefs makes up one
that has less of a state than each of them. The belief they come near to does, nearly, for all that are near it. Bounds
hold wherever a point or a vector is made.
"""

from __future__ import annotations

from rhoplan.planning.certified.pointbased.above import lower_upper
from rhoplan.planning.certified.pointbased.below import raise_lower
from rhoplan.planning.certified.pointbased.compiled import Model
from rhoplan.planning.certified.pointbased.graph import (
    BEGUN,
    HOME,
    LOWER,
    PAUSE,
    PAUSES,
    ROOT,
    UPPER,
    WORK,
    Graph,
    Settings,
    find_node,
    unfold,
)
from rhoplan.planning.certified.pointbased.machine import compiled

LONG = 20
"""Steps of a walk that has become long."""

LEFT_OUT = 0.02
"""States are left out that together are worth no more than this share of how far apart the bounds are."""

PAYS, LONGEST_PAUSE = 0.97, 3
"""Where bounds at the leaner belief are more than such a share as far apart as before, it has gained little: the next
trials begin at the root, one of them, then up to so many."""


@compiled
def refreshed_gap(model: Model, graph: Graph, node: int, potential: float) -> float:
    """Bring the bounds of `node` up to date; how far apart they are."""
    lower_upper(model, graph, node, potential)
    raise_lower(model, graph, node, potential)
    return float(graph.bound[node, UPPER] - graph.bound[node, LOWER])


@compiled
def choose_start(model: Model, graph: Graph, settings: Settings, start: int, apart: float, depth: int) -> int:
    """Choose where the next walk begins, after one of `depth` steps from `start`, where the bounds were so far `apart`
    before. There must be room."""
    if start != ROOT:
        if refreshed_gap(model, graph, start, settings.potential) > PAYS * apart:
            graph.used[PAUSES] = min(2 * graph.used[PAUSES] + 1, LONGEST_PAUSE)
            graph.used[PAUSE] = graph.used[PAUSES]
            return ROOT
        graph.used[PAUSES] = 0
    elif graph.used[PAUSE] > 0:
        graph.used[PAUSE] -= 1
        return ROOT
    return leaner(model, graph, settings, graph.path[depth - 1]) if depth > LONG else ROOT


@compiled
def leaner(model: Model, graph: Graph, settings: Settings, node: int) -> int:
    """The belief of `node` without the states that hardly count for how far apart its bounds are; the root where each
    does."""
    home = graph.node[node, HOME]
    size = model.class_state[home + 1] - model.class_state[home]
    most = LEFT_OUT * min(refreshed_gap(model, graph, node, settings.potential) / max(settings.span, 1e-300), 1.0)
    unfold(graph, node, graph.spread, size)
    less, left_out = 2.0 * most, 2.0 * most
    while left_out > most:
        less *= 0.5
        left_out = 0.0
        for s in range(size):
            left_out += graph.spread[s] if graph.spread[s] < less else 0.0
        graph.used[WORK] += size
    if left_out <= 0.0:
        return ROOT
    for s in range(size):
        graph.spread[s] = graph.spread[s] / (1.0 - left_out) if graph.spread[s] >= less else 0.0
    lean = find_node(model, graph, home, graph.spread, settings.potential)
    graph.node[lean, BEGUN] = 1
    return lean

"""Branch and bound over evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rhoplan.belief.situation import Situation, initial
from rhoplan.errors import AgentError
from rhoplan.model.problem import Array, Problem
from rhoplan.planning.many.bounds import Standing, read_key
from rhoplan.planning.many.evidence import Kinds, kinds_of
from rhoplan.planning.many.graph import (
    ABOVE, ARMS, BELOW, CHILDREN, COUNT, FIRST, LOWER, NODES, ROOT, STOP, TRIALS, UPPER, WORK, Graph, Settings, add_node, fill_table,
)
from rhoplan.planning.many.machine import best_commit, entropy
from rhoplan.planning.many.tables import CeilingMaker
from rhoplan.planning.many.trials import DONE, FULL, PAUSED, PROVEN, first_arm, run_trials

SLICE = 20_000
LONGEST = 2000
FIRST_ROOM = 4096


def make_standing(pairs: int, kinds: Kinds) -> Standing:
    model = kinds.model
    whole = lambda *shape: np.zeros(shape, dtype=np.int64)
    return Standing(
        left=whole(len(model.price)), paid=whole(len(model.entry)), so_far=whole(3), free=np.zeros(pairs),
        within=np.zeros((pairs, len(model.entry))), allows=np.zeros(pairs),
        fall=np.zeros(pairs), gift=np.zeros(1), chosen=whole(max(pairs, 1)), count=whole(1), reliefs=np.zeros(max(pairs, 1)),
        taken=whole(len(model.best)),
    )


class Search:
    def __init__(self, problem, situation=None, *, weight=0.0, discount=1.0, seconds=600.0, memory=4e9, tables=2):
        self.begin = time.monotonic()
        self.deadline, self.memory = self.begin + seconds, memory
        self.kinds = kinds_of(problem, situation or initial(problem))
        model = self.model = self.kinds.model
        self.maker = CeilingMaker(model, self.kinds.belief, weight=float(weight), discount=float(discount), memory=0.3*memory)
        self.standing = make_standing(len(self.maker.states), self.kinds)
        self.settings = Settings(float(weight), float(discount), 1e-12 * self.maker.scale, len(model.price) + 1, len(model.likelihood) + 2)
        self.graph = self.make_graph()
        stop = best_commit(model.payoff, self.kinds.belief)
        add_node(self.graph, np.zeros(self.kinds.words, dtype=np.int64), self.kinds.belief, np.inf, stop)

    def make_graph(self):
        model, room, states = self.model, FIRST_ROOM + 4*self.settings.most_children, len(self.model.best)
        return Graph(
            key=np.zeros((room, self.kinds.words), dtype=np.int64), belief=np.zeros((room, states)), bound=np.zeros((room, 3)),
            arms=np.zeros((room, 2), dtype=np.int32), kind=np.zeros(room, dtype=np.int32), worth=np.zeros((room, 3)),
            child=np.zeros(room, dtype=np.int32), node=np.zeros(room, dtype=np.int32), chance=np.zeros(room),
            table=np.full(1 << 14, -1, dtype=np.int32), used=np.zeros(5, dtype=np.int64), path=np.zeros((LONGEST, 2), dtype=np.int64),
            after=np.zeros(states), fresh=np.zeros(self.kinds.words, dtype=np.int64),
        )

    @property
    def bounds(self):
        return float(self.graph.bound[ROOT, LOWER]), float(self.graph.bound[ROOT, UPPER])

    def run(self, gap, until_proven=False, progress=None):
        better = True
        while True:
            begin = time.monotonic()
            code = run_trials(self.model, self.maker.ceilings, self.standing, self.graph, self.settings, gap, until_proven, SLICE)
            if progress: progress(*self.bounds, int(self.graph.used[NODES]))
            if code == DONE: return "gap"
            if code == PROVEN: return "proven"
            if time.monotonic() > self.deadline: return "time"
            took = time.monotonic() - begin
            begin = time.monotonic()
            while better and time.monotonic() - begin < took:
                better = self.maker.improve()
            if code == FULL and not self.make_room(): return "memory"

    def make_room(self):
        graph, settings = self.graph, self.settings
        needs = {NODES: settings.most_children, ARMS: settings.most_arms, CHILDREN: settings.most_children}
        rooms = {NODES: ("key", "belief", "bound", "arms"), ARMS: ("kind", "worth", "child"), CHILDREN: ("node", "chance")}
        for counted, names in rooms.items():
            if graph.used[counted] + needs[counted] >= len(getattr(graph, names[0])):
                graph = graph._replace(**{name: doubled(getattr(graph, name)) for name in names})
        if sum(a.nbytes for a in graph) > 0.6 * self.memory: return False
        if 2 * len(graph.key) > len(graph.table):
            graph = graph._replace(table=np.full(2 * len(graph.table), -1, dtype=np.int32))
            while 2 * len(graph.key) > len(graph.table): graph = graph._replace(table=np.full(2 * len(graph.table), -1, dtype=np.int32))
            fill_table(graph)
        self.graph = graph
        return True


def doubled(a):
    b = np.empty((2 * len(a), *a.shape[1:]), dtype=a.dtype)
    b[: len(a)] = a
    return b

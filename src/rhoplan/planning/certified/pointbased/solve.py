"""Bounds on the best value of any finite problem, closing until they meet or time or memory runs out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.model.problem import Array, Ids
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import ROUNDING, first_bounds
from rhoplan.planning.certified.pointbased.graph import *
from rhoplan.planning.certified.pointbased.trials import *

MOST_STEPS = 1000
SLICE = 0.03


class Search:
    def __init__(self, problem: Compiled, *, weight: float, discount: float, gap: float, seconds: float, memory: float = 4e9) -> None:
        self.problem, self.model = problem, problem.model
        self.first = first = first_bounds(problem, weight=weight, discount=discount, deadline=time.monotonic() + seconds)
        self.weight, self.discount = weight, discount
        branches = np.diff(self.model.pair_branch)
        widest = int(branches.max(initial=1))
        per_class = np.diff(self.model.class_pair)
        most_children = int(max(per_class.max(initial=1) * widest, 1)) + 1
        largest = int(problem.sizes.max())
        size = max(float(np.abs(first.corner).max(initial=0)), max(float(np.abs(v).max(initial=0)) for v in first.vectors))
        self.settings = Settings(
            weight=weight, discount=discount, gap=gap, outward=ROUNDING * size, coarse=1e-3, fine=1e-4, root=0, mix=1e-7,
            work=200_000, most_children=most_children, most_numbers=max(largest * most_children, largest) + largest,
            symbols=problem.symbols,
        )
        s = self.settings
        self.graph = Graph(
            node=np.full((4 * most_children, 11), -1), bound=np.zeros((4 * most_children, 6)), value=np.empty(4 * s.most_numbers),
            index=np.empty(4 * s.most_numbers, dtype=np.int64), slot=np.empty((4 * most_children, 3)), slot_child=np.empty(4 * most_children, dtype=np.int64),
            child=np.empty(4 * most_children, dtype=np.int64), chance=np.empty(4 * most_children),
            vector=np.empty((1024, 5), dtype=np.int64), share=np.zeros(1024), alpha=np.empty(max(4 * s.most_numbers, problem.slots * (len(first.vectors) + 1))),
            entry=np.empty((1024, 2 + PROBES), dtype=np.int64), fall=np.empty(1024), inverse=np.empty((1024, PROBES)), chain=np.full((problem.classes, 6), -1),
            corner=first.corner.copy(), action=first.action, table=np.full(1 << 16, -1), used=np.zeros(11, dtype=np.int64),
            dense=np.zeros(largest), after=np.zeros(s.most_numbers + problem.symbols), spread=np.zeros(largest), path=np.zeros(MOST_STEPS, dtype=np.int64), aims=np.array([0.9, 0.3]),
        )
        while len(self.graph.vector) < 2 * problem.classes * len(first.vectors):
            self.grow("vector", "share")
        self.graph.chain[:, MOVES] = 0
        for values, taken in zip(first.vectors, first.taken):
            for home in range(problem.classes):
                v = new_vector(self.model, self.graph, home, taken[home], 0.0)
                at = self.graph.vector[v, VECTOR_AT]
                self.graph.alpha[at : at + problem.sizes[home]] = values[self.model.class_state[home] : self.model.class_state[home + 1]]
        belief = np.zeros(largest)
        belief[: len(problem.start)] = problem.start
        self.kept = int(self.graph.used[VECTORS])
        self.pruned_at = 400
        self.left = self.kept
        self.root = find_node(self.model, self.graph, problem.start_class, belief, weight)

    def grow(self, *names):
        new = {}
        for name in names:
            old = getattr(self.graph, name)
            fill = np.empty((2 * len(old), *old.shape[1:]), dtype=old.dtype)
            fill[: len(old)] = old
            new[name] = fill
        self.graph = self.graph._replace(**new)

    def make_room(self):
        g, s, u = self.graph, self.settings, self.graph.used
        if u[NODES] + s.most_children >= len(g.node): self.grow("node", "bound")
        if u[VALUES] + s.most_numbers >= len(g.value): self.grow("value")
        if u[INDICES] + s.most_numbers >= len(g.index): self.grow("index")
        if u[SLOTS] + s.most_children >= len(g.slot): self.grow("slot", "slot_child")
        if u[CHILDREN] + s.most_children >= len(g.child): self.grow("child", "chance")
        if u[VECTORS] + 2 >= len(g.vector): self.grow("vector", "share")
        if u[NUMBERS] + 2 * s.most_numbers >= len(g.alpha): self.grow("alpha")
        if u[ENTRIES] + 2 >= len(g.entry): self.grow("entry", "fall", "inverse")

    def prune(self):
        from rhoplan.planning.certified.pointbased.prune import prune
        useful = np.empty(2 * int(self.graph.used[NODES]), dtype=np.int64)
        self.left = prune(self.model, self.graph, self.root, self.kept, useful, 1e-4 * (self.bounds[1] - self.bounds[0]))
        self.pruned_at = self.graph.used[BACKUPS] * 1.3 + 100
        raise_lower(self.model, self.graph, self.root, self.weight)

    @property
    def bounds(self):
        return float(self.graph.bound[self.root, LOWER]), float(self.graph.bound[self.root, UPPER])

    def run(self, seconds, progress=None):
        begin = time.process_time()
        while True:
            code = run_trials(self.model, self.graph, self.root, self.settings)
            if progress: progress(time.process_time() - begin, *self.bounds, self.graph.used)
            if self.graph.used[BACKUPS] > self.pruned_at: self.prune()
            if code == DONE: return "gap"
            if code == FULL: self.make_room()
            if time.process_time() - begin > seconds: return "time"

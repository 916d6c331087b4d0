"""The tables of a `.pomdpx` file: variables, and numbers for every value of a variable and of its parents.

A table is an array with one axis per parent and, where it holds probabilities, one for the variable itself. It is
written as entries (`TBL`), later ones over earlier ones, or as a diagram of decisions (`DD`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, prod
from typing import NoReturn

import numpy as np

from rhoplan.errors import ModelFileError
from rhoplan.io.assemble import Rounding, summed
from rhoplan.io.foreign import PER_CELL, Budget, check_size, number_of, numbers_of
from rhoplan.io.xml import Element
from rhoplan.model.pomdp import Array, Ids

MOST_AXES = 32

DEEPEST_DIAGRAM = 100
"""Decisions on one path through a diagram, templates included: one that contains itself has more."""


@dataclass(frozen=True)
class Variable:
    """A variable and its values. before: what it was called one step earlier, for a state."""

    name: str
    values: tuple[str, ...]
    before: str = ""
    is_seen: bool = False

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {value: number for number, value in enumerate(self.values)}


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers by the values of `parents` and, last, of the variable `name` where they are its probabilities."""

    name: str
    parents: tuple[str, ...]
    numbers: Array
    line: int

    def place(self, held: Mapping[str, Ids]) -> Ids:
        """Where the values `held` stand in the table once all parents are one axis: arrays or single numbers."""
        place = np.zeros((), dtype=np.int64)
        for parent, size in zip(self.parents, self.numbers.shape, strict=False):
            place = place * size + held[parent]
        return place

    @cached_property
    def rows(self) -> Array:
        """The probabilities, one row for all values of the parents."""
        return self.numbers.reshape(-1, self.numbers.shape[-1])

    @cached_property
    def counts(self) -> Ids:
        """How many values each row leaves."""
        counts: Ids = np.count_nonzero(self.rows, axis=1)
        return counts

    @cached_property
    def left(self) -> tuple[Ids, Array, Ids]:
        """The values that the rows leave, one row after the other, their probabilities, and where each row begins."""
        row, value = np.nonzero(self.rows)
        small = value.astype(np.min_scalar_type(self.rows.shape[1]))  # there are many ways, and many variables
        return small, self.rows[row, value], np.cumsum(self.counts) - self.counts

    @cached_property
    def only(self) -> Ids:
        """The value that each row leaves; -1 where it leaves more than one."""
        result: Ids = np.where(self.counts == 1, self.rows.argmax(axis=1), -1)
        return result


class TableReader:
    """Reads tables. variables: all there are, by every name they have."""

    def __init__(self, variables: dict[str, Variable], file: str, rounding: Rounding, budget: Budget) -> None:
        self.variables, self.file, self.rounding, self.budget = variables, file, rounding, budget

    def probabilities(self, element: Element) -> Table:
        """The table of a CondProb: rows that sum to 1."""
        name, parents = self._header(element)
        if name not in self.variables:
            self.fault(f"<Var> must name a variable; '{name}' is none", element.line)
        table = self._table(element, name, parents, (*parents, name))
        rows = table.rows
        scaled, wrong = self.rounding.normalised(rows)
        for row in np.flatnonzero(wrong)[:1]:
            place = np.unravel_index(row, table.numbers.shape[:-1]) if parents else ()
            given = ", ".join(
                f"{parent} {self.variables[parent].values[value]}" for parent, value in zip(parents, place, strict=True)
            )
            self.fault(
                f"probabilities of {name}{f' given {given}' if given else ''} must sum to 1; {summed(rows[row])}",
                element.line,
                code="probability-row-sum",
            )
        return Table(name, parents, scaled.reshape(table.numbers.shape), element.line)

    def values(self, element: Element) -> Table:
        """The table of a Func: a reward by the values of its parents."""
        name, parents = self._header(element)
        return self._table(element, name, parents, parents)

    def fault(self, message: str, line: int, *, code: str = "pomdpx-syntax") -> NoReturn:
        raise ModelFileError(message, file=self.file, line=line, code=code)

    def _header(self, element: Element) -> tuple[str, tuple[str, ...]]:
        words = {tag: (found.text.split() if (found := element.first(tag)) else []) for tag in ("Var", "Parent")}
        if len(words["Var"]) != 1:
            self.fault(f"<{element.tag}> must have one <Var>", element.line)
        parents = tuple(word for word in words["Parent"] if word != "null")
        for parent in parents:
            if parent not in self.variables:
                self.fault(f"<Parent> must name variables; '{parent}' is none", element.line)
        if len(set(parents)) < len(parents):
            self.fault(f"<Parent> must name each variable once; it has {', '.join(parents)}", element.line)
        return words["Var"][0], parents

    def _table(self, element: Element, name: str, parents: tuple[str, ...], axes: tuple[str, ...]) -> Table:
        shape = tuple(len(self.variables[axis].values) for axis in axes)
        if len(shape) > MOST_AXES:
            self.fault(f"{name} may depend on {MOST_AXES - 1} variables at most; it has {len(parents)}", element.line)
        check_size(f"the table of {name}", prod(shape), file=self.file, line=element.line)
        self.budget.spend(prod(shape) / PER_CELL, element.line)
        numbers = np.zeros(shape)
        parameter = element.only("Var", "Parent", "Parameter", file=self.file).first("Parameter")
        if parameter is None:
            self.fault(f"<{element.tag}> must have a <Parameter>", element.line)
        kind = parameter.attributes.get("type", "TBL").strip()
        if kind == "TBL":
            for entry in parameter.only(several=("Entry",), file=self.file).inside:
                self._entry(entry, axes, numbers)
        elif kind == "DD":
            self._diagram(parameter, axes, numbers)
        else:
            self.fault(f"<Parameter> must be of type TBL or DD; it is '{kind}'", parameter.line)
        return Table(name, parents, numbers, element.line)

    # -- entries --------------------------------------------------------------------------------------------------

    def _entry(self, entry: Element, axes: tuple[str, ...], numbers: Array) -> None:
        entry.only("Instance", "ProbTable", "ValueTable", file=self.file)
        instance = entry.first("Instance")
        table = entry.first("ProbTable") or entry.first("ValueTable")
        if instance is None or table is None:
            self.fault("<Entry> must have an <Instance> and a <ProbTable> or <ValueTable>", entry.line)
        words = instance.text.split()
        if not axes and words == ["-"]:
            words = []
        if len(words) != len(axes):
            self.fault(
                f"<Instance> must have one word for each of {', '.join(axes)}; it has {len(words)}", instance.line
            )
        place: list[int | slice] = []
        shape: list[int] = []
        for word, axis in zip(words, axes, strict=True):
            variable = self.variables[axis]
            if word in ("*", "-"):
                place.append(slice(None))
                shape.append(len(variable.values) if word == "-" else 1)
            else:
                place.append(self._value(variable, word, instance.line))
        self.budget.spend(numbers[tuple(place)].size / PER_CELL, entry.line)
        numbers[tuple(place)] = self._numbers(table, words, axes, shape)

    def _numbers(self, table: Element, words: Sequence[str], axes: Sequence[str], shape: list[int]) -> Array:
        given = table.text.split()
        dashes = [axis for word, axis in zip(words, axes, strict=True) if word == "-"]
        if given == ["uniform"] and table.tag == "ProbTable":
            return np.full(shape, 1 / len(self.variables[axes[-1]].values))
        if given == ["identity"]:
            sizes = {len(self.variables[axis].values) for axis in dashes}
            if len(dashes) != 2 or len(sizes) != 1:
                self.fault("identity must stand for two '-' of equal size", table.line)
            return np.eye(sizes.pop()).reshape(shape)
        found = numbers_of(given)
        if found is None:
            words = ", uniform or identity" if table.tag == "ProbTable" else ""
            self.fault(f"<{table.tag}> must hold numbers{words}", table.line)
        if found.size != int(np.prod(shape)):
            self.fault(
                f"<{table.tag}> must hold {int(np.prod(shape))} numbers, one per value of each '-'; it holds "
                f"{found.size}",
                table.line,
            )
        return found.reshape(shape)

    def _value(self, variable: Variable, word: str, line: int) -> int:
        if word not in variable.numbers:
            shown = ", ".join(variable.values[:6]) + (", ..." if len(variable.values) > 6 else "")
            self.fault(f"expected a value of {variable.name} ({shown}), * or -; found '{word}'", line)
        return variable.numbers[word]

    # -- diagrams -------------------------------------------------------------------------------------------------

    def _diagram(self, parameter: Element, axes: tuple[str, ...], numbers: Array) -> None:
        templates = {one.attributes.get("id", ""): one for one in parameter.all("SubDAGTemplate")}
        dag = parameter.first("DAG")
        if dag is None:
            self.fault("a <Parameter> of type DD must have a <DAG>", parameter.line)
        self._node(dag, axes, numbers, [slice(None)] * len(axes), templates, 0)

    def _node(
        self,
        holder: Element,
        axes: tuple[str, ...],
        numbers: Array,
        place: list[int | slice],
        templates: dict[str, Element],
        depth: int,
    ) -> None:
        """Write what stands inside `holder` (a DAG, an edge or a template) to `place`."""
        if depth > DEEPEST_DIAGRAM:
            self.fault(f"a diagram may be {DEEPEST_DIAGRAM} decisions deep; this one goes on", holder.line)
        for element in holder.inside:
            self.budget.spend(PER_CELL + numbers[tuple(place)].size / PER_CELL, element.line)
            kind = element.attributes.get("type", "")
            if element.tag == "Terminal":
                numbers[tuple(place)] = self._terminal(element)
            elif element.tag == "Node":
                axis = self._axis(element, axes)
                for edge in element.all("Edge"):
                    value = self._value(self.variables[axes[axis]], edge.attributes.get("val", ""), edge.line)
                    if place[axis] == slice(None):
                        inner = [*place[:axis], value, *place[axis + 1 :]]
                        self._node(edge, axes, numbers, inner, templates, depth + 1)
                    elif place[axis] == value:
                        self._node(edge, axes, numbers, place, templates, depth + 1)
            elif element.tag == "SubDAG" and kind == "template":
                name = element.attributes.get("idref", "")
                if name not in templates:
                    self.fault(f"<SubDAG> must refer to a template; there is no '{name}'", element.line)
                self._node(templates[name], axes, numbers, place, templates, depth + 1)
            elif element.tag == "SubDAG":
                self._short(element, kind, axes, numbers, place)
            else:
                self.fault(f"a diagram must hold Node, Terminal or SubDAG; it holds '{element.tag}'", element.line)

    def _short(
        self, element: Element, kind: str, axes: tuple[str, ...], numbers: Array, place: list[int | slice]
    ) -> None:
        """A SubDAG that says in a word how the variable is distributed."""
        axis = self._axis(element, axes)
        variable = self.variables[axes[axis]]
        if place[axis] != slice(None):
            self.fault(f"<SubDAG> about {axes[axis]} must not stand under an edge that decides it", element.line)
        if kind == "uniform":
            numbers[tuple(place)] = 1 / len(variable.values)
        elif kind == "deterministic":
            value = self._value(variable, element.attributes.get("val", ""), element.line)
            numbers[(*place[:axis], value, *place[axis + 1 :])] = 1.0
        elif kind == "persistent":
            if variable.before not in axes:
                self.fault(f"persistent must have {variable.before or 'the value before'} as a parent", element.line)
            before = axes.index(variable.before)
            held = place[before]
            for value in range(len(variable.values)) if isinstance(held, slice) else (held,):
                inner = list(place)
                inner[before] = inner[axis] = value
                numbers[tuple(inner)] = 1.0
        else:
            self.fault(f"<SubDAG> must be template, uniform, deterministic or persistent; it is '{kind}'", element.line)

    def _terminal(self, element: Element) -> float:
        found = number_of(element.text.strip())
        if isnan(found):
            self.fault(f"<Terminal> must hold a number; it holds '{element.text.strip()}'", element.line)
        return found

    def _axis(self, element: Element, axes: tuple[str, ...]) -> int:
        name = element.attributes.get("var", "")
        if name not in axes:
            self.fault(f"'{element.tag}' must be about one of {', '.join(axes)}; it is about '{name}'", element.line)
        return axes.index(name)

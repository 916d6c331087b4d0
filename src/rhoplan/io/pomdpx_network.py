"""What a `.pomdpx` file says: its variables, and its tables in an order in which they can be gone through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isnan, prod
from typing import Any, NoReturn

from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.assemble import Rounding, check_discount
from rhoplan.io.foreign import PER_ACTION, Budget, check_words, counted, number_of
from rhoplan.io.pomdpx_tables import Table, TableReader, Variable
from rhoplan.io.xml import Element

MOST_VARIABLES = 300
"""Every table is joined with every variable that came before it."""

SECTIONS = (
    "Description", "Discount", "Variable", "InitialStateBelief", "StateTransitionFunction", "ObsFunction",
    "RewardFunction",
)  # fmt: skip
OPTIONAL = ("Description", "ObsFunction")
"""What stands in a file, once; and what may be missing: where nothing is to be seen there is no ObsFunction."""

SEEN = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, eq=False)
class Network:
    """What a file says: variables by kind, and tables. Changes stand in an order in which parents come first."""

    discount: float
    states: tuple[Variable, ...]
    seen: tuple[Variable, ...]
    acts: tuple[Variable, ...]
    start: tuple[Table, ...]
    changes: tuple[Table, ...]
    shows: tuple[Table, ...]
    pays: tuple[Table, ...]
    rounding: Rounding
    budget: Budget

    @cached_property
    def asked(self) -> tuple[frozenset[str], ...]:
        """After each of the tables `changes` and `shows`, the variables that something still asks for."""
        later = {name for table in self.pays for name in table.parents}
        later |= {one.name for one in (*self.states, *self.seen)}
        found = list[frozenset[str]]()
        for table in reversed((*self.changes, *self.shows)):
            found.insert(0, frozenset(later))
            later |= {*table.parents}
        return tuple(found)

    @property
    def choices(self) -> list[tuple[int, ...]]:
        """Every action: one value for each action variable."""
        return list(product(*(range(len(act.values)) for act in self.acts)))

    def act_name(self, choice: tuple[int, ...]) -> str:
        return "/".join(act.values[value] for act, value in zip(self.acts, choice, strict=True))


def read_network(top: Element, file: str, budget: Budget) -> Network:
    """What stands in the element `top` of `file`, every fault named with its line."""

    def fault(message: str, line: int, *, code: str = "pomdpx-syntax") -> NoReturn:
        raise ModelFileError(message, file=file, line=line, code=code)

    _check_texts(top, file)
    if top.tag != "pomdpx":
        fault(f"the outermost element must be <pomdpx>; it is <{top.tag}>", top.line)
    section = {tag: found for tag in SECTIONS if (found := top.only(*SECTIONS, file=file).first(tag)) is not None}
    for tag in SECTIONS:
        if tag not in section and tag not in OPTIONAL:
            fault(f"<pomdpx> must have a <{tag}>; it has none", top.line)
    discount, variable = section["Discount"], section["Variable"]
    value = number_of(discount.text.strip())
    try:
        check_discount(value)
    except ProblemError as error:
        told = f"discount must be above 0 and at most 1; it is '{discount.text.strip()}'"
        fault(told if isnan(value) else error.message, discount.line, code=error.code)
    variable.only(several=("StateVar", "ObsVar", "ActionVar", "RewardVar"), file=file)
    states, seen, acts = (_variables(variable, tag, file, budget) for tag in ("StateVar", "ObsVar", "ActionVar"))
    if len(states) + len(seen) + len(acts) > MOST_VARIABLES:
        fault(f"<Variable> may have {MOST_VARIABLES} variables at most; it has more", variable.line)
    budget.spend(PER_ACTION * prod(len(act.values) for act in acts))
    if not states or not acts:
        fault("<Variable> must have a <StateVar> and an <ActionVar>", variable.line)
    names = {one.name: one for one in (*states, *seen, *acts)} | {state.before: state for state in states}
    paid = {element.attributes.get("vname", ""): element.line for element in variable.all("RewardVar")}
    if len(names) + len(paid) < 2 * len(states) + len(seen) + len(acts) + len(variable.all("RewardVar")):
        fault("<Variable> must give each variable, and each state variable before and after a step, a name of its own",
              variable.line)  # fmt: skip
    rounding = Rounding()
    reader = TableReader(names, file, rounding, budget)
    tables = {
        tag: [reader.probabilities(one) for one in section[tag].only(several=("CondProb",), file=file).inside]
        for tag in ("InitialStateBelief", "StateTransitionFunction", "ObsFunction")
        if tag in section
    }
    before, after = [state.before for state in states], [state.name for state in states]
    known = [act.name for act in acts] + before
    start = _ordered(tables["InitialStateBelief"], before, [], fault, top.line)
    changes = _ordered(tables["StateTransitionFunction"], after, known, fault, top.line)
    shows = _ordered(tables.get("ObsFunction", []), [one.name for one in seen], known + after, fault, top.line)
    functions = section["RewardFunction"].only(several=("Func",), file=file).inside
    pays = tuple(reader.values(one) for one in functions)
    if sorted(one.name for one in pays) != sorted(paid):
        fault(f"<RewardFunction> must have one <Func> for each <RewardVar> ({', '.join(paid) or 'there is none'}); it "
              f"has {', '.join(one.name for one in pays) or 'none'}", section["RewardFunction"].line)  # fmt: skip
    return Network(value, states, seen, acts, start, changes, shows, pays, rounding, budget)


def _check_texts(element: Element, file: str) -> None:
    """Refuse texts and attributes that cannot be printed, here and inside; nobody shows a description."""
    if element.tag == "Description":
        return
    words = [*re.split("[ \t\r\n]+", element.text), *element.attributes.values()]
    check_words(words, file=file, line=element.line)
    for one in element.inside:
        _check_texts(one, file)


def _variables(section: Element, tag: str, file: str, budget: Budget) -> tuple[Variable, ...]:
    letter = {"StateVar": "s", "ObsVar": "o", "ActionVar": "a"}[tag]
    found = []
    for element in section.all(tag):
        listed, count = element.first("ValueEnum"), element.first("NumValues")
        values = tuple(listed.text.split()) if listed else ()
        if count is not None and (many := counted(count.text.strip())):
            budget.spend(many, count.line)
            values = tuple(f"{letter}{number}" for number in range(many))
        if not values or len(set(values)) < len(values):
            raise ModelFileError(
                f"<{tag}> must have a <ValueEnum> of different names, or a <NumValues>",
                file=file,
                line=element.line,
                code="pomdpx-syntax",
            )
        name = element.attributes.get("vnameCurr" if tag == "StateVar" else "vname", "")
        before = element.attributes.get("vnamePrev", "")
        if not name or (tag == "StateVar" and not before):
            wanted = "vnamePrev and vnameCurr" if tag == "StateVar" else "vname"
            raise ModelFileError(f"<{tag}> must have {wanted}", file=file, line=element.line, code="pomdpx-syntax")
        seen = SEEN.get(element.attributes.get("fullyObs", "false").strip().lower())
        if seen is None:
            raise ModelFileError(
                f"fullyObs must be true or false; it is '{element.attributes['fullyObs']}'", file=file,
                line=element.line, code="boolean-expected")  # fmt: skip
        found.append(Variable(name, values, before, seen))
    return tuple(found)


def _ordered(tables: list[Table], wanted: list[str], known: list[str], fault: Any, line: int) -> tuple[Table, ...]:
    """`tables`, one for each of the variables `wanted`, parents first."""
    found: list[Table] = []
    there = {*known}
    left = {table.name: table for table in tables}
    for name in wanted:
        if name not in left:
            fault(f"there must be a <CondProb> of {name}; there is none", line)
    for table in tables:
        if left[table.name] is not table:
            fault(f"there must be one <CondProb> of {table.name}; there are two", left[table.name].line)
        if table.name not in wanted:
            fault(f"<Var> must be one of {', '.join(wanted)}; it is '{table.name}'", table.line)
    while left:
        ready = [table for table in left.values() if there >= {*table.parents}]
        if not ready:
            stuck = next(iter(left.values()))
            fault(f"{stuck.name} must depend on what is known before it; it has {', '.join(stuck.parents)}", stuck.line)
        for table in ready:
            found.append(left.pop(table.name))
            there.add(table.name)
    return tuple(found)

"""A form from the text of a model file, and back: numbers stay as they were typed, nothing is reckoned.

`form_text` is the only writer: what it writes is read like any other file, so form and text cannot differ in what
they mean. `comments` brings it into the layout of the text it was made from.
"""

from __future__ import annotations

import re
from typing import Any, get_args

from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.as_yaml import Bare, yaml_lines
from rhoplan.io.fields import Fields
from rhoplan.io.form import NUMBERS, Form, FormDecision, FormTest, Stakes, at, check_names, row_at
from rhoplan.io.stakes import THRESHOLD
from rhoplan.io.tree import Tree, parse_tree
from rhoplan.io.typed import unmistakable

TYPED = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*%?|\d+(\.\d+)? (of|in) \d+(\.\d+)?")
"""Numbers that YAML takes as they are, wherever they stand."""

SHOWN = (
    "name",
    "unit",
    "field",
    "states",
    "positive",
    "prevalence",
    "prior",
    "tests",
    *get_args(Stakes),
    "worth",
    "info",
)
BY_ITSELF = "all"
"""What a source is for that is given without a number."""


def read_form(text: str, *, file: str = "model", language: str = "yaml") -> Form:
    """The form of a model file's text. ModelFileError where it does not parse, or is no model that a form can show."""
    tree = parse_tree(text, file=file, language=language)
    fields = Fields(file)
    fields.check_fields(tree, tree.items.keys())
    for name, what in (("factors", "several hidden factors or places"), ("subtypes", "subtypes")):
        if name in tree.items:
            raise fields.fault(
                f"a model with {what} cannot be shown as a form; it stays as text", tree.items[name], code="not-a-form"
            )
    items = tree.items
    states = list(fields.names(items["states"])) if "states" in items else []
    share, positive = items.get("prevalence"), _text(items.get("positive"))
    if share is not None and share.kind == "map":
        positive, share = next(((name, one) for name, one in share.items.items()), (positive, share))
    stakes: Stakes = next((name for name in get_args(Stakes) if name in items), "losses")
    given = items.get(stakes)
    about, sources, rest = _info(items.get("info"))
    more = {name: _data(one) for name, one in items.items() if name not in SHOWN}
    prior = items.get("prior")
    as_in = prior is not None and prior.kind == "text"
    return Form(
        name=_text(items.get("name")),
        about=about.pop("about", ""),
        unit=_text(items.get("unit")),
        field=_text(items.get("field")),
        states=states,
        positive=positive,
        prevalence=_text(prior if as_in else share),
        prior=[] if prior is None or as_in else _row(fields, prior, states),
        tests=[
            _read_test(fields, name, one, states, positive)
            for name, one in fields.named_maps(items["tests"], empty_allowed=True).items()
        ]
        if "tests" in items
        else [],
        stakes=stakes,
        decisions=[
            FormDecision(name, list(map(unmistakable, _row(fields, row, states))))
            for name, row in fields.named_maps(given).items()
        ]
        if given is not None and stakes != "threshold"
        else [],
        threshold={name: _amount(one) for name, one in given.items.items()} if given and stakes == "threshold" else {},
        worth=_amount(items.get("worth")),
        sources=sources,
        more=_lines({**more, **({"info": {**about, **rest}} if about or rest else {})}),
    )


def form_text(form: Form) -> str:
    """`form` as a model file; what is not filled in is left out. ProblemError where it cannot be written at all."""
    check_names(form)
    more = _more(form.more, ("more",))
    info = {"about": form.about, "source": _source(form.sources), **more.pop("info", {})}
    two = len(form.states) == 2
    prior = dict(zip(form.states, map(_typed, form.prior), strict=False)) if any(form.prior) else None
    amounts = {one.name: _named(form.states, one.amounts) for one in form.decisions}
    after: dict[str, Any] = {name: more.pop(name) for name in ("cap", "horizon", "learned") if name in more}
    several = _typed(form.prevalence) if not two and form.prevalence else None
    record: dict[str, Any] = {
        "name": form.name,
        "unit": form.unit,
        "field": form.field,
        "info": {name: value for name, value in info.items() if value} or None,
        "states": list(form.states),
        "positive": form.positive if two else "",
        "prevalence": _typed(form.prevalence) if two else "",
        "prior": several or (prior if not (two and form.prevalence) else None),
        **more,
        "tests": {one.name: _test_record(one, form) for one in form.tests} or None,
        form.stakes: {name: _typed(form.threshold.get(name, "")) for name in THRESHOLD if form.threshold.get(name)}
        if form.stakes == "threshold"
        else amounts,
        "worth": _typed(form.worth) if form.stakes == "utilities" else "",
        **after,
    }
    return _lines({name: value for name, value in record.items() if value not in (None, "", {}, [])})


def _read_test(fields: Fields, name: str, tree: Tree, states: list[str], positive: str) -> FormTest:
    fields.check_fields(tree, tree.items.keys())
    items = tree.items
    way: Any = next((way for way, names in NUMBERS.items() if any(one in items for one in names)), "rates")
    way = "table" if "likelihood" in items else "groups" if "shares" in items or "chances" in items else way
    outcomes = list(fields.names(items["outcomes"])) if "outcomes" in items else []
    shares: list[str] = []
    rows: list[list[str]] = []
    if way == "groups":
        given = {one: items.get(one, Tree("map", tree.line)).items for one in ("shares", "chances")}
        outcomes = list(given["shares"] or given["chances"])
        shares = [_text(given["shares"].get(one)) for one in outcomes]
        columns = [_chances(fields, given["chances"].get(one), states, positive) for one in outcomes]
        rows = [[column[place] for column in columns] for place in range(len(states))]
    elif way == "table":
        table = items["likelihood"].items
        rows = [_row(fields, table[state], outcomes) if state in table else [] for state in states]
    about, sources, rest = _info(items.get("info"))
    known = {
        "cost",
        "info",
        "outcomes",
        "likelihood",
        "shares",
        "chances",
        *(n for names in NUMBERS.values() for n in names),
    }
    more = {one: _data(value) for one, value in items.items() if one not in known}
    if about.get("about"):
        rest["about"] = about["about"]
    return FormTest(
        name=name,
        cost=_amount(items.get("cost")),
        way=way,
        numbers={one: _amount(items.get(one)) for one in NUMBERS.get(way, ()) if one in items},
        outcomes=outcomes,
        shares=shares,
        rows=rows,
        sources=sources,
        note=about.get("note", ""),
        more=_lines({**more, **({"info": rest} if rest else {})}),
    )


def _test_record(test: FormTest, form: Form) -> dict[str, Any]:
    place = ("tests", test.name, "more")
    more = _more(test.more, place)
    info = {"note": test.note, "source": _source(test.sources), **more.pop("info", {})}
    record: dict[str, Any] = {"cost": _typed(test.cost)}
    record |= {name: _typed(test.numbers.get(name, "")) for name in NUMBERS.get(test.way, ())}
    if test.way == "groups":
        record["shares"] = dict(zip(test.outcomes, map(_typed, test.shares), strict=False))
        record["chances"] = {name: _group(test, form, number) for number, name in enumerate(test.outcomes)}
    elif test.outcomes:
        record["outcomes"] = list(test.outcomes)
    if test.way == "table":
        rows = {state: [_typed(cell) for cell in row_at(test.rows, i)] for i, state in enumerate(form.states)}
        record["likelihood"] = rows
    record |= more
    record["info"] = {name: value for name, value in info.items() if value} or None
    return {name: value for name, value in record.items() if value not in (None, "")}


def _group(test: FormTest, form: Form, number: int) -> Any:
    """The chances of one group: of two states that of the positive one."""
    column = [_typed(at(row_at(test.rows, place), number)) for place in range(len(form.states))]
    if len(form.states) == 2 and form.positive in form.states:
        return column[form.states.index(form.positive)]
    return dict(zip(form.states, column, strict=True))


def _chances(fields: Fields, tree: Tree | None, states: list[str], positive: str) -> list[str]:
    if tree is None:
        return [""] * len(states)
    if tree.kind in ("map", "list"):
        return _row(fields, tree, states)
    return [tree.text if state == positive else "" for state in states]


def _info(tree: Tree | None) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """What a note says that the form shows, the sources by what they are for, and the rest."""
    items = tree.items if tree is not None else {}
    told: dict[str, str] = {name: " ".join(items[name].text.split()) for name in ("about", "note") if name in items}
    source = items.get("source")
    if source is None:
        sources = {}
    elif source.kind == "map":
        sources = {name: one.text for name, one in source.items.items()}
    else:
        sources = {BY_ITSELF: " ".join(source.text.split())}
    return told, sources, {name: _data(one) for name, one in items.items() if name not in (*told, "source")}


def _source(sources: dict[str, str]) -> Any:
    given = {name: text for name, text in sources.items() if text.strip()}
    return given.get(BY_ITSELF) if set(given) == {BY_ITSELF} else given or None


def _more(text: str, place: tuple[str, ...]) -> dict[str, Any]:
    """Further fields, typed as YAML."""
    if not text.strip():
        return {}
    try:
        tree = parse_tree(text, file="more", language="yaml")
    except ModelFileError as error:
        raise ProblemError(
            f"the further fields cannot be read: {error.message}", field=place, code=error.code
        ) from None
    if tree.kind != "map":
        raise ProblemError(
            "the further fields must be lines such as horizon: 3; these are not", field=place, code="map-expected"
        )
    found: dict[str, Any] = _data(tree)
    return found


def _data(tree: Tree) -> Any:
    """A value as plain data; numbers stay as they are written."""
    if tree.kind == "map":
        return {name: _data(one) for name, one in tree.items.items()}
    if tree.kind == "list":
        return [_data(one) for one in tree.list]
    if tree.kind in ("truth", "nothing"):
        return tree.text.lower() == "true" if tree.kind == "truth" else None
    return Bare(tree.text) if tree.kind == "number" else _typed(tree.text)


def _row(fields: Fields, tree: Tree, names: list[str]) -> list[str]:
    """One value as typed for each of `names`, from a list in their order or from a map."""
    if tree.kind == "list":
        return [_text(one) for one in tree.list]
    fields.check_names(tree, tuple(names), "name", "a number")
    return [_text(tree.items[name]) for name in names]


def _named(names: list[str], values: list[str]) -> dict[str, Any]:
    return {name: _typed(value) for name, value in zip(names, values, strict=False) if value.strip()}


def _typed(text: str) -> str:
    return Bare(text.strip()) if TYPED.fullmatch(text.strip()) else text.strip()


def _text(tree: Tree | None) -> str:
    return "" if tree is None else " ".join(tree.text.split())


def _amount(tree: Tree | None) -> str:
    """A number of a file as a person would type it, so that it has one reading there too."""
    return unmistakable(_text(tree)) if tree is not None and tree.kind == "number" else _text(tree)


def _lines(record: dict[str, Any]) -> str:
    return "\n".join(yaml_lines(record)) + "\n" if record else ""

"""What replies hold, as OpenAPI tells it: made from the records of the library, so that the two cannot drift apart.

A number that JSON cannot hold (an infinite margin, a success that is not known) is null. Within a version of the API
fields may be added and none changes its meaning: clients must not mind fields they do not know.
"""

from __future__ import annotations

import sys
import types
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import get_annotations
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Field, create_model

Number = Annotated[float | None, Field(description="Null where it is infinite or not known.")]


def pair(one: Any, other: Any) -> Any:
    """Two values in a list; a plain list of either, since not every tool reads lists with a kind for each place."""
    return Annotated[list[either(one, other)], Field(min_length=2, max_length=2)]  # type: ignore[misc]


def by_name(kind: Any) -> Any:
    """A map from names to `kind`."""
    return dict[str, kind]


def many(kind: Any) -> Any:
    """A list of `kind`."""
    return list[kind]


def either(*kinds: Any) -> Any:
    """One of several kinds."""
    return Union[kinds]  # noqa: UP007  a text for a checker, a value here


def maybe(kind: Any) -> Any:
    """`kind`, or null."""
    return either(kind, None)


def shape(name: str, /, *records: type, says: str = "", without: tuple[str, ...] = (), **more: Any) -> type[BaseModel]:
    """A reply with the fields of `records`, but for those in `without`, and with `more`: name = type.

    A field that may be absent is given as (type, None).
    """
    found: dict[str, Any] = {}
    for record in records:
        names = [one for one in _fields(record) if one not in without]
        found |= {one: (_served(_kind(record, one)), ...) for one in names}
    found |= {one: kind if isinstance(kind, tuple) else (kind, ...) for one, kind in more.items()}
    said = says or (records[-1].__doc__ if records else "") or ""
    return create_model(name, __doc__=said, **found)


def _fields(record: type) -> list[str]:
    return list(record.model_fields) if issubclass(record, BaseModel) else [one.name for one in fields(record)]  # type: ignore[arg-type]


def _kind(record: type, name: str) -> Any:
    """The type of a field, looked up where the class that has it was written."""
    if issubclass(record, BaseModel):
        return record.model_fields[name].annotation
    home = next(one for one in record.__mro__ if name in get_annotations(one))
    said = get_annotations(home)[name]
    return eval(said, vars(sys.modules[home.__module__])) if isinstance(said, str) else said


@cache
def _model(record: type) -> type[BaseModel]:
    return shape(record.__name__, record)


def _served(kind: Any) -> Any:
    """The type that `kind` has once it went through JSON."""
    if kind is float:
        return Number
    if isinstance(kind, type) and is_dataclass(kind):
        return _model(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple and parts[-1] is Ellipsis:
        return list[_served(parts[0])]  # type: ignore[misc]
    if origin is tuple and len(parts) == 2:
        return pair(*map(_served, parts))
    if origin in (list, dict):
        return origin[tuple(_served(part) for part in parts)]
    if origin in (Union, types.UnionType):
        return either(*map(_served, parts))
    return kind

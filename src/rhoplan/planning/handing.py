"""Records of arrays handed to kernels by where they stand.

Numba hands a named tuple over field by field, and each array as seven numbers: a record of forty arrays is two hundred
and eighty arguments of every call, which take longer to compile than what the kernels do, and longer to hand over than
many of them take. `machine.handed` lets a kernel have the place of the record instead. Fields are read where they are
used and cannot change during a call, which machine code is told.
"""

from __future__ import annotations

import zlib
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from rhoplan.planning.machine import Record


class Handed(types.Type):
    """The type of a record that is handed over so: the name of its class, and its fields with their types."""

    def __init__(self, title: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.title, self.fields = title, fields
        super().__init__(name=f"{title}{zlib.crc32(str(fields).encode()):08x}")

    @property
    def key(self) -> tuple[str, tuple[tuple[str, Any], ...]]:
        return self.title, self.fields

    def place_of(self, name: str) -> int:
        return [field for field, _ in self.fields].index(name)


@register_model(Handed)
class HandedModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to a struct of what its fields are."""

    def __init__(self, manager: Any, kind: Handed) -> None:
        struct = ir.LiteralStructType([manager.lookup(field).get_value_type() for _, field in kind.fields])
        super().__init__(manager, kind, struct.as_pointer())


@typeof_impl.register(Record)  # type: ignore[untyped-decorator]
def kind_of(value: Any, context: Any) -> Handed | None:
    kinds = [typeof_impl(one, context) for one in value]
    if None in kinds:  # Numba says so
        return None
    return Handed(type(value).__name__, tuple(zip(value._fields, kinds, strict=True)))


@unbox(Handed)  # type: ignore[untyped-decorator]
def set_down(kind: Handed, value: Any, context: Any) -> NativeValue:
    """The fields of a record of Python's, in memory that lasts as long as the call."""
    builder = context.builder
    place = cgutils.alloca_once(builder, context.context.get_value_type(kind).pointee)
    failed = cgutils.false_bit
    for number, (_, field) in enumerate(kind.fields):
        native = context.unbox(field, context.pyapi.tuple_getitem(value, number))
        builder.store(native.value, cgutils.gep_inbounds(builder, place, 0, number))
        failed = builder.or_(failed, native.is_error)
    return NativeValue(place, is_error=failed)


@infer_getattr
class HandedFields(AttributeTemplate):  # type: ignore[misc]
    key = Handed

    def generic_resolve(self, kind: Handed, name: str) -> Any:
        return dict(kind.fields).get(name)


@lower_getattr_generic(Handed)  # type: ignore[untyped-decorator]
def read(context: Any, builder: Any, kind: Handed, place: Any, name: str) -> Any:
    """A field of a record, number by number: those that are not used are left out again."""
    number = kind.place_of(name)
    _promise(context, builder.function, place.type)
    value = _read(builder, cgutils.gep_inbounds(builder, place, 0, number))
    return impl_ret_borrowed(context, builder, kind.fields[number][1], value)


def _promise(context: Any, function: Any, pointer: Any) -> None:
    """Say of the records that a function is handed that they are there: their fields then may be read before it is
    known whether they are needed, out of the loops that use them."""
    for argument in function.args:
        if argument.type == pointer:
            argument.attributes.dereferenceable = context.get_abi_sizeof(pointer.pointee)
            argument.attributes.align = context.get_abi_alignment(pointer.pointee)


def _read(builder: Any, place: Any) -> Any:
    """What stands at `place`, and stays there."""
    what = place.type.pointee
    if isinstance(what, (ir.LiteralStructType, ir.ArrayType)):
        many = len(what.elements) if isinstance(what, ir.LiteralStructType) else what.count
        whole = ir.Constant(what, ir.Undefined)
        for number in range(many):
            whole = builder.insert_value(whole, _read(builder, cgutils.gep_inbounds(builder, place, 0, number)), number)
        return whole
    read = builder.load(place)
    read.set_metadata("invariant.load", builder.module.add_metadata([]))
    return read

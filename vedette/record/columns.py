"""Derives table columns from definitions, and converts rows to objects and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

from sqlalchemy import BigInteger, Boolean, Column, Float, RowMapping, Text, false, true
from sqlalchemy.types import TypeEngine

from vedette.record.member import MemberOf, members

T = TypeVar("T")

_TYPES: Final[Mapping[type, type[TypeEngine[Any]]]] = {
    bool: Boolean,
    int: BigInteger,
    str: Text,
    float: Float,
}


def columns(kind: type, *given: Column[Any]) -> list[Column[Any]]:
    """Returns the columns of the stored members, in the order of the definition. Each column of
    `given`, such as one with a key, an index or another type, replaces the derived column of the
    same name."""
    own = {column.name: column for column in given}
    return [own.get(one.attribute, _column(one)) for one in members(kind) if one.is_stored]


def from_row(kind: type[T], row: RowMapping, **more: Any) -> T:
    """Returns the object of a row. Members that are not stored come from `more` or have their
    defaults."""
    of_kind: Any = kind
    found: T = kind(**{name: row[name] for name in _stored(of_kind)}, **more)
    return found


def row_of(one: Any, *left_out: str) -> dict[str, Any]:
    """Maps column to value for all stored members except `left_out`."""
    kind: Any = type(one)
    return {name: getattr(one, name) for name in _stored(kind) if name not in left_out}


def split_row(one: Any, own: Sequence[str], *left_out: str) -> dict[str, Any]:
    """Returns the row of an object. Members in `own` have their own columns; the column `body` has
    the others as JSON."""
    values = row_of(one, *left_out)
    body = {name: value for name, value in values.items() if name not in own}
    return {name: values[name] for name in own if name in values} | {"body": json.dumps(body)}


def from_split_row(kind: type[T], row: RowMapping, own: Sequence[str]) -> T:
    """Returns the object of a row made by `split_row`. Members that the JSON lacks have their
    defaults."""
    body: dict[str, Any] = json.loads(row["body"])
    of_kind: Any = kind
    values = {name: row[name] for name in own} | {
        name: tuple(body[name]) if isinstance(body[name], list) else body[name]
        for name in _stored(of_kind)
        if name in body
    }
    found: T = kind(**values)
    return found


@cache
def _stored(kind: Any) -> tuple[str, ...]:
    return tuple(one.attribute for one in members(kind) if one.is_stored)


def _column(one: MemberOf) -> Column[Any]:
    """Returns the column of a member. The database default equals the default of the definition, so
    that older servers can insert rows while a newer server runs."""
    bare, nullable = _bare(one.type)
    default: Any = None
    if isinstance(one.default, bool):
        default = true() if one.default else false()
    elif one.default is not MISSING and one.default is not None:
        default = str(one.default)
    return Column(one.attribute, _TYPES[bare], nullable=nullable, server_default=default)


def _bare(hint: Any) -> tuple[type, bool]:
    """Returns (type without annotations, whether it includes None)."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    parts = get_args(hint)
    if NoneType in parts:
        [other] = [part for part in parts if part is not NoneType]
        return _bare(other)[0], True
    if parts and hint not in _TYPES:  # a literal
        return type(parts[0]), False
    return hint, False

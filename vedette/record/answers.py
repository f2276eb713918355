"""Serializes managed objects as JSON, and builds the response models for `/openapi.json`."""

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, create_model

from vedette.record.member import Access, MemberOf, members

Show = Callable[[Any], Any]

_CLOSED = ConfigDict(extra="forbid", defer_build=True)


class Answer(BaseModel):
    """A part of a response that is not a managed object. Unknown members are forbidden."""

    model_config = _CLOSED


def to_json(one: Any) -> dict[str, Any]:
    """Serializes an object. The members have the order of the definition."""
    kind: Any = type(one)
    return {
        name: getattr(one, attribute) if show is None else show(getattr(one, attribute))
        for name, attribute, show in _parts(kind)
    }


def answer_model(kind: Any, name: str = "", **more: Any) -> type[BaseModel]:
    """Returns the response model of an object: every member that is not hidden, and the members
    `more`. A value of `more` is a type, or (type, default) for an optional member. Routes declare
    the model and send `to_json`; responses are not validated."""
    fields: dict[str, Any] = {
        one.attribute: (one.type, Field(alias=one.name, description=one.member.meaning))
        for one in _visible(kind)
    }
    fields |= {
        extra: hint if isinstance(hint, tuple) else (hint, ...) for extra, hint in more.items()
    }
    return create_model(name or kind.__name__, __config__=_CLOSED, **fields)


def many(model: Any) -> Any:
    """Returns the type of a list of objects, for the declaration of a route."""
    return list.__class_getitem__(model)


@cache
def _parts(kind: Any) -> tuple[tuple[str, str, Show | None], ...]:
    """Returns (name, attribute, serializer or None) of each member of a response."""
    return tuple((one.name, one.attribute, _show(one)) for one in _visible(kind))


def _visible(kind: Any) -> list[MemberOf]:
    return [one for one in members(kind) if one.access is not Access.HIDDEN]


def _show(one: MemberOf) -> Show | None:
    """Returns the function that serializes values of a member's type, or None. Lists are copied,
    since tuples differ from the lists that clients send."""
    for mark in one.type.__metadata__:
        if isinstance(mark, PlainSerializer):
            return cast(Show, mark.func)
    return list if getattr(one.type.__origin__, "__origin__", None) is tuple else None

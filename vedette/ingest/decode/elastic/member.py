"""Readers of the places where Winlogbeat modules and pipelines put members of event data.

A reader takes the document and returns the value in the event's own spelling; None or "" if the
place is empty.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.decode.eventlog import integer, text

Read = Callable[[Any], Any]
Members = dict[str, tuple[Read, ...]]
"""Maps each member of an event to readers of its possible places, in order of preference."""


def member(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def value_at(obj: Any, *path: str) -> Any:
    """Returns the scalar at a path; for a list, its first item."""
    value = member(obj, path)
    if isinstance(value, list):
        value = value[0] if value else None
    return None if isinstance(value, dict | list) else value


def at(*path: str) -> Read:
    """Returns a reader with `value_at`."""
    return lambda obj: value_at(obj, *path)


def hexadecimal_at(*path: str) -> Read:
    """Returns a reader of a number in the notation of the Security log (`0x1404`)."""

    def read(obj: Any) -> str:
        value = member(obj, path)
        number = integer(value)
        return f"0x{number:x}" if number > 0 or value in (0, "0", "0x0") else ""

    return read


def flag_at(*path: str) -> Read:
    def read(obj: Any) -> str:
        value = member(obj, path)
        return "" if value is None else text(value)

    return read


def account_at(*path: str) -> Read:
    r"""Returns a reader of `DOMAIN\name` from an ECS user object; "" unless both are known."""

    def read(obj: Any) -> str:
        holder = member(obj, path)
        domain, name = text(member(holder, ("domain",))), text(member(holder, ("name",)))
        return f"{domain}\\{name}" if domain and name else ""

    return read

"""An event as rules see it: the classes it belongs to, and values by field name.

Values are read once and cached for as long as the event is judged: hundreds of rules ask for
the same few fields.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from vedette.ingest.normalise.keep import ENVELOPE

Lookup = Callable[[str], str]
"""A value that the event itself lacks, by field name; "" where it is not known."""


def no_lookup(_field: str) -> str:
    """For events without a known process."""
    return ""


class Texts(dict[str, str]):
    """Values by field, read when they are first asked for."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[str], str]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, field: str) -> str:
        found = self[field] = self._read(field)
        return found


class Event:
    """One event. `sources` are class names of `views/sources.py`."""

    __slots__ = (
        "_folded",
        "_lookup",
        "_values",
        "data",
        "event_id",
        "process_id",
        "sources",
        "time_us",
    )

    def __init__(
        self,
        sources: tuple[str, ...],
        data: Mapping[str, Any],
        time_us: int,
        process_id: str = "",
        lookup: Lookup = no_lookup,
        event_id: int = 0,
    ) -> None:
        self.sources = sources
        self.data = data
        self.time_us = time_us
        self.process_id = process_id
        """The process that acts, "" for an event without one."""
        self.event_id = event_id
        """What every rule that asks for EventID gets, as a number; 0 where that is not certain."""
        self._lookup = lookup
        self._values: dict[str, str] = {}
        self._folded: dict[str, str] = {}

    def value(self, field: str) -> str:
        """The value of a field as text; "" when it is not known."""
        found = self._values.get(field)
        if found is None:
            raw = self.data.get(field)
            found = text_of(raw) if raw is not None else self._lookup(field)
            self._values[field] = found
        return found

    def folded(self, field: str) -> str:
        """The value in lower case."""
        found = self._folded.get(field)
        if found is None:
            found = self._folded[field] = self.value(field).lower()
        return found

    @property
    def is_answered(self) -> bool:
        """Whether anything is known that the event itself lacks."""
        return self._lookup is not no_lookup

    def originals(self) -> Texts:
        """The values, to ask for many of them."""
        return Texts(self.value)

    def lowered(self) -> Texts:
        """The values in lower case, to ask for many of them."""
        return Texts(self.folded)

    def has(self, field: str) -> bool:
        """Whether the event has the field, even empty."""
        return field in self.data or bool(self.value(field))

    def own_fields(self) -> Iterable[str]:
        """Fields of the event itself, in which keywords are looked for: without what a shipper of
        flat records adds, and without the rendered message of a record that has values."""
        if "EventID" not in self.data:
            return self.data
        return [field for field in self.data if field not in ADDED]


ADDED: Final = ENVELOPE | {"Message"}
"""Members of flat records that are not the event's own values."""

_TRUE: Final = {True: "true", False: "false"}


def text_of(value: Any) -> str:
    """A value of a record as text: numbers in decimal, lists joined by spaces."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return _TRUE[value]
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return " ".join(text_of(one) for one in value)
    if isinstance(value, dict):
        return " ".join(text_of(one) for one in value.values())
    return ""

"""An event as rules see it: its classes, and values by field name.

Values are read once and cached while the event is evaluated: hundreds of rules test the same few
fields.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from vedette.ingest.normalise.keep import ENVELOPE

Lookup = Callable[[str], str]
"""Returns a value that the event itself lacks, by field name; "" if it is unknown."""


def no_lookup(_field: str) -> str:
    """Default for events whose process is unknown."""
    return ""


class Texts(dict[str, str]):
    """Values by field, read on first access."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[str], str]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, field: str) -> str:
        found = self[field] = self._read(field)
        return found


class Event:
    """An event. `sources` are class names of `views/sources.py`."""

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
        """The acting process; "" for an event without a process."""
        self.event_id = event_id
        """The value of EventID for all rules, as a number; 0 if it is not certain."""
        self._lookup = lookup
        self._values: dict[str, str] = {}
        self._folded: dict[str, str] = {}

    def value(self, field: str) -> str:
        """Returns the value of a field as text; "" if it is unknown."""
        found = self._values.get(field)
        if found is None:
            raw = self.data.get(field)
            found = text_of(raw) if raw is not None else self._lookup(field)
            self._values[field] = found
        return found

    def folded(self, field: str) -> str:
        """Returns the value in lower case."""
        found = self._folded.get(field)
        if found is None:
            found = self._folded[field] = self.value(field).lower()
        return found

    @property
    def is_answered(self) -> bool:
        """Whether values are available that the event itself lacks."""
        return self._lookup is not no_lookup

    def originals(self) -> Texts:
        """Returns a mapping of the values, for many reads."""
        return Texts(self.value)

    def lowered(self) -> Texts:
        """Returns a mapping of the values in lower case, for many reads."""
        return Texts(self.folded)

    def has(self, field: str) -> bool:
        """Whether the event has the field, even if empty."""
        return field in self.data or bool(self.value(field))

    def own_fields(self) -> Iterable[str]:
        """Returns the fields of the event in which keywords are searched. Excludes members that a
        shipper of flat records adds, and the rendered message of a record that has values."""
        if "EventID" not in self.data:
            return self.data
        return [field for field in self.data if field not in ADDED]


ADDED: Final = ENVELOPE | {"Message"}
"""Members of flat records that are not values of the event."""

_TRUE: Final = {True: "true", False: "false"}


def text_of(value: Any) -> str:
    """Returns a record's value as text: numbers in decimal, lists joined by spaces."""
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

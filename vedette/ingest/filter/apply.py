"""Removes outcomes that filters drop.

For a process that is dropped as a whole, its metadata and all its own events are removed. Events of
other processes about it stay: its start in the parent, a handle opened to it. Files seen
(`BinarySeen`) and records without a process (`Kept`) always stay.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vedette.ingest.file_types import EXECUTABLE
from vedette.ingest.filter.compile import CompiledFilters, highest
from vedette.ingest.filter.evaluate import dropped_whole
from vedette.model.address import address_text
from vedette.model.event import (
    BinarySeen,
    Crossproc,
    Filemod,
    Kept,
    Modload,
    Netconn,
    Outcome,
    Regmod,
)

_BINARY_ENDINGS: Final = (
    ".exe",
    ".dll",
    ".sys",
    ".ocx",
    ".scr",
    ".cpl",
    ".drv",
    ".efi",
    ".msi",
    ".so",
    ".ko",
    ".dylib",
    ".bundle",
)


def apply_filters(
    outcomes: Sequence[Outcome],
    verdicts: Mapping[str, int],
    filters: CompiledFilters,
    dropped: list[tuple[Outcome, int]] | None = None,
) -> list[Outcome]:
    """Returns the outcomes to store, in order. Appends the others to `dropped`, each with the
    number of the filter that drops it; if several do, the filter with the highest priority."""
    kept: list[Outcome] = []
    for outcome in outcomes:
        kind = type(outcome)
        if kind is not BinarySeen and kind is not Kept:
            # Compares by identity for speed. mypy cannot narrow a union by a stored type.
            bits = verdicts.get(outcome.process_id)  # type: ignore[union-attr]
            if bits is not None:
                number = dropped_whole(bits) if bits < 0 else _dropped_by(outcome, bits, filters)
                if number >= 0:
                    if dropped is not None:
                        dropped.append((outcome, number))
                    continue
        kept.append(outcome)
    return kept


def _dropped_by(outcome: Any, bits: int, filters: CompiledFilters) -> int:
    """Returns the number of the filter that drops a single event; -1 for none."""
    texts_of = _TEXTS.get(type(outcome))
    if texts_of is None:
        return -1
    matched = 0
    for name, texts in texts_of(outcome):
        patterns = filters.events.get(name)
        if patterns is not None:
            for text in filter(None, texts):
                matched |= patterns.bits(text) & bits
    return highest(filters.not_exempted(matched, filters.exempts_events) & filters.thins)


def event_texts(event: Any) -> "_Texts":
    """Returns pairs of filter list and texts of the event that the list is matched against; () for
    none."""
    texts_of = _TEXTS.get(type(event))
    return texts_of(event) if texts_of else ()


_Texts = Sequence[tuple[str, Sequence[str]]]
"""Pairs of a filter's list and the event's texts to match against it."""


def _path_of(name: str) -> Callable[[Any], _Texts]:
    return lambda event: ((name, (event.path,)),)


def _of_filemod(event: Filemod) -> _Texts:
    texts = (event.path,)
    if event.file_type in EXECUTABLE or event.path.lower().endswith(_BINARY_ENDINGS):
        return (("filemod_filters", texts),)
    return (("filemod_filters", texts), ("non_binary_filemod_filters", texts))


def _of_netconn(event: Netconn) -> _Texts:
    address = address_text(event.remote_ip)
    return (("netconn_filters", (event.domain, address, f"{address}:{event.remote_port}")),)


_TEXTS: Final[Mapping[type, Callable[[Any], _Texts]]] = {
    Regmod: _path_of("regmod_filters"),
    Modload: _path_of("modload_filters"),
    Crossproc: _path_of("crossproc_filters"),
    Filemod: _of_filemod,
    Netconn: _of_netconn,
}
"""Text extractors by event class. Events of other classes are never dropped individually."""

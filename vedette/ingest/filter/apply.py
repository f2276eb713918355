"""Removes from a record's outcomes what the filters drop.

For a process that is dropped completely, its metadata and all of its own events are removed. Events
of other processes about it stay: its start on the parent, a handle opened to it. Files seen
(`BinarySeen`) and records without a process (`Kept`) always stay.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vedette.ingest.file_types import EXECUTABLE
from vedette.ingest.filter.compile import CompiledFilters
from vedette.ingest.filter.evaluate import DROP_ALL
from vedette.model.address import address_text
from vedette.model.event import (
    BinarySeen,
    Crossproc,
    Facts,
    Filemod,
    Kept,
    Modload,
    Netconn,
    Outcome,
    Regmod,
)

_BINARY_ENDINGS: Final = (
    ".exe", ".dll", ".sys", ".ocx", ".scr", ".cpl", ".drv", ".efi", ".msi", ".so", ".ko",
    ".dylib", ".bundle",
)  # fmt: skip


def apply_filters(
    outcomes: Sequence[Outcome], verdicts: Mapping[str, int], filters: CompiledFilters
) -> list[Outcome]:
    """The outcomes to store, in order."""
    kept: list[Outcome] = []
    for outcome in outcomes:
        kind = type(outcome)
        if kind is not BinarySeen and kind is not Kept:
            # Compared by identity, once for every event; mypy narrows no union by a kept type.
            bits = verdicts.get(outcome.process_id)  # type: ignore[union-attr]
            if bits is not None and (
                bits == DROP_ALL or (kind is not Facts and _is_dropped(outcome, bits, filters))
            ):
                continue
        kept.append(outcome)
    return kept


def _is_dropped(outcome: Any, bits: int, filters: CompiledFilters) -> bool:
    texts_of = _TEXTS.get(type(outcome))
    if texts_of is None:
        return False
    matched = 0
    for name, texts in texts_of(outcome):
        patterns = filters.events.get(name)
        if patterns is not None:
            for text in filter(None, texts):
                matched |= patterns.bits(text) & bits
    return bool(filters.not_exempted(matched, filters.exempts_events) & filters.thins)


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
"""Text extractors by event class; classes without one are never dropped singly."""

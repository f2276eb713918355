"""Tries a filter on a process and an event that a user entered: the matching entry of each list,
and whether anything would be dropped. Ignores hosts and operating systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from vedette.ingest.filter.apply import apply_filters, event_texts
from vedette.ingest.filter.compile import compile_filters
from vedette.ingest.filter.pattern import path_expression
from vedette.ingest.filter.pattern_set import PatternSet
from vedette.model.address import pack_address
from vedette.model.event import UNKNOWN_IP, Crossproc, Filemod, Modload, Netconn, Outcome, Regmod
from vedette.model.ingress_filter import PROCESS_LISTS
from vedette.record.objects.ingress_filter import IngressFilter

EventKind = Literal["", "regmod", "modload", "filemod", "netconn", "crossproc"]

_ID: Final = "sample"


class SampleEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process, its parent and one of its events; "" for unknown values."""

    path: str = ""
    cmdline: str = ""
    md5: str = ""
    parent_path: str = ""
    parent_cmdline: str = ""
    parent_md5: str = ""
    kind: EventKind = ""
    """Kind of the event; "" for none."""
    value: str = ""
    """A key or path; for a connection the domain, the address or `address:port`."""


@dataclass(frozen=True, slots=True)
class ListMatch:
    """Result of one list of a filter for a sample."""

    name: str
    entry: str | None
    """The first matching entry; None if there is none."""


@dataclass(frozen=True, slots=True)
class EventTrial:
    """Result for a filter."""

    means_process: bool
    means_parent: bool
    """Whether the filter selects the parent and applies to children."""
    dropped: Literal["", "process", "event"]
    """Whether the whole process, only the event, or nothing is dropped."""
    lists: tuple[ListMatch, ...]
    """Results of the lists that have entries and were compared with the sample."""


def try_event(wanted: IngressFilter, sample: SampleEvent) -> EventTrial:
    """Evaluates the filter as if it were the only one, enabled and enforced by the server. Its
    patterns must have passed `check_patterns`."""
    enforced = replace(wanted, enabled=True, filter_on_server=True, filter_on_sensor=False)
    filters = compile_filters([enforced])
    means_process = bool(filters.own(sample.path, sample.cmdline, sample.md5.lower()))
    parent = (sample.parent_path, sample.parent_cmdline, sample.parent_md5.lower())
    means_parent = bool(any(parent) and filters.inherited_mask and filters.own(*parent))
    is_meant = means_process or means_parent
    event = _EVENTS[sample.kind](sample.value) if sample.kind and sample.value else None
    dropped: Literal["", "process", "event"] = ""
    if is_meant and filters.drops:
        dropped = "process"
    elif (
        is_meant and event is not None and not apply_filters([event], {_ID: filters.thins}, filters)
    ):
        dropped = "event"
    held: dict[str, Sequence[str]] = {
        name: (getattr(sample, _TEXT_OF[name]),) for name in PROCESS_LISTS
    }
    if event is not None and not wanted.filter_all_events:
        held |= dict(event_texts(event))
    matches = tuple(
        ListMatch(name, _first(name, entries, texts))
        for name, texts in held.items()
        if (entries := getattr(wanted, name))
    )
    return EventTrial(means_process, means_parent, dropped, matches)


def _first(name: str, entries: Sequence[str], texts: Sequence[str]) -> str | None:
    if name == "md5_filters":
        return next((one for one in entries if one in map(str.lower, texts)), None)
    read = path_expression if name == "path_filters" else str
    patterns = PatternSet([(read(one), 1 << number) for number, one in enumerate(entries)])
    found = 0
    for text in filter(None, texts):
        found |= patterns.bits(text)
    return entries[(found & -found).bit_length() - 1] if found else None


def _netconn(value: str) -> Outcome:
    """Returns a connection to an address or domain, with or without a port."""
    host, colon, number = value.rpartition(":")
    has_port = bool(colon) and number.isascii() and number.isdecimal() and len(number) <= 5
    parts = [(value, 0), (host, int(number))] if has_port else [(value, 0)]
    for text, port in parts:
        address = pack_address(text)
        if address != UNKNOWN_IP:
            return Netconn(_ID, 0, 1, 6, UNKNOWN_IP, 0, address, port)
    domain, port = parts[-1]
    return Netconn(_ID, 0, 1, 6, UNKNOWN_IP, 0, UNKNOWN_IP, port, domain)


_TEXT_OF: Final = {"path_filters": "path", "cmdline_filters": "cmdline", "md5_filters": "md5"}

_EVENTS: Final[Mapping[str, Callable[[str], Any]]] = {
    "regmod": lambda value: Regmod(_ID, 0, 0, value),
    "modload": lambda value: Modload(_ID, 0, value),
    "filemod": lambda value: Filemod(_ID, 0, 0, value),
    "netconn": _netconn,
    "crossproc": lambda value: Crossproc(_ID, 0, 0, "", value),
}

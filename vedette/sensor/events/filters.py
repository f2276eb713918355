"""Ingress filters that the sensor applies itself (docs/ingress-filters.md).

A filter selects the processes that match an entry of each of its lists, and their descendants down
to its level. It drops all events of those processes, or the events that its event lists match. The
semantics are those of the server. Each filter applies independently.

A filter with an unsupported pattern is rejected as a whole and counted in the health: a partial
filter would drop events that the operator wants to keep.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..durable_files import write_durably
from ..limits import FILTERS_MAX
from . import pattern
from .pattern import Match, PatternError
from .process_table import Process

_ALL_DESCENDANTS = -1
_EVENT_LISTS = (
    "filemod_filters",
    "non_binary_filemod_filters",
    "netconn_filters",
    "crossproc_filters",
    "modload_filters",
)
_BINARY_ENDINGS = (
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


@dataclass(frozen=True)
class Filter:
    """A filter, compiled for matching against processes and events."""

    id: str
    drops_all: bool
    levels: int
    paths: tuple[Match, ...]
    cmdlines: tuple[Match, ...]
    md5s: frozenset[str]
    events: dict[str, tuple[Match, ...]] = field(default_factory=dict)

    def matches(self, process: Process, md5: str) -> bool:
        if self.paths and not any(match(process.path) for match in self.paths):
            return False
        if self.cmdlines and not any(match(process.cmdline) for match in self.cmdlines):
            return False
        return not self.md5s or md5 in self.md5s


@dataclass(frozen=True)
class AppliedFilter:
    """A filter that selects a process. `levels` is the number of remaining levels of
    descendants."""

    by: Filter
    levels: int


@dataclass(frozen=True)
class Subject:
    """An event as matched by event lists. Without lists, only a whole-process filter can drop
    it."""

    lists: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def file_subject(path: str, file_type: int) -> Subject:
    if file_type or path.lower().endswith(_BINARY_ENDINGS):
        return Subject(("filemod_filters",), (path,))
    return Subject(("filemod_filters", "non_binary_filemod_filters"), (path,))


def connection_subject(ip: str, port: int) -> Subject:
    return Subject(("netconn_filters",), (ip, f"{ip}:{port}"))


def is_dropped(applied_filters: tuple[AppliedFilter, ...], subject: Subject) -> bool:
    """Whether a filter of the process drops such an event."""
    for ruling in applied_filters:
        if ruling.by.drops_all:
            return True
        for name in subject.lists:
            matches = ruling.by.events.get(name, ())
            if any(match(text) for match in matches for text in subject.texts):
                return True
    return False


class Filters:
    """The active filters, saved so that a restart keeps them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._filters: tuple[Filter, ...] = ()
        self.version = 0
        self.refused: dict[str, str] = {}
        """Reasons by the id of the rejected filter."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            saved = json.loads(path.read_bytes())
            self._set(int(saved["version"]), saved["filters"])

    def __len__(self) -> int:
        return len(self._filters)

    def replace(self, version: int, bodies: list[dict[str, Any]]) -> None:
        """Replaces all filters with those of a check-in."""
        saved = {"version": version, "filters": bodies}
        write_durably(self._path, json.dumps(saved).encode())
        self._set(version, bodies)

    def _set(self, version: int, bodies: list[dict[str, Any]]) -> None:
        found, refused = [], {}
        for body in bodies[:FILTERS_MAX]:
            try:
                found.append(parse(body))
            except (TypeError, ValueError, AttributeError) as error:
                refused[str(body.get("id", ""))] = str(error)
        self._filters, self.version, self.refused = tuple(found), version, refused

    def applied_to(
        self, process: Process, md5: str, parents: tuple[AppliedFilter, ...]
    ) -> tuple[AppliedFilter, ...]:
        """Returns the filters that apply to a process that starts or executes another program."""
        if not self._filters:
            return ()
        found = [
            AppliedFilter(one, one.levels) for one in self._filters if one.matches(process, md5)
        ]
        own = {ruling.by.id for ruling in found}
        for ruling in parents:
            if ruling.levels and ruling.by.id not in own and ruling.by in self._filters:
                endless = ruling.levels == _ALL_DESCENDANTS
                found.append(
                    AppliedFilter(ruling.by, _ALL_DESCENDANTS if endless else ruling.levels - 1)
                )
        return tuple(found)


def parse(body: dict[str, Any]) -> Filter:
    """Compiles a filter from a check-in. Raises PatternError or ValueError if it cannot be
    applied."""
    made = Filter(
        id=str(body["id"]),
        drops_all=bool(body.get("filter_all_events", True)),
        levels=int(body.get("descendant_filtering_level", 0)),
        paths=_patterns(body, "path_filters", pattern.path),
        cmdlines=_patterns(body, "cmdline_filters", pattern.regex),
        md5s=frozenset(str(md5).lower() for md5 in body.get("md5_filters") or ()),
        events={name: _patterns(body, name, pattern.regex) for name in _EVENT_LISTS},
    )
    if made.drops_all and not (made.paths or made.cmdlines or made.md5s):
        raise PatternError("a filter that drops everything of every process")
    return made


def _patterns(body: dict[str, Any], name: str, make: Callable[[str], Match]) -> tuple[Match, ...]:
    return tuple(make(str(text)) for text in body.get(name) or ())

"""Outlines of processes that are read again and again: every page of a stream begins with one.

A long process has thousands of segments, and reading its outline costs three times as much as
asking whether anything has changed since. So what is remembered is never shown without asking,
and a server that has never seen a process only takes longer.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from vedette import limits
from vedette.model.columns import EventKind
from vedette.model.scope import Scope
from vedette.store.engine import Engine
from vedette.store.outline import Outline, Standing, outline, standing

_Key = tuple[str, tuple[EventKind, ...]]


class Outlines:
    """Outlines of late, of at most `OUTLINE_SEGMENTS_KEPT_MAX` segments together. Safe to share
    between threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[Standing, Outline]] = OrderedDict()
        self._segments = 0
        self._lock = Lock()

    def outline(
        self, engine: Engine, process_id: str, scope: Scope, kinds: Sequence[EventKind]
    ) -> Outline | None:
        """Segments and counts of a process; None when there is none to see."""
        now = standing(engine, process_id, scope)
        if not now[0]:
            return None
        key = process_id, tuple(kinds)
        found = self._recall(key, now)
        if found is None:
            found = outline(engine, process_id, scope, kinds)
            if found is not None:
                self._keep(key, now, found)
        return found

    def _recall(self, key: _Key, now: Standing) -> Outline | None:
        with self._lock:
            stood, found = self._kept.get(key, (None, None))
            if stood != now:
                return None
            self._kept.move_to_end(key)
            return found

    def _keep(self, key: _Key, stood: Standing, found: Outline) -> None:
        with self._lock:
            self._drop(key)
            self._kept[key] = stood, found
            self._segments += len(found.segment_ids)
            while self._segments > limits.OUTLINE_SEGMENTS_KEPT_MAX:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        if key in self._kept:
            self._segments -= len(self._kept.pop(key)[1].segment_ids)

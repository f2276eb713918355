"""Backfill of parent metadata into children.

A creation record names the parent, but may lack the parent's hashes and user. They are copied from
the parent's own metadata as soon as it is cached. Of evicted parents a reader looks up what is
missing when it is read.
"""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.ids import unknown_parent_id

_COPIED: Final[Mapping[str, str]] = {
    "parent_md5": "process_md5",
    "parent_sha256": "process_sha256",
    "parent_username": "username",
}
"""Column of the child, and the parent's column that it is copied from."""

_SOURCES: Final = frozenset(_COPIED.values())

Facts = Mapping[str, Any]
_NOTHING: Final[Facts] = {}


class ParentBackfill:
    """Index of the cached processes that lack metadata of their parent, by parent id."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, None]] = {}

    def forget(self) -> None:
        self._waiting.clear()

    def note(self, process_id: str, sensor_id: int, facts: Facts) -> None:
        """Adds or drops a process, by whether it lacks anything of its parent."""
        parent_id = facts.get("parent_id")
        if not parent_id or parent_id == unknown_parent_id(sensor_id):
            return
        if any(name not in facts for name in _COPIED):
            self._waiting.setdefault(parent_id, {})[process_id] = None
        else:
            self.drop(process_id, facts)

    def drop(self, process_id: str, facts: Facts) -> None:
        """Removes a process that was evicted or lacks nothing."""
        parent_id = facts.get("parent_id", "")
        waiting = self._waiting.get(parent_id)
        if waiting is not None:
            waiting.pop(process_id, None)
            if not waiting:
                del self._waiting[parent_id]

    def waiting_for(self, process_id: str, news: Facts) -> list[str]:
        """The children to backfill after `news`, the changed columns of a process."""
        if process_id not in self._waiting or _SOURCES.isdisjoint(news):
            return []
        return list(self._waiting[process_id])


def backfill(parent: Facts, child: Facts, news: Facts = _NOTHING) -> dict[str, Any]:
    """Values to copy from a parent: those that neither `child` nor `news` has."""
    return {
        name: parent[own]
        for name, own in _COPIED.items()
        if name not in child and name not in news and parent.get(own)
    }

"""Backfill of parent metadata into children.

A creation record names the parent, but may lack the parent's hashes and user. They are copied from
the parent's own metadata as soon as it is cached. For evicted parents, the read path looks up the
missing values.
"""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.ids import unknown_parent_id

_COPIED: Final[Mapping[str, str]] = {
    "parent_md5": "process_md5",
    "parent_sha256": "process_sha256",
    "parent_username": "username",
}
"""Maps column of the child to the parent's column that it is copied from."""

_SOURCES: Final = frozenset(_COPIED.values())

Facts = Mapping[str, Any]
_NOTHING: Final[Facts] = {}


class ParentBackfill:
    """Index of the cached processes that lack metadata of their parent, by parent id."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, None]] = {}

    def reset(self) -> None:
        self._waiting.clear()

    def note(self, process_id: str, sensor_id: int, facts: Facts) -> None:
        """Adds a process if it lacks metadata of its parent; removes it otherwise."""
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

    def waiting_for(self, process_id: str, changed: Facts) -> list[str]:
        """Returns the children to backfill after `changed`, the changed columns of a process."""
        if process_id not in self._waiting or _SOURCES.isdisjoint(changed):
            return []
        return list(self._waiting[process_id])


def backfill(parent: Facts, child: Facts, changed: Facts = _NOTHING) -> dict[str, Any]:
    """Returns the values to copy from a parent: those that neither `child` nor `changed` has."""
    return {
        name: parent[own]
        for name, own in _COPIED.items()
        if name not in child and name not in changed and parent.get(own)
    }

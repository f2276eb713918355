"""Children that wait to learn of their parents.

A process is told of its parent by the record of its own creation, which may know neither the
parent's hashes nor its user. When the parent's records tell them later, or told them before, the
child learns them too. This is of processes in memory; what a reader finds missing is looked up
when it is read (`search/processes/process_lookup.py`).
"""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.ids import unknown_parent_id

_OF_PARENT: Final[Mapping[str, str]] = {
    "parent_md5": "process_md5",
    "parent_sha256": "process_sha256",
    "parent_username": "username",
}
"""What a child learns, and where its parent has it."""

_TAUGHT: Final = frozenset(_OF_PARENT.values())

Facts = Mapping[str, Any]
_NOTHING: Final[Facts] = {}


class Parents:
    """Which processes wait for which parent. Bounded by the processes that are remembered."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, None]] = {}

    def forget(self) -> None:
        self._waiting.clear()

    def note(self, process_id: str, sensor_id: int, facts: Facts) -> None:
        """A process as it is known now: it waits as long as something is missing."""
        parent_id = facts.get("parent_id")
        if not parent_id or parent_id == unknown_parent_id(sensor_id):
            return
        if any(name not in facts for name in _OF_PARENT):
            self._waiting.setdefault(parent_id, {})[process_id] = None
        else:
            self.drop(process_id, facts)

    def drop(self, process_id: str, facts: Facts) -> None:
        """A process that is no longer remembered, or waits no longer."""
        parent_id = facts.get("parent_id", "")
        waiting = self._waiting.get(parent_id)
        if waiting is not None:
            waiting.pop(process_id, None)
            if not waiting:
                del self._waiting[parent_id]

    def waiting_for(self, process_id: str, news: Facts) -> list[str]:
        """The children that may learn from what became known of a process."""
        if process_id not in self._waiting or _TAUGHT.isdisjoint(news):
            return []
        return list(self._waiting[process_id])


def learned(parent: Facts, child: Facts, news: Facts = _NOTHING) -> dict[str, Any]:
    """What a parent's facts tell of it that neither a child's own nor what is new of it do."""
    return {
        name: parent[own]
        for name, own in _OF_PARENT.items()
        if name not in child and name not in news and parent.get(own)
    }

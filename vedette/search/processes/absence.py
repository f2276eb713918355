"""The reason why a process that other processes refer to has no records.

The decision reads nothing outside the caller's scope. An unmounted partition is the reason if it
may hold the process: its content is unknown, but it holds nothing that began after it was closed.
"""

from functools import cached_property
from typing import Final, Literal

from vedette import limits
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import cold_partitions

Reason = Literal["never_seen", "suppressed", "partition_unmounted", "not_permitted"]

UNMOUNTED: Final = "partition_unmounted"


class Absence:
    """Decides the reason. Reads the list of unmounted partitions once, on first use."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine = engine
        self._scope = scope

    def reason(self, process_id: str, began_us: int, *, is_suppressed: bool = False) -> Reason:
        """Returns the reason for a process that began at `began_us` (0 if unknown)."""
        sensor_id = sensor_of(process_id)
        if sensor_id is not None and not self._scope.allows(sensor_id):
            return "not_permitted"
        if is_suppressed:
            return "suppressed"
        return UNMOUNTED if began_us < self._cold_until_us else "never_seen"

    @cached_property
    def _cold_until_us(self) -> int:
        """Time at which the last unmounted partition was closed; 0 if all are mounted."""
        closed_ms = max(cold_partitions(self._engine), default=None)
        return 0 if closed_ms is None else closed_ms * 1_000 + limits.TIME_AHEAD_US

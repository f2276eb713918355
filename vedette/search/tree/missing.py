"""Why a process that others tell of is not there itself.

Only what can be told without looking at what the caller may not see. An unmounted partition is
the reason where it may hold the process: what it holds is not known while it is unmounted, only
when it was closed, and nothing that began after that lies in it.
"""

from functools import cached_property
from typing import Literal

from vedette import limits
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import cold_partitions

Reason = Literal["never_seen", "suppressed", "partition_unmounted", "not_permitted"]


class Absence:
    """What decides the reason, as it is now. Looks for unmounted partitions when it is asked."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine = engine
        self._scope = scope

    def reason(self, process_id: str, began_us: int, *, is_suppressed: bool = False) -> Reason:
        """Why a process that began then (0 when that is not known) is missing."""
        sensor_id = sensor_of(process_id)
        if sensor_id is not None and not self._scope.allows(sensor_id):
            return "not_permitted"
        if is_suppressed:
            return "suppressed"
        return "partition_unmounted" if began_us < self._cold_until_us else "never_seen"

    @cached_property
    def _cold_until_us(self) -> int:
        """When the unmounted partition that was closed last was closed; 0 when there is none."""
        closed_ms = max(cold_partitions(self._engine), default=None)
        return 0 if closed_ms is None else closed_ms * 1_000 + limits.TIME_AHEAD_US

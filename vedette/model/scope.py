"""Scope of a caller: the sensors whose telemetry may be read (docs/telemetry-model.md). Every read
requires it as an argument."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """All sensors (`sensors is None`) or the given sensor ids; the empty set permits nothing."""

    sensors: frozenset[int] | None

    @property
    def sees_all(self) -> bool:
        return self.sensors is None

    @property
    def sees_none(self) -> bool:
        return self.sensors is not None and not self.sensors

    def allows(self, sensor_id: int) -> bool:
        return self.sensors is None or sensor_id in self.sensors


EVERYTHING = Scope(None)
"""Scope of administrators and of internal work of the server."""

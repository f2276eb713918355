"""Whose telemetry a caller may see (docs/telemetry-model.md): a required argument of every read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """All sensors (`sensors is None`) or just these sensor ids; the empty set sees nothing."""

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
"""The scope of administrators and of the server's own work."""

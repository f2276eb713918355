"""Reads alerts for forwarders, each once, in the order of their creation.

The position of an alert is its creation time, which is unique and only grows
(`alerting/alert_rows.set_creation_times`). Writers of alerts hold `ALERT_WRITERS`: while none does,
all alerts up to the newest are visible.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.clock import Clock
from vedette.forwarder.record_files import Forwarded
from vedette.forwarder.record_source import Chunk
from vedette.limits import FORWARD_READ_ROWS
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import EVERYTHING
from vedette.search.alerts.cloud_search import AlertFilter, condition
from vedette.search.processes.process_search import SearchSettings
from vedette.state.db.database import Database
from vedette.state.jobs.forwarders import Forwarder, RecordSchema
from vedette.state.servers import alert_writers
from vedette.store.engine.client import Engine
from vedette.store.read.detection.cloud_alerts import AlertSpan, newest_creation_us, oldest_alerts
from vedette.store.write.alerts import ALERT_WRITERS

RenderAlerts = Callable[[Sequence[AlertRow]], list[dict[str, Any]]]
"""Makes the JSON records of alerts (docs/cloud-alerts.md#alert-record)."""


@dataclass(frozen=True, slots=True)
class AlertSource:
    """The `RecordSource` of alerts."""

    engine: Engine
    database: Database
    clock: Clock
    settings: SearchSettings
    render: Mapping[RecordSchema, RenderAlerts]

    def newest(self) -> int:
        return self._settled(0)

    def at_time(self, time_us: int) -> int:
        return time_us - 1

    def read(self, forwarder: Forwarder, after: int) -> Chunk:
        until = self._settled(after)
        if until <= after:
            return Chunk((), after, has_more=False)
        where = condition(
            self.engine,
            AlertFilter(AlertSpan(after + 1, until + 1), (), forwarder.query),
            self.settings,
            self.clock.now_us(),
        )
        rows = oldest_alerts(self.engine, where, EVERYTHING, FORWARD_READ_ROWS)
        records = [
            Forwarded(row["created_time"], row["created_time"], body)
            for row, body in zip(rows, self.render[forwarder.record_schema](rows), strict=True)
        ]
        is_full = len(rows) >= FORWARD_READ_ROWS
        return Chunk(records, records[-1].position if is_full else until, has_more=is_full)

    def check(self, query: str) -> None:
        wanted = AlertFilter(AlertSpan(0, 1), (), query)
        condition(self.engine, wanted, self.settings, self.clock.now_us())

    def _settled(self, after: int) -> int:
        """Returns the position up to which all alerts are visible; none after `after` where that is
        the newest."""
        with self.database.exclusive(ALERT_WRITERS):
            alert_writers.check_over(self.database)
            return newest_creation_us(self.engine, after)

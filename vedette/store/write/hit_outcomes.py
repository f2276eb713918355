"""Writes the outcomes of rule hits that made no alert. Writing an outcome again changes nothing."""

from collections.abc import Iterable

import pyarrow as pa
from msgspec import Struct

from vedette.model.hit_fields import HitOutcome
from vedette.store.engine.arrow_arrays import array
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import unmounted


class QuietHit(Struct, frozen=True, gc=False):
    """All hits of one commit that one alert would count, and what became of them."""

    partition_ms: int
    sensor_id: int
    seq: int
    alert_id: str
    outcome: HitOutcome


def write_hit_outcomes(engine: Engine, hits: Iterable[QuietHit]) -> None:
    """Stores outcomes; they are on disk when this returns. Leaves out hits in partitions that are
    not mounted, because their rows would create the partition again.

    Raises UnavailableError; then any part may have been stored: write all of them again.
    """
    by_partition: dict[int, list[QuietHit]] = {}
    for hit in dict.fromkeys(hits):
        by_partition.setdefault(hit.partition_ms, []).append(hit)
    if not by_partition:
        return
    closed = unmounted(engine)
    for partition_ms, of_partition in by_partition.items():
        if partition_ms not in closed:
            engine.insert_arrow("hit_outcome", _table(of_partition))


def _table(hits: list[QuietHit]) -> pa.Table:
    return pa.table(
        {
            "partition_ms": array([hit.partition_ms for hit in hits], "u64"),
            "sensor_id": array([hit.sensor_id for hit in hits], "u32"),
            "seq": array([hit.seq for hit in hits], "u64"),
            "alert_id": array([hit.alert_id for hit in hits], "text"),
            "outcome": array([hit.outcome for hit in hits], "text"),
        }
    )

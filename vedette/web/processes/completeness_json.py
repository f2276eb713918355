"""Formats the response on completeness (docs/completeness.md)."""

from collections.abc import Sequence
from typing import Any

from vedette.search.completeness.completeness import (
    ChannelReport,
    QueueReport,
    SensorReport,
    Window,
)
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.json.wire_values import instant

Body = dict[str, Any]


def completeness_body(
    window: Window,
    sensors: Sequence[SensorRow],
    reports: Sequence[SensorReport],
    unmounted: Sequence[str],
) -> Body:
    """Returns the response body. `sensors` and `reports` have the same order."""
    verdicts = [one.verdict for one in reports]
    return {
        "from": instant(window.from_ms * 1_000),
        "to": instant(window.until_ms * 1_000),
        "verdicts": {name: verdicts.count(name) for name in sorted(set(verdicts))},
        "unmounted_partitions": list(unmounted),
        "sensors": [_sensor(*pair) for pair in zip(sensors, reports, strict=True)],
    }


def _sensor(sensor: SensorRow, report: SensorReport) -> Body:
    return {
        "sensor_id": sensor.id,
        "hostname": sensor.hostname,
        "group": sensor.group_name,
        "verdict": report.verdict,
        "channels": [_channel(one) for one in report.channels],
        "queues": [_queue(one) for one in report.queues],
        "unnumbered_requests": report.unnumbered_requests,
    }


def _channel(one: ChannelReport) -> Body:
    return {
        "channel": one.channel,
        "verdict": one.verdict,
        "received": one.received,
        "first": one.first or None,
        "last": one.last or None,
        "previous": one.below or None,
        "next": one.above or None,
        "missing": one.missing,
        "gaps": _ranges(one.gaps),
        "unstored": one.unstored,
    }


def _queue(one: QueueReport) -> Body:
    return {
        "epoch": one.epoch,
        "received_to": one.received_to,
        "missing": sum(last - first + 1 for first, last in one.missing),
        "gaps": _ranges(one.missing),
    }


def _ranges(gaps: Sequence[tuple[int, int]]) -> list[Body]:
    return [{"first": first, "last": last} for first, last in gaps]

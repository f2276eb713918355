"""Health summary of a server: detection delay, rejected records, disk space, feeds, messages and
jobs. The doctor reports remedies."""

import shutil
import string
import time
from collections.abc import Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry

from vedette.doctor.detection import lateness
from vedette.model.scope import EVERYTHING
from vedette.state.devices import update_jobs
from vedette.state.jobs import outbox
from vedette.state.policy import feeds, privacy, rules
from vedette.state.policy.rules import Wanted
from vedette.store.partitions.lifecycle import list_partitions
from vedette.web.http.services import Services

_DAY_US: Final = 24 * 3600 * 1_000_000
_KEPT: Final = frozenset(string.punctuation + string.whitespace)
_SHARE: Final = 0.95


def health_summary(here: Services) -> dict[str, Any]:
    """Returns the response of `GET /api/v1/health/summary`. Counts of records and alerts start with
    this server process."""
    now_us = here.clock.now_us()
    found, targets = feeds.all_feeds(here.database), outbox.targets(here.database)
    failing = [one for one in targets if one.failing_since_us]
    rate = here.ingest_queue.rate.per_second(time.monotonic())
    jobs = update_jobs.all_jobs(here.database, EVERYTHING)
    return {
        "detection": {
            "seconds_behind": {
                name: behind_us // 1_000_000
                for name, behind_us in lateness(here.engine, here.database, now_us)
            },
            "alert_seconds_p95": alert_seconds(here.metrics),
            "rules_stopped": rules.page(here.database, Wanted(state="stopped"), 0, 0).total,
        },
        "intake": {
            "accepts": here.ingest_queue.available,
            "queue_bytes": here.ingest_queue.waiting_bytes,
            "records_per_second": round(rate.records, 1),
            "bytes_per_second": round(rate.byte_count, 1),
            **intake(here.metrics),
        },
        "disk": disk(here),
        "feeds": {
            "count": len(found),
            "failing": sum(bool(one.enabled and one.last_error) for one in found),
        },
        "outbox": {
            "targets": len(targets),
            "failing": len(failing),
            "waiting": sum(one.waiting for one in targets),
            "oldest_failure_seconds": max(
                ((now_us - one.failing_since_us) // 1_000_000 for one in failing), default=0
            ),
        },
        "jobs": {"running": sum(one.status == "IN_PROGRESS" for one in jobs)},
    }


def intake(metrics: CollectorRegistry) -> dict[str, Mapping[str, int]]:
    """Returns counts of records by outcome, and of rejected records by reason."""
    return {
        "records": _counts(metrics, "vedette_ingest_records", "outcome"),
        "rejected": _counts(metrics, "vedette_ingest_rejected", "reason"),
    }


def refused_records(here: Services) -> list[dict[str, Any]]:
    """Returns the rejected records for `GET /api/v1/health/refused`.

    A rejected record belongs to no sensor group, so no group's privacy options apply to it. As long
    as any group hides data, the server masks all letters and digits of these records.
    """
    is_hidden = bool(privacy.load(here.database).groups)
    return [
        {
            "reason": one.reason,
            "message": one.message,
            "time_us": one.refused_us,
            "sender": one.peer_ip,
            "size": one.size_bytes,
            "text": _shape(one.text) if is_hidden else one.text.decode("utf-8", "replace"),
            "is_whole": len(one.text) == one.size_bytes,
            "is_hidden": is_hidden,
        }
        for one in here.ingest_queue.refused.last()
    ]


def _shape(text: bytes) -> str:
    """Returns the text with letters and digits masked, so that only its structure remains."""
    return "".join(
        one if one in _KEPT else "0" if one.isdigit() else "x"
        for one in text.decode("utf-8", "replace")
    )


def disk(here: Services) -> dict[str, int | None]:
    """Returns disk usage. `days_left` extrapolates the ingest rate since the oldest partition; it
    is None during the first day."""
    partitions, room = list_partitions(here.engine), shutil.disk_usage(here.settings.data)
    stored = sum(one.byte_count for one in partitions)
    opened_us = min((one.opened_ms for one in partitions), default=0) * 1_000
    age_us = here.clock.now_us() - opened_us if opened_us else 0
    is_known = stored > 0 and age_us > _DAY_US
    return {
        "free_bytes": room.free,
        "total_bytes": room.total,
        "telemetry_bytes": stored,
        "days_left": int(room.free * age_us / (stored * _DAY_US)) if is_known else None,
    }


def alert_seconds(metrics: CollectorRegistry) -> float | None:
    """Returns the 95th percentile of seconds from an event's commit to the alert of a rule, rounded
    up to a histogram bucket. None before the first alert, or above the largest bucket."""
    buckets = {
        float(sample.labels["le"]): sample.value
        for family in metrics.collect()
        if family.name == "vedette_alert_seconds"
        for sample in family.samples
        if sample.name.endswith("_bucket")
    }
    most = max(buckets.values(), default=0)
    bound = next((one for one, count in sorted(buckets.items()) if count >= _SHARE * most), None)
    return bound if most and bound != float("inf") else None


def _counts(metrics: CollectorRegistry, name: str, label: str) -> dict[str, int]:
    return {
        sample.labels[label]: int(sample.value)
        for family in metrics.collect()
        if family.name == name
        for sample in family.samples
        if sample.name == f"{name}_total" and sample.value
    }

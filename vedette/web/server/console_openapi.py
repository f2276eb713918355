"""Response schemas for console pages: lookups, completions, saved views, the pulse."""

from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
    reference,
)

CONSOLE: Final[dict[str, Schema]] = {
    "NewPermalink": record({"id": TEXT, "expires": TIME}),
    "SearchField": record(
        {
            **alike(("name", "type", "type_meaning", "meaning"), TEXT),
            "aliases": listing(TEXT),
            "default": FLAG,
        }
    ),
    "Suggestion": record(
        {
            "text": TEXT,
            "start": INTEGER,
            "kind": {"enum": ["field", "value"]},
            "count": nullable(INTEGER),
        }
    ),
    "Lookup": record(
        {
            "kind": {
                "enum": ["md5", "sha256", "ip", "network", "domain", "path", "process", "name"]
            },
            **alike(("value", "query", "alert_query"), TEXT),
            **alike(("processes", "host_count", "alerts", "open_alerts"), INTEGER),
            **alike(("hosts", "feeds"), listing(record({"name": TEXT, "value": INTEGER}))),
            **alike(("first_seen", "last_seen"), nullable(TIME)),
            "newest": nullable(reference("Process")),
            **alike(("banned", "incomplete_results"), FLAG),
            "ban_text": nullable(TEXT),
            "targets": listing(
                record(
                    {"kind": {"enum": ["alert", "rule", "sensor"]}, **alike(("id", "name"), TEXT)}
                )
            ),
        }
    ),
    "HealthSummary": record(
        {
            "detection": record(
                {
                    "seconds_behind": mapping(INTEGER),
                    "alert_seconds_p95": nullable(NUMBER),
                    "rules_stopped": INTEGER,
                }
            ),
            "intake": record(
                {
                    "accepts": FLAG,
                    "queue_bytes": INTEGER,
                    **alike(("records_per_second", "bytes_per_second"), NUMBER),
                    **alike(("records", "rejected"), mapping(INTEGER)),
                }
            ),
            "disk": record(
                {
                    **alike(("free_bytes", "total_bytes", "telemetry_bytes"), INTEGER),
                    "days_left": nullable(INTEGER),
                }
            ),
            "feeds": record(alike(("count", "failing"), INTEGER)),
            "outbox": record(
                alike(("targets", "failing", "waiting", "oldest_failure_seconds"), INTEGER)
            ),
            "jobs": record({"running": INTEGER}),
        }
    ),
    "RefusedRecord": record(
        {
            **alike(("reason", "message", "sender", "text"), TEXT),
            "time": TIME,
            "size": INTEGER,
            **alike(("is_whole", "is_hidden"), FLAG),
        }
    ),
    "Pulse": record(
        {
            "open_alerts": INTEGER,
            "newest_alert": nullable(TIME),
            "isolation": listing(record({"sensor_id": INTEGER, "hostname": TEXT, "isolate": FLAG})),
            "jobs": listing(
                record({"id": TEXT, **alike(("targeted", "waiting", "failed"), INTEGER)})
            ),
            "store_accepts": FLAG,
            "followed": mapping(nullable(record({"version": TEXT, "settled": FLAG}))),
            "time": TIME,
        }
    ),
}
"""Maps component name to schema."""

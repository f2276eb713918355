"""Formats alert objects (docs/api-detection.md#alert). Every member that clients read is always
present."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vedette.model.address import address_text
from vedette.model.findings.alert import (
    ALERT_MAPS,
    DECIMALS,
    EVENT_COUNTS,
    STATUSES,
    THOUSAND,
    AlertRow,
    HistoryEntry,
)
from vedette.web.json.wire_values import instant, known_instant
from vedette.web.processes.models import Body

_TEXTS: Final = (
    "alert_type",
    "title",
    "description",
    "link",
    "level",
    "status",
    "assigned_to",
    "notes",
    "hostname",
    "group",
    "os_type",
    "username",
    "process_name",
    "process_path",
    "process_id",
    "process_unique_id",
    "cmdline",
    "parent_name",
    "md5",
    "sha256",
    "feed_name",
    "watchlist_name",
    "report_id",
    "ioc_type",
    "ioc_value",
    "source_id",
    "source_name",
    "rule_version",
    "subject",
)
_NUMBERS: Final = ("sensor_id", "segment_id", "feed_id", "count", *EVENT_COUNTS)
_LISTS: Final = ("tags", "techniques", "observed_filename")
_ONLY_WHOLE: Final = ("rule_text", "parent_cmdline", "event", "false_positives")
"""Members that only the response for a single alert has, in addition to its history."""


def alert_body(row: AlertRow) -> Body:
    """Returns the alert object of search results."""
    return {
        "unique_id": row["id"],
        "_version_": row["version"],
        **{name: row[name] for name in (*_TEXTS, *_NUMBERS)},
        **{name: list(row[name]) for name in _LISTS},
        **{name: row[name] / THOUSAND for name in DECIMALS},
        "sensor_criticality": row["sensor_criticality"] // THOUSAND,
        "source": row["source_kind"],
        "watchlist_id": _watchlist_id(row),
        "report_ignored": bool(row["report_ignored"]),
        "total_hosts": str(row["total_hosts"]),
        "comms_ip": address_text(row["comms_ip"]),
        "interface_ip": address_text(row["interface_ip"]),
        "created_time": instant(row["created_time"]),
        "updated_time": instant(row["updated_time"]),
        "first_event_time": known_instant(row["first_event_time"]),
        "last_event_time": known_instant(row["last_event_time"]),
        "resolved_time": known_instant(row["resolved_time"]),
        "matched": dict(row["matched"]),
        "ioc_attr": {row["ioc_type"]: row["ioc_value"]} if row["ioc_type"] else {},
    }


def whole_alert_body(row: AlertRow) -> Body:
    """Returns an alert with all members."""
    return alert_body(row) | {
        **{name: dict(row[name]) if name in ALERT_MAPS else row[name] for name in _ONLY_WHOLE},
        "history": _history(row["history"]),
    }


def alert_history_body(row: AlertRow) -> Body:
    """Returns the changes to an alert since its creation."""
    return {
        "unique_id": row["id"],
        "made": instant(row["created_time"]),
        "rule_version": row["rule_version"],
        "status": row["status"],
        "assigned_to": row["assigned_to"],
        "notes": row["notes"],
        "history": _history(row["history"]),
    }


def _watchlist_id(row: Mapping[str, Any]) -> int | str:
    """Returns an id that clients show next to `watchlist_name`: of a watchlist, the report of a
    feed, or a rule."""
    match row["source_kind"]:
        case "watchlist":
            return int(row["watchlist_id"])
        case "feed":
            return str(row["report_id"])
        case _:
            return str(row["source_id"])


_AT_FIRST: Final = {
    "status": STATUSES[0],
    "assigned_to": "",
    "notes": "",
    "report_ignored": False,
}


def _history(entries: list[str]) -> list[Body]:
    """Returns the changes in order, each with the previous values as far as the history goes
    back."""
    before: dict[str, Any] = dict(_AT_FIRST)
    found = []
    for text in entries:
        entry = msgspec.json.decode(text, type=HistoryEntry)
        now = {name: value for name in _AT_FIRST if (value := getattr(entry, name)) is not None}
        changes = {
            name: {"from": before[name], "to": value}
            for name, value in now.items()
            if before[name] != value
        }
        before |= now
        found.append(
            {
                "timestamp": instant(entry.time_us),
                "user_id": entry.user_id,
                "username": entry.username,
                "changes": changes,
            }
        )
    return found

"""Columns and states of a stored alert (docs/api-detection.md#alert).

An alert is one row. Every change adds a row with a higher `version`. The row contains the evidence
(event, matched values, text of the rule), because telemetry expires earlier than the alert.

Decimal numbers are stored as integers in thousandths (`THOUSAND`), so that they compare exactly.
"""

from typing import Any, Final

from msgspec import Struct

from vedette.errors import BadRequestError
from vedette.model.columns import Column

THOUSAND: Final = 1_000

STATUSES: Final = ("Unresolved", "In Progress", "Resolved", "False Positive")
"""States of an alert. A new alert has the first state. Any state may follow any other."""

CLOSED: Final = frozenset({"Resolved", "False Positive"})
"""States of alerts that need no further attention."""

EVENT_COUNTS: Final = tuple(
    f"{kind}_count"
    for kind in ("modload", "regmod", "filemod", "netconn", "crossproc", "childproc")
)
"""Columns with event counts of the alert's process at the time the alert was written."""

DECIMALS: Final = (
    "alert_severity",
    "report_score",
    "ioc_confidence",
    "feed_rating",
    "sensor_criticality",
)

ALERT_TEXTS: Final = ("tags", "techniques", "false_positives", "observed_filename", "history")
"""Columns that are lists of texts."""

ALERT_MAPS: Final = ("matched", "event")
"""Columns that are maps from text to text."""

ALERT_COLUMNS: Final[tuple[Column, ...]] = (
    Column("id", "text"),  # Detection.id
    Column("version", "u64"),  # increases with every change
    Column("change_id", "u64"),  # id of the change that wrote this version; 0 for a detection
    Column("first_seq", "u64"),  # commit with the first detection
    Column("counted_seq", "u64"),  # newest commit that `count` includes
    Column("source_kind", "text"),
    Column("source_id", "text"),
    Column("source_name", "text"),
    Column("alert_type", "text"),
    Column("subject", "text"),
    Column("title", "text"),
    Column("description", "text"),
    Column("link", "text"),
    Column("level", "text"),
    *(Column(name, "i32") for name in DECIMALS),
    Column("status", "text"),
    Column("assigned_to", "text"),
    Column("notes", "text"),
    Column("created_time", "time"),
    Column("first_event_time", "time"),  # earliest event, host's clock
    Column("last_event_time", "time"),
    Column("updated_time", "time"),  # time of this version
    Column("resolved_time", "time"),  # 0: open
    Column("count", "u64"),  # number of events
    Column("sensor_id", "u32"),
    Column("hostname", "text"),
    Column("group", "text"),
    Column("os_type", "text"),
    Column("username", "text"),
    Column("comms_ip", "ip"),
    Column("interface_ip", "ip"),
    Column("process_name", "text"),
    Column("process_path", "text"),
    Column("process_id", "text"),
    Column("process_unique_id", "text"),
    Column("segment_id", "u64"),
    Column("cmdline", "text"),
    Column("parent_name", "text"),
    Column("parent_cmdline", "text"),
    Column("md5", "text"),
    Column("sha256", "text"),
    *(Column(name, "u64") for name in EVENT_COUNTS),
    Column("feed_id", "i32"),  # -1: no feed
    Column("feed_name", "text"),
    Column("watchlist_id", "i32"),  # 0: no watchlist
    Column("watchlist_name", "text"),
    Column("report_id", "text"),
    Column("report_ignored", "u8"),
    Column("ioc_type", "text"),
    Column("ioc_value", "text"),
    Column("total_hosts", "u64"),  # hosts of the group that reported the file
    Column("rule_text", "text"),
    Column("rule_version", "text"),
)
"""Columns with a single value."""

ALERT_IDENTITIES: Final = frozenset(
    {"id", "subject", "process_id", "process_unique_id", "cmdline", "parent_cmdline", "notes"}
)
"""Text columns whose values differ in nearly every alert."""

ALERT_CHANGING: Final = frozenset(
    (
        "version",
        "change_id",
        "counted_seq",
        "status",
        "assigned_to",
        "notes",
        "count",
        "first_event_time",
        "last_event_time",
        "updated_time",
        "resolved_time",
        "report_ignored",
        "history",
    )
)
"""Columns that may differ between versions of an alert. All other columns keep their first
value."""

AlertRow = dict[str, Any]
"""An alert by column: times in epoch microseconds, addresses as 16 bytes, lists and maps."""


def status_of(text: str, name: str = "status") -> str:
    """Returns the state with this name in any letter case. Raises BadRequestError, which names the
    parameter."""
    wanted = " ".join(text.split()).lower()
    for status in STATUSES:
        if status.lower() == wanted:
            return status
    raise BadRequestError(f"{name}: {text[:40]!r} is not one of {', '.join(STATUSES)}")


class HistoryEntry(Struct, frozen=True, omit_defaults=True):
    """A change of an alert by a user: the new values. None means unchanged."""

    time_us: int
    user_id: int
    username: str
    status: str | None = None
    assigned_to: str | None = None
    notes: str | None = None
    report_ignored: bool | None = None

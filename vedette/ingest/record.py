"""A decoded source record, independent of format and sender.

`decode` builds records from bytes without interpreting them; `normalise` interprets them. A
`Record` encoded by `msgspec.json` is the *native format* of `POST /api/v1/ingest`, which the
importer sends. It is recognized by its first member `vedette_record`.
"""

from typing import Any, Literal

from msgspec import Struct, field

from vedette.limits import Limit

UNKNOWN_FORMAT_NAMES_MAX: Limit[int] = 8
"""Maximum member names in the error for an unknown format: enough to recognize the source."""

UNKNOWN_FORMAT_CHARS_MAX: Limit[int] = 200
"""Maximum characters of the member names in that error. The sender chooses the names."""


Source = Literal[
    "windows", "auditd", "osquery", "tetragon", "santa", "es", "vedette", "endpoint", "log"
]
"""Source families, with one normaliser each. `vedette` is the Vedette sensor. `windows` covers all
event-log records: Sysmon (Windows and Linux), Security, PowerShell and others. `auditd` covers
laurel, auoms and Auditbeat. `endpoint` covers agents with event formats of their own: Elastic
Defend, Auditbeat, Microsoft Defender, Wazuh. `log` covers text logs of servers and daemons."""


class Record(Struct, gc=False, omit_defaults=False):
    """A decoded record. `data` are the event data under the sender's field names, values
    unchanged."""

    vedette_record: Source
    host: str
    """Full host name in lower case; never the collector's."""
    time_us: int
    """Time of the envelope, epoch microseconds UTC; 0 if none. Normalisers prefer the event's own
    time."""
    channel: str
    """Canonical event-log channel ("Security"), or the stream of the family ("auditd",
    "process_events"). Part of a record's identity."""
    event_id: int = 0
    record_id: int = 0
    """The sender's record number within (host, channel); 0 if none."""
    provider: str = ""
    pid: int = 0
    """Process id of the logger from the envelope (Execution ProcessID); 0 if none."""
    data: dict[str, Any] = field(default_factory=dict)
    level: int = 0
    """Level of an event-log record: 1 critical to 5 verbose; 0 for audit events and if unknown."""
    keywords: str = ""
    """Keywords of an event-log record as `0x8010000000000000`; "" if unknown."""
    adapters: str = ""
    """Network adapters of the host, if the sender reports them (`adapters.py`)."""
    host_clock: int = 0
    """Time zone of the host, if the sender reports it (`host_clock.py`), else 0."""


class RecordError(Exception):
    """Raised for a record that is rejected. `reason` is a stable identifier for counts and
    metrics."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def unknown_format(obj: dict[str, Any], what: str = "no known format has") -> RecordError:
    """Returns the error for an object of an unknown shape, with a bounded sample of its member
    names."""
    names = ", ".join(sorted(map(str, obj))[:UNKNOWN_FORMAT_NAMES_MAX])[:UNKNOWN_FORMAT_CHARS_MAX]
    return RecordError("unknown_format", f"{what} the members {names}")

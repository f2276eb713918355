"""One decoded source record, whatever format and sender it came from.

`decode` makes these from bytes and does not judge them; `normalise` reads them. The importer
sends them as they are: a `Record` encoded by `msgspec.json` is the *native dialect* of
`POST /api/v1/ingest`, recognised by its first member `vedette_record`.
"""

from typing import Any, Literal

from msgspec import Struct, field

Source = Literal["windows", "auditd", "osquery", "tetragon", "santa", "es", "vedette"]
"""Families of senders, one normaliser each. `vedette` is our own sensor. `windows` covers every
event-log record: Sysmon (Windows and Linux), Security, PowerShell and all others. `auditd` covers
laurel and auoms."""


class Record(Struct, gc=False, omit_defaults=False):
    """`data` is the event data under the sender's own field names, values as sent."""

    vedette_record: Source
    host: str
    """Full host name, lower case; never the collector's."""
    time_us: int
    """Time of the envelope, epoch microseconds UTC; normalisers prefer the event's own. 0: none."""
    channel: str
    """Event-log channel in its canonical case ("Security"), or the family's stream name
    ("auditd", "process_events"); part of the identity of a record."""
    event_id: int = 0
    record_id: int = 0
    """The sender's own number within (host, channel); 0 when there is none."""
    provider: str = ""
    pid: int = 0
    """Process id of the logger as the envelope tells it (Execution ProcessID); 0: none."""
    data: dict[str, Any] = field(default_factory=dict)


class RecordError(Exception):
    """A record that cannot be taken. `reason` is a stable word for tallies and metrics."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


_SAMPLE_NAMES = 8
_SAMPLE_CHARS = 200


def unknown_format(obj: dict[str, Any], what: str = "no known format has") -> RecordError:
    """The refusal of an object of an unknown shape, with a sample of the names of its members."""
    names = ", ".join(sorted(map(str, obj))[:_SAMPLE_NAMES])[:_SAMPLE_CHARS]
    return RecordError("unknown_format", f"{what} the members {names}")

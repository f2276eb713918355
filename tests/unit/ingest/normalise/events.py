"""Records for the tests of normalise: one host, one process, small on purpose."""

from typing import Any

from vedette.ingest.channels import SECURITY, SYSMON
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.record import Record
from vedette.ingest.times import time_us
from vedette.model.event import Facts

SENSOR_ID = 7
AT = "2023-11-02 13:04:05.678"
AT_US = time_us(AT)
START_US = 0x65439E21 * 1_000_000  # 2023-11-02 13:03:29

GUID = "{7D1F0A2B-9E21-6543-1000-000000000400}"
ID = "00000007-9e21-6543-1000-000000000400"
PARENT_GUID = "{7D1F0A2B-9E00-6543-0F00-000000000400}"
PARENT_ID = "00000007-9e00-6543-0f00-000000000400"
IMAGE = "C:\\Windows\\System32\\cmd.exe"

MD5, SHA1, SHA256 = "a" * 32, "b" * 40, "c" * 64
HASHES = f"SHA1={SHA1.upper()},MD5={MD5},SHA256={SHA256},IMPHASH={'d' * 32}"


def sysmon(event_id: int, /, **data: Any) -> Record:
    """A Sysmon record of the one process, with more event data."""
    base = {"UtcTime": AT, "ProcessGuid": GUID, "ProcessId": "40", "Image": IMAGE}
    return Record("windows", "a", AT_US, SYSMON, event_id, 0, "p", 0, base | data)


def other(channel: str, event_id: int, /, pid: int = 0, **data: Any) -> Record:
    """A record of another channel; its envelope has the time."""
    return Record("windows", "a", AT_US, channel, event_id, 0, "p", pid, data)


def security(event_id: int, /, **data: Any) -> Record:
    return other(SECURITY, event_id, 0, **data)


def outcomes(*records: Record, ctx: HostContext | None = None) -> list[Any]:
    """Returns the outcomes of a batch of records of one host."""
    ctx = ctx or HostContext(SENSOR_ID)
    for record in records:
        SOURCES[record.vedette_record].learn(record, ctx)
    return [
        outcome
        for record in records
        for outcome in SOURCES[record.vedette_record].normalise(record, ctx, KEEP)
    ]


def only(kind: type, *records: Record, ctx: HostContext | None = None) -> Any:
    """The one outcome of a kind that a batch becomes."""
    (found,) = [outcome for outcome in outcomes(*records, ctx=ctx) if type(outcome) is kind]
    return found


def facts_of(process_id: str, *records: Record) -> dict[str, Any]:
    """All facts of one process, merged as the store merges them."""
    merged: dict[str, Any] = {}
    for outcome in outcomes(*records):
        if isinstance(outcome, Facts) and outcome.process_id == process_id:
            for name, value in outcome.values.items():
                merged[name] = max(value, merged.get(name, value))
    return merged

"""Decoder of osquery results: events, snapshots, differences, or a whole logger request.

All values are text. Users choose query names freely, so the table is determined by the end of the
name or by its columns. `windows_events` and `windows_eventlog` carry event-log records as JSON and
become records of source "windows".
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from vedette.ingest.decode.eventlog import flat_data, lower_host, make_record
from vedette.ingest.decode.shipper import member
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us

TABLES: tuple[tuple[str, frozenset[str]], ...] = (
    ("es_process_file_events", frozenset({"event_type", "filename", "pid"})),
    ("es_process_events", frozenset({"event_type", "pid", "cdhash"})),
    ("process_etw_events", frozenset({"type", "pid", "ppid", "cmdline", "datetime"})),
    ("process_file_events", frozenset({"operation", "pid", "executable"})),
    ("dns_lookup_events", frozenset({"pid", "name", "response", "datetime"})),
    ("socket_events", frozenset({"action", "pid", "remote_address", "family"})),
    ("process_events", frozenset({"pid", "path", "cmdline", "parent"})),
    ("file_events", frozenset({"target_path", "action", "md5"})),
    ("windows_events", frozenset({"eventid", "data", "source"})),
    ("windows_eventlog", frozenset({"eventid", "data", "channel"})),
    ("user_events", frozenset({"pid", "message", "auid"})),
    ("yara_events", frozenset({"target_path", "matches"})),
    ("hardware_events", frozenset({"driver", "vendor", "action"})),
)
"""Event tables with sets of columns that identify them, most specific first."""

_EVENT_LOG = frozenset({"windows_events", "windows_eventlog"})


def recognises(obj: dict[str, Any]) -> bool:
    if "hostIdentifier" in obj and ("columns" in obj or "snapshot" in obj or "diffResults" in obj):
        return True
    return "node_key" in obj and isinstance(obj.get("data"), list)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Returns a record per added row. Raises RecordError: no_host, no_time, unknown_format."""
    if "node_key" in obj and isinstance(obj.get("data"), list):
        return [
            record
            for result in obj["data"]
            if isinstance(result, dict) and recognises(result)
            for record in decode(result)
        ]
    host = _host_of(obj)
    if not host:
        raise RecordError("no_host", "the result has no hostIdentifier")
    name = obj.get("name")
    return [_row(host, str(name or ""), obj, row) for row in _rows(obj)]


def _host_of(obj: dict[str, Any]) -> str:
    for path in (("decorations", "hostname"), ("hostname",), ("hostIdentifier",)):
        value = member(obj, path)
        if isinstance(value, str) and value.strip():
            return lower_host(value)
    return ""


def _rows(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields added and current rows. Rows that a difference removed are not events."""
    differences = obj.get("diffResults")
    snapshot = obj.get("snapshot")
    if isinstance(differences, dict):
        found = differences.get("added") or []
    elif isinstance(snapshot, list):
        found = snapshot
    elif obj.get("action") == "removed":
        found = []
    else:
        found = [obj.get("columns")]
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise RecordError("unknown_format", "an osquery result without columns")
    yield from found


def table_of(name: str, row: dict[str, Any]) -> str:
    """Returns the event table of a query's row; the name of the query if there is none."""
    for table, _ in TABLES:
        if name.endswith(table):
            return table
    for table, columns in TABLES:
        if columns <= row.keys():
            return table
    return name or "osquery"


def _row(host: str, name: str, obj: dict[str, Any], row: dict[str, Any]) -> Record:
    table = table_of(name, row)
    given = (row.get("time"), row.get("datetime"), obj.get("unixTime"), obj.get("calendarTime"))
    if table in _EVENT_LOG:
        return make_record(
            host=row.get("computer_name") or host,
            times=(row.get("datetime"), *map(_moment, given)),
            channel=row.get("source") if table == "windows_events" else row.get("channel"),
            event_id=row.get("eventid"),
            record_id=row.get("eventrecordid") or row.get("record_id"),
            provider=row.get("provider_name"),
            pid=row.get("pid"),
            data=_event_data(row.get("data")),
        )
    time_us = next((moment for moment in map(_moment, given) if moment), 0)
    if not time_us:
        raise RecordError("no_time", "the result has no time")
    return Record("osquery", host, time_us, table, data={**row, "query": name})


def _moment(value: Any) -> int:
    """Returns epoch microseconds. osquery writes numbers as text too."""
    if isinstance(value, str) and value.strip().isdecimal():
        return any_time_us(int(value.strip()[:24]))
    return any_time_us(value)


def _event_data(text: Any) -> dict[str, Any]:
    try:
        data = msgspec.json.decode(text) if isinstance(text, str) else text
    except msgspec.DecodeError as error:
        raise RecordError("not_json", f"the column data: {error}") from error
    if not isinstance(data, dict):
        return {}
    return flat_data(data.get("UserData")) | flat_data(data.get("EventData", data))

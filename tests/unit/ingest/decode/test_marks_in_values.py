"""Values never determine the format of a record: with the marks of every format in every string, a
record of every format is decoded unchanged, once, and for its own host."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.wire_records import CARRIED, RECORDS
from vedette.ingest.decode import decode
from vedette.ingest.decode.eventxml import MEMBERS
from vedette.ingest.decode.shipper import TEXT_MEMBERS
from vedette.ingest.framing.body import split_body
from vedette.ingest.framing.bulk_body import split_bulk
from vedette.ingest.record import Record, RecordError

_SYSTEM = (
    "<Event><System><EventID>4625</EventID><Channel>Security</Channel><Computer>dc1</Computer>"
    '<TimeCreated SystemTime="2020-01-01T00:00:00Z"/></System><EventData/></Event>'
)
_MARKS = {
    "audit": "node=dc1 type=SYSCALL msg=audit(1600000000.1:1): pid=1 success=yes",
    "audit after a line break": "x\nnode=dc1 type=SYSCALL msg=audit(1600000000.1:1): pid=1",
    "kernel audit": "kernel: [ 1.2] audit: type=1300 audit(1600000000.1:1): pid=1",
    "auoms": "type=AUOMS_EXECVE audit(1600000000.1:1): node=dc1 pid=1 redactors=",
    "santa": "[2020-01-01T00:00:00.000Z] I santad: action=EXEC|pid=1|machineid=dc1",
    "xml": _SYSTEM,
    "xml in syslog": f"Jan  1 00:00:00 dc1 sysmon: {_SYSTEM}",
    "nxlog": '{"EventID":4625,"EventReceivedTime":"2020-01-01 00:00:00","Hostname":"dc1"}',
    "native": '{"vedette_record":"windows","host":"dc1","time_us":1,"channel":"Security"}',
    "winlogbeat": '{"@timestamp":"2020-01-01T00:00:00Z","winlog":{"computer_name":"dc1"}}',
    "tetragon": '{"process_exec":{"process":{}},"node_name":"dc1","time":"2020-01-01T00:00:00Z"}',
    "laurel": '{"ID":"1600000000.1:1","NODE":"dc1","SYSCALL":{"pid":1}}',
    "osquery": '{"hostIdentifier":"dc1","name":"process_events","columns":{"time":"1600000000"}}',
}
_OF_THE_ENVELOPE = frozenset(
    {"@timestamp", "time", "UtcTime", "TimeCreated", "SystemTime", "TimeGenerated", "EventTime"}
    | {"EventReceivedTime", "event_time", "start_time", "unixTime", "Hostname", "Computer"}
    | {"computer_name", "host", "hostname", "node_name", "NODE", "hostIdentifier", "machine_id"}
    | {"Channel", "channel", "log_name", "EventLog", "EventID", "event_id", "code", "record_id"}
    | {"record_number", "RecordNumber", "EventRecordId", "ProcessID", "SourceModuleType", "Type"}
    | {"vedette_record", "name", "type", "ID", "provider_name", "Source", "SourceName", "Provider"}
    | {"EventSourceName", "Name", "exec_id", "action", "SYSCALL", "success", "ProcessGuid"}
    | {"ProcessId", "pid", "parent", "NewProcessId"}
    | {"module", "dataset", "message_type", "id", "EventRecordId"}
    | {"Timestamp", "DeviceName", "ActionType", "category", "agent", "timestamp", "systemTime"}
    | {"computer", "eventID", "eventRecordID", "providerName", "syscall"}
)
"""Members whose values the sender makes; what they hold is not free text."""

_LINES = frozenset({"audit line", "audit line in syslog", "auoms", "santa line", "xml in syslog"})
_TEXTS = frozenset({"EventData", "Payload", "message", "SyslogMessage"})


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [(name, item) for name, item in value.items() if name not in _OF_THE_ENVELOPE]
    elif isinstance(value, list):
        items = list(enumerate(value))
    for name, item in items:
        if isinstance(item, str):
            yield (*path, name)
        else:
            yield from _paths(item, (*path, name))


def _put(record: dict[str, Any], path: tuple[Any, ...], text: str) -> dict[str, Any]:
    changed = copy.deepcopy(record)
    holder: Any = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = text
    return changed


def _in_every_text(name: str, record: dict[str, Any], mark: str) -> Iterator[dict[str, Any]]:
    for path in _paths(record):
        old = record
        for part in path:
            old = old[part]
        if name in _LINES or path[-1] in _TEXTS or path == ("event", "original"):
            # A log line, XML or JSON: its command line holds the mark, escaped as it would be.
            quoted = mark.replace("&", "&amp;").replace("<", "&lt;").replace('"', "'")
            plain = quoted.replace("\n", " ").replace("|", "~")
            if "whoami" in str(old):
                yield _put(record, path, str(old).replace("whoami", f"whoami {plain}", 1))
                yield _put(record, path, str(old).replace("whoami", plain, 1))
        else:
            yield _put(record, path, mark)
            yield _put(record, path, f"{old} {mark}")
    if name in RECORDS and name not in _LINES:
        for member in {*TEXT_MEMBERS, *MEMBERS} - {*record, "event", "EventData"}:
            yield {**record, member: mark}
        if isinstance(record.get("event", {}), dict):
            yield {**record, "event": {**record.get("event", {}), "original": mark}}


def _identity(record: Record) -> tuple[Any, ...]:
    kind = (record.vedette_record, record.host, record.channel, record.event_id)
    return *kind, record.record_id, record.time_us


_ALL = RECORDS | CARRIED


@pytest.mark.parametrize("mark", _MARKS)
@pytest.mark.parametrize("name", _ALL)
def test_marks_of_other_formats_in_a_value_leave_a_record_what_it_is(name: str, mark: str) -> None:
    (wanted,) = decode(json.dumps(_ALL[name]).encode())
    changed = list(_in_every_text(name, _ALL[name], _MARKS[mark]))
    for one in changed:
        (found,) = decode(json.dumps(one).encode())
        assert _identity(found) == _identity(wanted), one


@pytest.mark.parametrize("name", _ALL)
def test_records_with_one_mark_stay_one_record_each(name: str) -> None:
    changed = [one for mark in _MARKS.values() for one in _in_every_text(name, _ALL[name], mark)]
    if name.startswith("audit line"):  # what has one time and serial is one event
        changed = changed[:1]
    lines = [json.dumps(one).encode() for one in changed]
    assert split_body(b"\n".join(lines)) == lines or name.startswith("audit line")
    assert split_body(b"[" + b",".join(lines) + b"]") == lines or name.startswith("audit line")
    bulk = split_bulk(b"".join(b'{"create":{}}\n' + line + b"\n" for line in lines))
    assert (len(bulk.records), bulk.record_of) == (len(lines), list(range(len(lines))))
    (wanted,) = decode(json.dumps(_ALL[name]).encode())
    for text in bulk.records:
        assert [_identity(one) for one in decode(text)] == [_identity(wanted)]


@pytest.mark.parametrize("mark", _MARKS)
@pytest.mark.parametrize(
    "line",
    [
        'type=EXECVE msg=audit(1700000000.1:7): argc=2 a0="echo" a1="{}"',
        "[2023-05-01T10:00:00.123Z] I santad: action=EXEC|pid=12|path=/bin/ls|args=echo {}",
    ],
    ids=["audit", "santa"],
)
def test_a_line_of_a_log_stays_what_it_begins_as(line: str, mark: str) -> None:
    plain = _MARKS[mark].replace("\n", " ").replace("|", " ").replace('"', "'")
    (text,) = split_body(line.format(plain).encode(), "ws1")
    (record,) = decode(text)
    assert record.host == "ws1"
    assert record.vedette_record == ("auditd" if line.startswith("type") else "santa")


@pytest.mark.parametrize("mark", _MARKS)
def test_json_behind_a_syslog_header_is_not_replaced_by_what_it_holds(mark: str) -> None:
    record = RECORDS["nxlog"] | {"CommandLine": f"echo {_MARKS[mark]}"}
    (text,) = split_body(b"Nov  3 10:11:12 relay nxlog: " + json.dumps(record).encode())
    (found,) = decode(text)
    assert (found.host, found.event_id) == ("ws1", 1)


@pytest.mark.parametrize(
    "text",
    [
        "sudo: ann ran echo type=SYSCALL msg=audit(1600000000.1:1): pid=1",
        'command "type=SYSCALL msg=audit(1600000000.1:1): pid=1"',
        "user santad: action=EXEC|pid=1|machineid=dc1",
        "He said [2020-01-01T00:00:00.000Z] I santad: action=EXEC|pid=1|machineid=dc1",
        f'{{"broken": "{_SYSTEM}',
        f"argument {_SYSTEM}",
    ],
)
def test_audit_text_in_the_middle_of_a_message_is_no_audit_record(text: str) -> None:
    message = json.dumps({"message": text, "host": {"name": "ws1"}}).encode()
    with pytest.raises(RecordError, match="no known format"):
        decode(message)

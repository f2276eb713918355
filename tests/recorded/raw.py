"""Reads the recorded sets by itself: nothing here comes from `vedette`.

What the server says of a set is held against what this reader sees in the raw files, so it
must not share the server's code, nor its mistakes. It is slow and plain on purpose.

A set is a zip or tar.gz of EVTX files, of JSON lines in one of the wrappers of
docs/telemetry-windows.md, or of an audit.log. Files that hold no records
(notes, process lists) yield none.
"""

import html
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import evtx


class Raw(NamedTuple):
    """One record as its file reports it."""

    host: str
    """Lower case."""
    channel: str
    """Channel as written: both "Security" and "security" occur."""
    event_id: int
    record_id: int
    """0 where the file carries none."""
    time: str
    """Time of the envelope, as written."""
    pid: int
    """The logger's, 0 where unknown."""
    data: dict[str, Any]
    file: str


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in a zip or tar.gz."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    yield info.filename, zipped.read(info)
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def read_set(archive: Path) -> Iterator[Raw]:
    """All records of a set, in file order."""
    for name, content in members(archive):
        yield from read_file(name, content)


def read_file(name: str, content: bytes) -> Iterator[Raw]:
    """The records of one file; none for a file that holds something else."""
    if content[:8] == b"ElfFile\0":
        yield from _evtx(name, content)
    elif content.lstrip()[:1] == b"{":
        yield from _json(name, content)
    elif content[:5] == b"type=":
        yield from _audit(name, content)


# --- EVTX ----------------------------------------------------------------------------------


def records_of(content: bytes) -> Iterator[dict[str, Any]]:
    """The records of an EVTX file as the `evtx` package renders them."""
    parser: Any = evtx.PyEvtxParser(io.BytesIO(content))
    for record in parser.records_json():
        yield json.loads(record["data"])


def _evtx(name: str, content: bytes) -> Iterator[Raw]:
    for entry in records_of(content):
        yield _rendered(name, entry)


def _rendered(name: str, entry: dict[str, Any]) -> Raw:
    """A record as the `evtx` package and the JSON files of the Sigma set render it."""
    event: dict[str, Any] = entry["Event"]
    system: dict[str, Any] = event["System"]
    data = event.get("EventData") or {}
    if not data and event.get("UserData"):
        data = next(iter(event["UserData"].values()))
    execution: dict[str, Any] = (system.get("Execution") or {}).get("#attributes") or {}
    return Raw(
        system["Computer"].lower(),
        system["Channel"],
        _number(system["EventID"]),
        _number(system["EventRecordID"]),
        system["TimeCreated"]["#attributes"]["SystemTime"],
        int(execution.get("ProcessID", 0)),
        data,
        name,
    )


def _number(value: Any) -> int:
    return int(value["#text"] if isinstance(value, dict) else value or 0)


# --- JSON ----------------------------------------------------------------------------------


def _json(name: str, content: bytes) -> Iterator[Raw]:
    """Objects one after another, a line each or spread over many."""
    text = content.decode()
    decoder = json.JSONDecoder()
    at = len(text) - len(text.lstrip())
    while at < len(text):
        entry, at = decoder.raw_decode(text, at)
        at += len(text[at : at + 64]) - len(text[at : at + 64].lstrip())
        if "Event" in entry:
            yield _rendered(name, entry)
        elif "SyslogMessage" in entry or "log_name" in entry or "Hostname" in entry:
            yield _wrapped(name, entry)


def _wrapped(name: str, entry: dict[str, Any]) -> Raw:
    """Parses one line of a collector (docs/telemetry-windows.md, wrappers A to C and E)."""
    if "SyslogMessage" in entry:
        message = entry["SyslogMessage"]
        return _xml(name, message) if message.startswith("<") else _auoms(name, entry)
    if "log_name" in entry:
        return Raw(
            entry["computer_name"].lower(),
            entry["log_name"],
            int(entry["event_id"]),
            int(entry["record_number"]),
            entry["@timestamp"],
            int(entry.get("process_id", 0)),
            entry.get("event_data", {}),
            name,
        )
    return Raw(
        entry["Hostname"].lower(),
        entry["Channel"],
        int(entry["EventID"]),
        int(entry.get("RecordNumber", 0)),
        entry.get("EventTime") or entry.get("TimeCreated") or entry["@timestamp"],
        _logger_pid(entry),
        entry,
        name,
    )


def _logger_pid(entry: dict[str, Any]) -> int:
    """NXLog's name for it; older versions call it ProcessID, as a number and not as text."""
    older = entry.get("ProcessID")
    return int(entry.get("ExecutionProcessID") or (older if isinstance(older, int) else 0))


_SYSTEM = re.compile(r"<(EventID|EventRecordID|Channel|Computer)>([^<]*)")
_DATA = re.compile(r'<Data Name="(\w+)">([^<]*)')


def _xml(name: str, text: str) -> Raw:
    """An `<Event>` in a syslog line, as Sysmon for Linux writes it: read by pattern, because the
    set has lines cut at 2,012 characters and entities without their semicolon."""
    system = dict(_SYSTEM.findall(text))
    return Raw(
        system["Computer"].lower(),
        system["Channel"],
        int(system["EventID"]),
        int(system["EventRecordID"]),
        text.split('SystemTime="', 1)[1].split('"', 1)[0],
        int(text.split('ProcessID="', 1)[1].split('"', 1)[0]),
        {key: html.unescape(value) for key, value in _DATA.findall(text)},
        name,
    )


# --- auditd --------------------------------------------------------------------------------

_PAIR = re.compile(r"""(\w+)=("[^"]*"|'[^']*'|\[[^\]]*\]|\S*)""")
_HEAD = re.compile(r"audit\((\d+\.\d+):(\d+)\)")


def _auoms(name: str, entry: dict[str, Any]) -> Raw:
    """One event of the Azure audit collector: a line holds the whole event."""
    message = entry["SyslogMessage"]
    when = _HEAD.findall(message)[0][0]
    data = {key: value.strip('"') for key, value in _PAIR.findall(message)}
    return Raw(data["node"].lower(), "auoms", 0, 0, when, 0, data, name)


def _audit(name: str, content: bytes) -> Iterator[Raw]:
    """An audit.log: all lines of one serial are one event, reported by its SYSCALL line. A log
    that names no host is of the host that its file is named after."""
    host = name.rpartition("/")[2].partition(".")[0].lower()
    events: dict[str, dict[str, Any]] = {}
    times: dict[str, str] = {}
    for line in content.decode().split("\n"):
        head = _HEAD.search(line)
        if head is not None:
            event = events.setdefault(head[2], {})
            times[head[2]] = head[1]
            pairs = {key: value.strip('"') for key, value in _PAIR.findall(line)}
            event |= pairs if pairs["type"] == "SYSCALL" else {pairs["type"]: pairs}
    for serial, event in events.items():
        yield Raw(host, "auditd", 0, 0, times[serial], 0, event, name)

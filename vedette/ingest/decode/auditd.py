"""Decoder of Linux audit lines, from audit.log or the text member of a shipper's record.

All lines with the same node, time and serial are one event. `assemble` builds the record in
laurel's shape: `SYSCALL` and `CWD` objects, `EXECVE.ARGV`, `PATH` and `SOCKADDR` lists, others
under their record type. Values are text. Values that the kernel encodes as hexadecimal because of
their characters are decoded. ENRICHED values after 0x1d are separate members (`uid` and `UID`).

The serial restarts at boot, so it is not a record id by itself: see `record_id_of`.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from vedette.ingest.decode import shipper
from vedette.ingest.decode.audit_tables import TYPE_NAMES, event_id_of, socket_address
from vedette.ingest.decode.syslog_header import header_end
from vedette.ingest.record import Record, RecordError
from vedette.limits import AUDIT_LINE_CHARS_MAX

_HEAD = re.compile(
    r"(?:node=(\S{1,255}) )?type=(?:UNKNOWN\[(\d{1,10})\]|([A-Z0-9_]{1,64})) "
    r"(?:msg=)?audit\((\d{1,12})\.(\d{1,9}):(\d{1,20})\):? ?"
)
_FIELD = re.compile(
    r"(?<![\w\[\]-])([A-Za-z_][\w\[\]-]*+)=(\"[^\"]*+\"|'[^']*+'|\{[^{}]*+\}|[^ \x1d]*+)"
)
_NEXT = re.compile(
    r"(?<=[\s,;])(?:node=\S{1,255} )?type=(?:UNKNOWN\[\d{1,10}\]|[A-Z0-9_]{1,64}) "
    r"(?:msg=)?audit\(\d{1,12}\.\d{1,9}:\d{1,20}\)"
)
"""Head of a further record on the same line."""

_QUOTED = re.compile(r"=(?:\"[^\"]*+\"|'[^']*+')")
_HEX = re.compile(r"(?:[0-9A-F]{2})++")
_ARGUMENT = re.compile(r"a(\d{1,5})(?:\[(\d{1,5})\])?")
_MESSAGE = " msg='"

_MAYBE_HEX = frozenset(
    {"exe", "comm", "ocomm", "cwd", "name", "proctitle", "acct", "cmd", "data", "path", "key"}
    | {"dir", "file", "grp", "new_group", "sw", "unit", "vm", "old-name", "new-name"}
)
"""Fields that the kernel encodes as hexadecimal if they contain special characters."""

_PARTS = frozenset({"EXECVE", "PATH", "CWD", "SOCKADDR", "PROCTITLE", "OBJ_PID", "KERN_MODULE"})
"""Record types that only complete an event. Without its other lines they are a fragment."""

_DROPPED = frozenset({"EOE"})
_NONE = frozenset({"(null)", "(none)", "?", ""})


class AuditLine(NamedTuple):
    """A parsed line. `text` contains the fields after the head, unparsed."""

    node: str
    type: str
    time_us: int
    serial: int
    text: str


def parse_line(text: str) -> AuditLine | None:
    """Parses a text that starts with an audit line after an optional syslog header. Returns None
    for other texts.

    Ignores text beyond AUDIT_LINE_CHARS_MAX. Callers must split lines at line feeds, not with
    `splitlines`, which also splits at 0x1d.
    """
    found = _head(text)
    if found is None:
        return None
    node, number, name, seconds, fraction, serial = found.groups()
    kind = TYPE_NAMES.get(number or name, name or f"TYPE_{number}")
    time_us = int(seconds) * 1_000_000 + int((fraction + "000000")[:6])
    return AuditLine(
        (node or "").lower(),
        kind,
        time_us,
        int(serial),
        text[found.end() : AUDIT_LINE_CHARS_MAX].rstrip(),
    )


def _head(text: str) -> re.Match[str] | None:
    begin = 0 if text.startswith(("type=", "node=")) else header_end(text)
    return _HEAD.match(text, begin)


def record_texts(text: str) -> list[str]:
    """Returns the audit records of a text as separate lines. Also splits lines on which a collector
    joined several records. A record without `node=` inherits the node of the first on its line.

    Only a head outside quotes starts a record: the kernel quotes or encodes text that a process can
    choose. Records of programs (`msg='...'`) are not split, because their text is not encoded.
    """
    found: list[str] = []
    for line in text.split("\n"):
        found += [line] if line.count("audit(") < 2 else _split_line(line)
    return found


def _split_line(line: str) -> list[str]:
    head = _head(line)
    if head is None:
        return [line]
    quoted = iter([(one.start(), one.end()) for one in _QUOTED.finditer(line, head.end())])
    begin, end = next(quoted, (len(line), len(line)))
    starts = [0]
    message = line.find(_MESSAGE, head.end())
    for other in _NEXT.finditer(line, head.end()):
        while end <= other.start():
            begin, end = next(quoted, (len(line), len(line) + 1))
        if 0 <= message < other.start():
            break
        if not begin < other.start() < end:
            starts.append(other.start())
    pieces = [line[at:to].rstrip(" \t\r,;") for at, to in pairwise((*starts, len(line)))]
    node = f"node={head[1]} " if head[1] else ""
    return pieces[:1] + [one if one.startswith("node=") else node + one for one in pieces[1:]]


def parse_records(text: str) -> list[AuditLine]:
    """Returns the parsed audit records of a text. Skips other lines."""
    lines = (parse_line(one) for one in record_texts(text))
    return [line for line in lines if line is not None]


def begins_line(text: str) -> bool:
    """Whether a text starts with an audit line, after an optional syslog header."""
    return "audit(" in text and _head(text) is not None


def text_of(obj: dict[str, Any]) -> str:
    """Returns the first text member of a shipper's record that starts with an audit line; "" if
    none."""
    return shipper.text_of(obj, begins_line)


def recognises(obj: dict[str, Any]) -> bool:
    return bool(text_of(obj))


def decode(obj: dict[str, Any]) -> list[Record]:
    """Returns the events in the text of a shipper's record. Raises RecordError: no_host,
    no_time."""
    return assemble_all([text_of(obj)], shipper.host_of(obj))


def assemble_all(texts: Iterable[str], host: str) -> list[Record]:
    """Returns the events of texts, ordered by their first record. `host` applies to lines without
    `node=`. Raises RecordError: no_host, no_time, unknown_format (no audit line)."""
    events: dict[tuple[str, int, int], list[AuditLine]] = {}
    for text in texts:
        for line in parse_records(text):
            events.setdefault((line.node, line.time_us, line.serial), []).append(line)
    if not events:
        raise RecordError("unknown_format", "not an audit line")
    return [assemble(lines, host) for lines in events.values()]


def assemble(lines: list[AuditLine], host: str) -> Record:
    """Builds the record of an event from all its lines, in any order.

    Raises RecordError: no_host, no_time.
    """
    first = lines[0]
    name = first.node or host
    if not name:
        raise RecordError("no_host", "the audit line has no host")
    if not first.time_us:
        raise RecordError("no_time", "the audit line has no time")
    data = _Data()
    for line in sorted(set(lines), key=lambda line: (line.type, line.text)):
        if line.type not in _DROPPED:
            data.add(line)
    kinds = data.kinds
    main = next((kind for kind in ("SYSCALL", *sorted(kinds - _PARTS)) if kind in kinds), "")
    return Record(
        "auditd",
        name,
        first.time_us,
        "auditd",
        event_id_of(main),
        record_id_of(first.time_us, first.serial) if main else 0,
        data={"SERIAL": first.serial, **data.finished()},
    )


def record_id_of(time_us: int, serial: int) -> int:
    """Returns the record id of an event: the low 22 bits of its second and 26 bits of its serial.
    Unique across reboots and for 48 days."""
    return (time_us // 1_000_000 & 0x3FFFFF) << 26 | serial & 0x3FFFFFF


class _Data:
    """Collects the lines of an event."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self._data: dict[str, Any] = {}
        self._arguments: dict[tuple[int, int], str] = {}

    def add(self, line: AuditLine) -> None:
        self.kinds.add(line.type)
        fields = parse_fields(line.text)
        match line.type:
            case "EXECVE":
                self._add_arguments(line.text)
            case "PROCTITLE":
                title = fields.get("proctitle", "")
                self._data["PROCTITLE"] = {"ARGV": title.rstrip("\0").split("\0")}
            case "SOCKADDR":
                self._data.setdefault("SOCKADDR", []).append({"SADDR": _sockaddr(fields)})
            case "PATH" | "OBJ_PID":
                self._data.setdefault(line.type, []).append(fields)
            case _:
                self._data[line.type] = {**self._data.get(line.type, {}), **fields}

    def _add_arguments(self, text: str) -> None:
        for name, written in _FIELD.findall(text):
            found = _ARGUMENT.fullmatch(name)
            if found:
                self._arguments[int(found[1]), int(found[2] or 0)] = _value(written, True)

    def finished(self) -> dict[str, Any]:
        if self._arguments:
            joined: dict[int, str] = {}
            for (position, _), value in sorted(self._arguments.items()):
                joined[position] = joined.get(position, "") + value
            self._data["EXECVE"] = {"ARGV": list(joined.values())}
        if "PATH" in self._data:
            self._data["PATH"].sort(key=_item_number)
        return self._data


def _item_number(path: dict[str, str]) -> int:
    item = path.get("item", "")
    return int(item[:9]) if item.isdecimal() else 0


def parse_fields(text: str) -> dict[str, str]:
    """Parses the `name=value` pairs of a line. Markers for "none" become ""."""
    begin = text.find(_MESSAGE)
    end = text.rfind("'") if begin >= 0 else -1
    if end >= begin + len(_MESSAGE) > 0:
        text = f"{text[:begin]} {text[begin + len(_MESSAGE) : end]}{text[end + 1 :]}"
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields[name] = _value(value, name in _MAYBE_HEX)
    return fields


def _value(written: str, maybe_hex: bool) -> str:
    if len(written) > 1 and written[0] in "\"'" and written[-1] == written[0]:
        return written[1:-1]
    if maybe_hex and _HEX.fullmatch(written):
        return bytes.fromhex(written).decode("utf-8", "replace")
    return "" if written in _NONE else written


def _sockaddr(fields: dict[str, str]) -> dict[str, str]:
    """Returns family, address and port from the raw bytes, or else from the ENRICHED value."""
    raw = socket_address(fields.get("saddr", ""))
    if raw:
        return raw
    enriched = parse_fields(fields.get("SADDR", "").strip("{ }"))
    return {
        "saddr_fam": enriched.get("saddr_fam", ""),
        "addr": enriched.get("laddr", ""),
        "port": enriched.get("lport", ""),
    }

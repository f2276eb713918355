"""Decoder of auoms, Azure's audit collector: a line per event in syslog, in Log Analytics' `Syslog`
table.

    type=AUOMS_EXECVE audit(1652292621.990:84143): ... exe="/bin/bash" ... argc=3 cmdline="..."

Command lines are quoted without any escaping, near the end of the line. The fields before them are
therefore parsed first, and command lines are cut out as a whole.
"""

import re
from typing import Any

import msgspec

from vedette.ingest.decode import shipper
from vedette.ingest.decode.auditd import parse_fields, parse_line, record_id_of
from vedette.ingest.decode.syslog_header import header_end
from vedette.ingest.record import Record, RecordError

_MARK = "type=AUOMS_"
_TAIL = re.compile(r" (?:proctitle=|argc=|cmdline=)")
_REDACTORS = " redactors="
"""Member that follows the command line or process title."""


def recognises(obj: dict[str, Any]) -> bool:
    return bool(_text_of(obj))


def _text_of(obj: dict[str, Any]) -> str:
    return shipper.text_of(obj, begins_line)


def begins_line(text: str) -> bool:
    """Whether a text starts with a line of auoms, after an optional syslog header."""
    if _MARK not in text:
        return False
    begin = 0 if text.startswith(_MARK) else header_end(text)
    return text.startswith(_MARK, begin)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, unknown_format."""
    line = parse_line(_text_of(obj))
    if line is None:
        raise RecordError("unknown_format", "an auoms line without its head")
    found = _TAIL.search(line.text)
    cut = found.start() if found else len(line.text)
    head, tail = line.text[:cut], line.text[cut:]
    call = parse_fields(head)
    host = call.pop("node", "").lower() or shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the auoms line has no host")
    if not line.time_us:
        raise RecordError("no_time", "the auoms line has no time")
    return [
        Record(
            "auditd",
            host,
            line.time_us,
            "auoms",
            0,
            record_id_of(line.time_us, line.serial),
            data=_data(line.type, line.serial, call, head, tail),
        )
    ]


def _data(kind: str, serial: int, call: dict[str, str], head: str, tail: str) -> dict[str, Any]:
    """Returns the event in laurel's shape. The `user` of auoms becomes laurel's `UID`."""
    syscall = dict(call)
    syscall["SYSCALL"] = call.get("syscall", "")
    syscall["UID"] = call.get("user", "")
    data: dict[str, Any] = {
        "TYPE": kind,
        "SERIAL": serial,
        "SYSCALL": syscall,
        "CWD": {"cwd": call.get("cwd", "")},
        "PATH": _paths(head),
    }
    cmdline = _unescaped(tail, " cmdline=")
    if cmdline is not None:
        data["EXECVE"] = {"cmdline": cmdline}
    title = _unescaped(tail, " proctitle=")
    if title is not None:
        stem, mark, file = title.rpartition(" file=")
        data["PROCTITLE"] = {"ARGV": [_unquoted(stem if mark and " " not in file else title)]}
    if "saddr" in call or "addr" in call:
        data["SOCKADDR"] = [{"SADDR": {**call, "saddr_fam": call.get("family", "")}}]
    return data


def _unescaped(tail: str, name: str) -> str | None:
    """Returns the unquoted value from the first member `name` to the last `redactors=`. The value
    is not escaped and may contain member names."""
    begin = tail.find(name)
    end = tail.rfind(_REDACTORS, begin + len(name)) if begin >= 0 else -1
    return _unquoted(tail[begin + len(name) : end]) if end >= 0 else None


def _unquoted(value: str) -> str:
    return value.removeprefix('"').removesuffix('"')


def _list(head: str, name: str) -> list[str]:
    """Parses a JSON list of texts; [] if there is none."""
    begin = head.find(f" {name}=[")
    end = head.find('"]', begin) if begin >= 0 else -1
    if end < 0:
        return []
    try:
        return msgspec.json.decode(head[begin + len(name) + 2 : end + 2].encode(), type=list[str])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return []


def _paths(head: str) -> list[dict[str, str]]:
    names, kinds = _list(head, "path_name"), _list(head, "path_nametype")
    return [
        {"item": str(item), "name": name, "nametype": kinds[item] if item < len(kinds) else ""}
        for item, name in enumerate(names)
    ]

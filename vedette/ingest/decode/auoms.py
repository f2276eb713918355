"""auoms, Azure's audit collector: one line an event in syslog, in Log Analytics' `Syslog` table.

    type=AUOMS_EXECVE audit(1652292621.990:84143): ... exe="/bin/bash" ... argc=3 cmdline="..."

Command lines stand between quotes without any escaping and near the end of the line, so the
fields before them are read first and they are cut out whole.
"""

import re
from typing import Any

import msgspec

from vedette.ingest.decode import shipper
from vedette.ingest.decode.auditd import parse_fields, parse_line, record_id_of
from vedette.ingest.record import Record, RecordError

_MARK = "type=AUOMS_"
_TAIL = re.compile(r" (?:proctitle=|argc=|cmdline=)")
_CMDLINE = re.compile(r'(?:^| )cmdline="?(.*?)"? redactors=', re.DOTALL)
_PROCTITLE = re.compile(r"(?:^| )proctitle=\"?(.*?)\"?(?: file=\S*)? redactors=", re.DOTALL)
_LIST = re.compile(r" (path_name|path_nametype|path_mode)=(\[[^\]]*\])")


def recognises(obj: dict[str, Any]) -> bool:
    return bool(shipper.text_of(obj, _MARK))


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, unknown_format."""
    text = shipper.text_of(obj, _MARK)
    line = parse_line(text)
    if line is None:
        raise RecordError("unknown_format", "an auoms line without its head")
    found = _TAIL.search(line.text)
    cut = found.start() if found else len(line.text)
    head, tail = line.text[:cut], line.text[cut:]
    call = parse_fields(head)
    host = call.pop("node", "").lower() or shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the auoms line does not say which host it is from")
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
    """The event in laurel's shape; `user` names who runs it, as laurel's `UID` does."""
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
    cmdline = _CMDLINE.search(tail)
    if cmdline:
        data["EXECVE"] = {"cmdline": cmdline[1]}
    title = _PROCTITLE.search(tail)
    if title:
        data["PROCTITLE"] = {"ARGV": [title[1]]}
    if "saddr" in call or "addr" in call:
        data["SOCKADDR"] = [{"SADDR": {**call, "saddr_fam": call.get("family", "")}}]
    return data


def _paths(head: str) -> list[dict[str, str]]:
    lists: dict[str, list[str]] = {}
    for name, text in _LIST.findall(head):
        try:
            lists[name] = msgspec.json.decode(text.encode(), type=list[str])
        except msgspec.DecodeError:
            lists[name] = []
    names = lists.get("path_name", [])
    kinds = lists.get("path_nametype", [])
    return [
        {"item": str(item), "name": name, "nametype": kinds[item] if item < len(kinds) else ""}
        for item, name in enumerate(names)
    ]

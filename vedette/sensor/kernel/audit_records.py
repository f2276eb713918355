"""Parses raw audit records. The records of an event share a serial number and end with EOE.

The hot path of the sensor: a program start yields six records. Irrelevant record types are skipped
by number; other records are kept unparsed until their event is complete.
"""

from __future__ import annotations

import re

from ..limits import AUDIT_PENDING_MAX
from .audit_calls import CWD, EXECVE, KERN_MODULE, MAKE, PATH, SOCKADDR, SYSCALL, Call, Record
from .observations import Observation
from .syscalls import NAMES

_EOE = 1320
_WANTED = frozenset({SYSCALL, PATH, SOCKADDR, CWD, EXECVE, KERN_MODULE, _EOE})
_TEXT_AT = 16 + len("audit(")
_CALL = re.compile(
    rb"arch=([0-9a-f]{1,16}) syscall=(\d{1,10})(?: per=\w{1,16})?"
    rb"(?: success=(\w{1,8}) exit=(-?\d{1,20}))?"
    rb" a0=([0-9a-f]{1,16}) a1=([0-9a-f]{1,16}) a2=([0-9a-f]{1,16}) a3=[0-9a-f]{1,16}"
    rb" items=\d{1,10} ppid=(\d{1,10}) pid=(\d{1,10}) auid=(\d{1,10}) uid=(\d{1,10})"
)
_MAY_FAIL = frozenset({"connect", "exit_group"})


class AuditParser:
    """Converts datagrams to observations. Not thread-safe."""

    def __init__(self) -> None:
        self._pending: dict[bytes, list[Record]] = {}
        self.dropped = 0
        """Number of events evicted before their last record."""

    def feed(self, data: bytes) -> list[Observation]:
        """Parses a datagram from the kernel: netlink header and record."""
        kind = int.from_bytes(data[4:6], "little")
        if kind not in _WANTED:
            return []
        end = data.find(b"): ", _TEXT_AT, _TEXT_AT + 64)
        if end < 0:
            return []
        key = data[_TEXT_AT:end]
        if kind != _EOE:
            records = self._pending.get(key)
            if records is None:
                records = self._pending[key] = []
                if len(self._pending) > AUDIT_PENDING_MAX:
                    self._drop_oldest()
            records.append((kind, data[end + 2 :].rstrip(b"\0\n")))
            return []
        records = self._pending.pop(key, None)
        return _event(key, records) if records else []

    def _drop_oldest(self) -> None:
        del self._pending[next(iter(self._pending))]
        self.dropped += 1


def _event(key: bytes, records: list[Record]) -> list[Observation]:
    kind, text = records[0]
    found = _CALL.match(text, 1) if kind == SYSCALL else None
    if found is None:
        return []
    name = NAMES.get(found[1], {}).get(int(found[2]), "")
    make = MAKE.get(name)
    if make is None or (found[3] != b"yes" and name not in _MAY_FAIL):
        return []
    seconds, _, rest = key.partition(b".")
    time_us = int(seconds) * 1_000_000 + int(rest.partition(b":")[0]) * 1_000
    call = Call(time_us, text, found, name)
    call.records = records
    return make(call)

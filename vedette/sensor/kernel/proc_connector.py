"""The kernel's proc connector: forks, execs and exits of every process, without arguments.

It reports what audit rules miss: processes outside an auditd's rules, forks without an exec, exits
by a signal. A message is `nlmsghdr, cn_msg, proc_event`. It is available only in the initial
network and user namespace; elsewhere, opening it raises OSError.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct

from . import procfs
from .boot import Boot
from .netlink import HEADER_BYTES, message, open_socket
from .observations import Ended, Executed, Forked, Observation

_NETLINK_CONNECTOR = 11
_INDEX, _VALUE = 1, 1
_DONE = 3
_CN = struct.Struct("=IIIIHH")
_LISTEN = 1
_FORK, _EXEC, _EXIT = 0x1, 0x2, 0x80000000
_EVENT = struct.Struct("=IIQ")  # event type, cpu, monotonic nanoseconds
_EVENT_AT = HEADER_BYTES + 20
_DATA_AT = _EVENT_AT + 16
_FOUR = struct.Struct("=iiii")


class ProcConnector:
    """An open connector. `with_execs` is set if audit does not report program starts."""

    def __init__(self, boot: Boot, suspended_ns: int, *, with_execs: bool) -> None:
        self._boot = boot
        self._suspended_ns = suspended_ns
        self._began_ns = boot.began_us * 1_000 + suspended_ns
        self.socket: socket.socket = open_socket(_NETLINK_CONNECTOR, groups=_INDEX)
        wanted = _FORK | _EXIT | (_EXEC if with_execs else 0)
        try:
            self._listen(struct.pack("=II", _LISTEN, wanted))  # the kernel filters since Linux 6.6
        except OSError:
            self._listen(struct.pack("=I", _LISTEN))
        self._wanted = wanted

    def _listen(self, order: bytes) -> None:
        body = _CN.pack(_INDEX, _VALUE, 0, 0, len(order), 0) + order
        self.socket.send(message(_DONE, 0, os.getpid(), body))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def feed(self, data: bytes) -> list[Observation]:
        """Parses a datagram. Ignores threads."""
        if len(data) < _DATA_AT + 16:
            return []
        what, _, at_ns = _EVENT.unpack_from(data, _EVENT_AT)
        if not what & self._wanted:
            return []
        time_us = (self._began_ns + at_ns) // 1_000
        if what == _FORK:
            _, parent, child, process = _FOUR.unpack_from(data, _DATA_AT)
            if child != process:
                return []
            return [Forked(time_us, parent, child, self._start_us(at_ns))]
        if what == _EXIT:
            return self._ended(time_us, data)
        _, process, _, _ = _FOUR.unpack_from(data, _DATA_AT)
        return self._executed(time_us, process)

    def _start_us(self, at_ns: int) -> int:
        return self._boot.of_monotonic_us(at_ns, self._suspended_ns)

    @staticmethod
    def _ended(time_us: int, data: bytes) -> list[Observation]:
        thread, process, status = struct.unpack_from("=iiI", data, _DATA_AT)
        if thread != process:
            return []
        signal = status & 0x7F
        return [Ended(time_us, process, 128 + signal if signal else (status >> 8) & 0xFF)]

    @staticmethod
    def _executed(time_us: int, pid: int) -> list[Observation]:
        found = procfs.find(pid)
        if found is None:  # already ended; the fork and the exit are still reported
            return []
        return [
            Executed(
                time_us,
                pid,
                found.ppid,
                found.path,
                found.cmdline,
                found.cwd,
                found.uid,
                found.loginuid,
                found.sid,
                is_exact=False,
            )
        ]

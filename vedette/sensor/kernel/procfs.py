"""Process information from /proc. A process may end between any two reads."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..limits import TEXT_CHARS_MAX

_STAT_STARTTIME = 19  # fields after the name in brackets: state is 0
_STAT_PPID, _STAT_SESSION = 1, 3
_UNSET = 0xFFFFFFFF


@dataclass(frozen=True)
class ProcessInfo:
    """A process in /proc. `start_ticks` counts from boot."""

    pid: int
    ppid: int
    sid: int
    start_ticks: int
    path: str
    cmdline: str
    cwd: str
    uid: int
    loginuid: int


def pids() -> list[int]:
    """Returns all pids, ascending."""
    return sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())


def start_ticks(pid: int) -> int | None:
    """Returns field 22 of stat; None if there is no such process."""
    fields = _stat(pid)
    return int(fields[_STAT_STARTTIME]) if fields else None


def find(pid: int) -> ProcessInfo | None:
    """Returns all fields of a running process; None if it ended or its pid was reused meanwhile.

    Kernel threads have no program; their path is their name in brackets.
    """
    fields = _stat(pid)
    if not fields:
        return None
    path = _link(f"/proc/{pid}/exe")
    cmdline = _cmdline(pid)
    uid = _uid(pid)
    if uid is None or start_ticks(pid) != int(fields[_STAT_STARTTIME]):
        return None
    return ProcessInfo(
        pid,
        int(fields[_STAT_PPID]),
        int(fields[_STAT_SESSION]),
        int(fields[_STAT_STARTTIME]),
        path or f"[{_read(f'/proc/{pid}/comm').decode(errors='replace').strip()}]",
        cmdline,
        _link(f"/proc/{pid}/cwd"),
        uid,
        _loginuid(pid),
    )


def _stat(pid: int) -> list[bytes]:
    text = _read(f"/proc/{pid}/stat")
    return text[text.rfind(b")") + 2 :].split() if text else []


def _cmdline(pid: int) -> str:
    raw = _read(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    return raw.decode(errors="replace")[:TEXT_CHARS_MAX]


def _uid(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _loginuid(pid: int) -> int:
    text = _read(f"/proc/{pid}/loginuid")
    number = int(text) if text.strip().isdigit() else _UNSET
    return -1 if number == _UNSET else number


def _read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 4 * TEXT_CHARS_MAX)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _link(path: str) -> str:
    try:
        return os.readlink(path).removesuffix(" (deleted)")
    except OSError:
        return ""

"""Converts audited system calls to observations, with a function for each kind of call.

`MAKE` is the dispatch table. Relative paths are resolved against the working directory of the
process, as the kernel does. Paths below /proc, /sys and /dev are ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from .audit_text import address, arguments, joined, member, value
from .observations import (
    Accessed,
    Connected,
    Ended,
    Executed,
    FileChanged,
    Loaded,
    Observation,
)

SYSCALL, PATH, SOCKADDR, CWD, EXECVE, KERN_MODULE = 1300, 1302, 1306, 1307, 1309, 1330
_AT_FDCWD = "ffffff9c"  # AT_FDCWD, as the low half of a register
_WRITE_FLAGS, _CREATE_FLAG = 0x3, 0x40
_UNSET = 0xFFFFFFFF
_PTRACE_OPENS = frozenset({4, 5, 16, 0x4206})
_REGULAR = b"0100"

Record = tuple[int, bytes]


class Call:
    """A system call with the records of its audit event."""

    __slots__ = ("a0", "a1", "a2", "exit", "name", "pid", "ppid", "records", "text", "time_us")

    def __init__(self, time_us: int, text: bytes, found: re.Match[bytes], name: str) -> None:
        fields = found.groups()
        self.time_us, self.text, self.name = time_us, text, name
        self.exit = int(fields[3] or 0)
        self.a0, self.a1, self.a2 = fields[4], fields[5], fields[6]
        self.ppid, self.pid = int(fields[7]), int(fields[8])
        self.records: list[Record] = []

    def argument(self, raw: bytes) -> int:
        return int(raw, 16)

    def member(self, name: bytes) -> bytes:
        return member(self.text, name)

    @property
    def exe(self) -> str:
        return value(self.member(b" exe="))

    @property
    def uid(self) -> int:
        return int(self.member(b" uid=") or -1)

    def first(self, kind: int) -> bytes:
        for found, text in self.records:
            if found == kind:
                return text
        return b""

    @property
    def cwd(self) -> str:
        return value(member(self.first(CWD), b"cwd="))

    def paths(self) -> list[bytes]:
        return [text for kind, text in self.records if kind == PATH]


def _executed(call: Call) -> list[Observation]:
    loginuid = int(call.member(b" auid=") or _UNSET)
    session = int(call.member(b" ses=") or _UNSET)
    texts = [text for kind, text in call.records if kind == EXECVE]
    cmdline = arguments(texts) if texts else ""
    return [
        Executed(
            call.time_us,
            call.pid,
            call.ppid,
            call.exe,
            cmdline,
            call.cwd,
            call.uid,
            -1 if loginuid == _UNSET else loginuid,
            -1 if session == _UNSET else session,
        )
    ]


def _ended(call: Call) -> list[Observation]:
    return [Ended(call.time_us, call.pid, call.argument(call.a0) & 0xFF)]


def _is_file(path: bytes) -> bool:
    return member(path, b" mode=").startswith(_REGULAR) or b" mode=" not in path


def _full(call: Call, path: bytes, folder: bytes) -> str:
    """Returns the absolute path. `folder` is the register with the directory descriptor, empty if
    none."""
    name = value(member(path, b" name="))
    if name.startswith("/"):
        return joined("/", name)
    if folder and not folder.decode().endswith(_AT_FDCWD):
        try:  # falls back to the working directory if the process ended
            number = int(folder, 16) & 0xFFFFFFFF
            return joined(os.readlink(f"/proc/{call.pid}/fd/{number}"), name)
        except OSError:
            pass
    return joined(call.cwd, name)


def _folder(call: Call) -> bytes:
    return call.a0 if "at" in call.name else b""


def _opened(call: Call) -> list[Observation]:
    flags = {"open": call.a1, "openat": call.a2}.get(call.name, b"0")
    writes = call.argument(flags) & (_WRITE_FLAGS | _CREATE_FLAG) or call.name == "creat"
    for path in call.paths():
        kind = member(path, b" nametype=")
        if kind == b"CREATE" or (kind == b"NORMAL" and writes):
            if not _is_file(path):
                return []
            action = "create" if kind == b"CREATE" else "write"
            return _changed(call, action, _full(call, path, _folder(call)))
    return []


def _changed(call: Call, action: str, path: str, to: str = "") -> list[Observation]:
    if path.startswith(("/proc/", "/sys/", "/dev/")):
        return []
    return [FileChanged(call.time_us, call.pid, action, path, to, call.exe, call.uid)]


def _truncated(call: Call) -> list[Observation]:
    paths = [path for path in call.paths() if member(path, b" nametype=") == b"NORMAL"]
    return _changed(call, "write", _full(call, paths[0], b"")) if paths else []


def _deleted(call: Call) -> list[Observation]:
    for path in call.paths():
        if member(path, b" nametype=") == b"DELETE" and not _is_folder(path):
            return _changed(call, "delete", _full(call, path, _folder(call)))
    return []


def _is_folder(path: bytes) -> bool:
    return member(path, b" mode=").startswith(b"04")


def _renamed(call: Call) -> list[Observation]:
    paths = call.paths()
    old = [path for path in paths if member(path, b" nametype=") == b"DELETE"]
    new = [path for path in paths if member(path, b" nametype=") == b"CREATE"]
    if not old or not new or _is_folder(old[0]):
        return []
    plain = call.name == "rename"
    source = _full(call, old[0], b"" if plain else call.a0)
    target = _full(call, new[0], b"" if plain else call.a2)
    return _changed(call, "rename", source, target)


def _linked(call: Call) -> list[Observation]:
    new = [path for path in call.paths() if member(path, b" nametype=") == b"CREATE"]
    folder = {"linkat": call.a2, "symlinkat": call.a1}.get(call.name, b"")
    return _changed(call, "create", _full(call, new[0], folder)) if new else []


def _connected(call: Call) -> list[Observation]:
    found = address(member(call.first(SOCKADDR), b"saddr="))
    if found is None or not found[1]:
        return []  # another family, or the resolver looking for a source address
    number = call.argument(call.a0) & 0xFFFFFFFF
    inbound = call.name != "connect"
    if inbound and call.exit < 0:
        return []
    return [
        Connected(
            call.time_us,
            call.pid,
            not inbound,
            *found,
            0 if inbound else call.exit,
            call.exe,
            call.uid,
            socket_inode=_socket_inode(call.pid, call.exit if inbound else number),
        )
    ]


def _socket_inode(pid: int, number: int) -> int:
    try:
        target = os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return 0
    return int(target[8:-1]) if target.startswith("socket:[") else 0


def _traced(call: Call) -> list[Observation]:
    if call.argument(call.a0) not in _PTRACE_OPENS or call.exit:
        return []
    target = call.argument(call.a1)
    return [Accessed(call.time_us, call.pid, "ptrace", target, call.exe, call.uid)]


def _written_into(call: Call) -> list[Observation]:
    target = call.argument(call.a0)
    return [Accessed(call.time_us, call.pid, "ptrace", target, call.exe, call.uid)]


def _module(call: Call) -> list[Observation]:
    name = value(member(call.first(KERN_MODULE), b"name="))
    paths = [value(member(path, b" name=")) for path in call.paths()]
    path = next((joined(call.cwd, text) for text in paths if text), name)
    return [Loaded(call.time_us, call.pid, path, call.exe, call.uid)] if path else []


MAKE: dict[str, Callable[[Call], list[Observation]]] = {
    "execve": _executed,
    "execveat": _executed,
    "exit_group": _ended,
    "open": _opened,
    "openat": _opened,
    "openat2": _opened,
    "creat": _opened,
    "truncate": _truncated,
    "unlink": _deleted,
    "unlinkat": _deleted,
    "rename": _renamed,
    "renameat": _renamed,
    "renameat2": _renamed,
    "link": _linked,
    "linkat": _linked,
    "symlink": _linked,
    "symlinkat": _linked,
    "connect": _connected,
    "accept": _connected,
    "accept4": _connected,
    "ptrace": _traced,
    "process_vm_writev": _written_into,
    "init_module": _module,
    "finit_module": _module,
}
"""Converters by the name of the system call."""

"""The kernel's audit system: as its daemon with rules of our own, or listening beside one.

Where an auditd runs, it keeps its pid, its rules and its log: we listen to the multicast group
and add nothing, because every rule of ours would fill its log too. Alone, we become the daemon
with own rules (`audit_rules`). What was there before is written to a file first, so that it is
given back at stop, and at the next start after a crash.

Surprises: the kernel answers `replace` to a second daemon with our pid's consent only; we then
step down (see `program`). A stopped daemon leaves its rules and the enabled flag behind.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from ..host.durable_files import write_durably
from ..limits import AUDIT_BACKLOG, AUDIT_BACKLOG_WAIT
from . import audit_rules
from .netlink import ACK, DUMP, NetlinkError, open_socket, request

NETLINK_AUDIT = 9
GROUP_READLOG = 1
REPLACE = 1329
_GET, _SET, _ADD_RULE, _DELETE_RULE, _LIST_RULES = 1000, 1001, 1011, 1012, 1013
_STATUS = struct.Struct("=10I")
_ENABLED, _PID, _BACKLOG, _BACKLOG_WAIT = 0x1, 0x4, 0x10, 0x20
LOCKED = 2


class Status(dict[str, int]):
    """What the kernel says of its audit system: enabled, pid, backlog_limit, lost, ..."""


_MEMBERS = (
    "mask", "enabled", "failure", "pid", "rate_limit", "backlog_limit", "lost", "backlog",
    "features", "backlog_wait_time",
)  # fmt: skip


class AuditControl:
    """Questions and orders to the kernel, on a socket of their own."""

    def __init__(self) -> None:
        """OSError where there is no audit system or no privilege."""
        self._socket = open_socket(NETLINK_AUDIT)
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def _ask(self, kind: int, body: bytes = b"", flags: int = ACK) -> list[bytes]:
        self._sequence += 1
        return request(self._socket, kind, flags, self._sequence, body)

    def status(self) -> Status:
        body = self._ask(_GET, flags=0)[0].ljust(_STATUS.size, b"\0")
        values = _STATUS.unpack_from(body)
        return Status((name, values[at]) for at, name in enumerate(_MEMBERS))

    def set(self, mask: int, **values: int) -> None:
        members = {**dict.fromkeys(_MEMBERS, 0), **values, "mask": mask}
        self._ask(_SET, _STATUS.pack(*(members[name] for name in _MEMBERS)))

    def rules(self) -> list[bytes]:
        return self._ask(_LIST_RULES, flags=DUMP)

    def add(self, rule: bytes) -> bool:
        """False when the kernel does not know a condition of the rule."""
        try:
            self._ask(_ADD_RULE, rule)
        except NetlinkError as error:
            if error.errno not in {errno.EINVAL, errno.EEXIST, errno.ENOENT}:
                raise
            return error.errno == errno.EEXIST
        return True

    def delete(self, rule: bytes) -> None:
        with contextlib.suppress(NetlinkError):  # gone already
            self._ask(_DELETE_RULE, rule)


class AuditSession:
    """The audit system as we use it, from `begin` to `end`."""

    def __init__(self, state: Path) -> None:
        """`state`: the file that remembers what was there before."""
        self._state = state
        self.is_daemon = False
        self.refused_rules = 0
        self.refusal = ""
        """Why the audit system could not be taken over, though nobody had it."""
        self._control = AuditControl()

    def status(self) -> Status:
        return self._control.status()

    def begin(self, rules: Iterable[bytes], *, may_own: bool) -> socket.socket:
        """A socket from which the records can be read. OSError without the privilege.

        Who may read but not change, as in a container, listens.
        """
        restore(self._state, self._control)
        before = self._control.status()
        if may_own and not before["pid"] and before["enabled"] != LOCKED:
            try:
                return self._become_daemon(before, list(rules))
            except OSError as error:
                self.refusal = str(error)
        return open_socket(NETLINK_AUDIT, groups=GROUP_READLOG)

    def _become_daemon(self, before: Status, rules: list[bytes]) -> socket.socket:
        saved = {"boot": boot_id(), "before": before, "rules": [rule.hex() for rule in rules]}
        write_durably(self._state, json.dumps(saved).encode())
        records = open_socket(NETLINK_AUDIT)
        try:
            self.is_daemon = True
            self._control.set(_BACKLOG, backlog_limit=AUDIT_BACKLOG)
            self._control.set(_BACKLOG_WAIT, backlog_wait_time=AUDIT_BACKLOG_WAIT)
            _register(records)
            self.refused_rules = sum(not self._control.add(rule) for rule in rules)
            self._control.set(_ENABLED, enabled=1)
        except OSError:
            records.close()
            self.end()
            raise
        return records

    def add(self, rules: list[bytes]) -> None:
        """More rules; they carry our key, so a crash does not leave them behind."""
        self.refused_rules += sum(not self._control.add(rule) for rule in rules)

    def end(self) -> None:
        """Gives back what was changed; may be called twice."""
        with contextlib.suppress(OSError):  # what is left, the next start gives back
            restore(self._state, self._control)
        if self.is_daemon:
            self.is_daemon = False
            with contextlib.suppress(OSError):
                self._control.set(_PID, pid=0)

    def close(self) -> None:
        self.end()
        self._control.close()


def _register(records: socket.socket) -> None:
    """The daemon is whoever owns the socket that says so."""
    members = {**dict.fromkeys(_MEMBERS, 0), "pid": os.getpid(), "mask": _PID}
    request(records, _SET, ACK, 1, _STATUS.pack(*(members[name] for name in _MEMBERS)))


def restore(state: Path, control: AuditControl) -> bool:
    """Undo what a session that did not end changed; True when there was one.

    Values are given back only where they are still ours: an operator who changed them since
    keeps what they chose. Audit is switched off before the rules go, so that their going is
    not itself recorded. OSError when the kernel does not answer: the file stays, to try again.
    """
    try:
        saved = json.loads(state.read_bytes())
        rules, before = [bytes.fromhex(rule) for rule in saved["rules"]], saved["before"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if saved.get("boot") == boot_id():
        _restore_values(control, before)
        for rule in rules:
            control.delete(rule)
        for rule in control.rules():
            if audit_rules.is_ours(rule):
                control.delete(rule)
    state.unlink(missing_ok=True)
    return True


def _restore_values(control: AuditControl, before: dict[str, int]) -> None:
    now = control.status()
    if now["enabled"] == 1 and before["enabled"] == 0:
        control.set(_ENABLED, enabled=0)
    if now["backlog_limit"] == AUDIT_BACKLOG:
        control.set(_BACKLOG, backlog_limit=before["backlog_limit"])
    if now["backlog_wait_time"] == AUDIT_BACKLOG_WAIT:
        control.set(_BACKLOG_WAIT, backlog_wait_time=before["backlog_wait_time"])


def boot_id() -> str:
    """The kernel's name for this run of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

"""The kernel's audit system: as its daemon with the sensor's rules, or as a listener.

If an auditd runs, it keeps its pid, rules and log. The sensor then listens to the multicast group
and adds no rules, because each rule would also fill the auditd's log. Otherwise the sensor becomes
the daemon with its own rules (`audit_rules`). The previous state is first saved to a file, and
restored at stop, or at the next start after a crash.

Surprises: a second daemon can register only if this process permits it (record type `replace`); the
sensor then steps down (see `sources`). A stopped daemon leaves its rules and the enabled flag
behind.
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

from ..durable_files import write_durably
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
    """Status of the kernel's audit system: enabled, pid, backlog_limit, lost, ..."""


_MEMBERS = (
    "mask",
    "enabled",
    "failure",
    "pid",
    "rate_limit",
    "backlog_limit",
    "lost",
    "backlog",
    "features",
    "backlog_wait_time",
)


class AuditControl:
    """Requests to the kernel over a socket of their own."""

    def __init__(self) -> None:
        """Raises OSError without an audit system or without the privilege."""
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
        """Adds a rule. Returns False if the kernel does not support a field of the rule."""
        try:
            self._ask(_ADD_RULE, rule)
        except NetlinkError as error:
            if error.errno not in {errno.EINVAL, errno.EEXIST, errno.ENOENT}:
                raise
            return error.errno == errno.EEXIST
        return True

    def delete(self, rule: bytes) -> None:
        with contextlib.suppress(NetlinkError):  # already deleted
            self._ask(_DELETE_RULE, rule)


class AuditSession:
    """Use of the audit system from `begin` to `end`."""

    def __init__(self, state: Path) -> None:
        """`state` is the file for the previous state of the audit system."""
        self._state = state
        self.is_daemon = False
        self.refused_rules = 0
        self.refusal = ""
        """Why this process could not become the audit daemon although there was none."""
        self._control = AuditControl()

    def status(self) -> Status:
        return self._control.status()

    def begin(self, rules: Iterable[bytes], *, may_own: bool) -> socket.socket:
        """Returns a socket that receives the records. Raises OSError without the privilege.

        With the privilege to read but not to change, as in a container, it listens.
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
        """Adds rules. They carry the sensor's key, so `restore` finds them after a crash."""
        self.refused_rules += sum(not self._control.add(rule) for rule in rules)

    def end(self) -> None:
        """Restores the previous state. May be called twice."""
        with contextlib.suppress(OSError):  # the next start restores the rest
            restore(self._state, self._control)
        if self.is_daemon:
            self.is_daemon = False
            with contextlib.suppress(OSError):
                self._control.set(_PID, pid=0)

    def close(self) -> None:
        self.end()
        self._control.close()


def _register(records: socket.socket) -> None:
    """Makes the owner of this socket the audit daemon."""
    members = {**dict.fromkeys(_MEMBERS, 0), "pid": os.getpid(), "mask": _PID}
    request(records, _SET, ACK, 1, _STATUS.pack(*(members[name] for name in _MEMBERS)))


def restore(state: Path, control: AuditControl) -> bool:
    """Undoes the changes of a session that did not end. Returns whether there was such a session.

    Restores only values that the sensor set: later changes by an operator remain. Disables audit
    before it deletes the rules, so that their deletion is not recorded. Raises OSError if the
    kernel does not answer; the file then remains for another attempt.
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
    """Returns the kernel's random id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

"""Event format 1: one JSON object per line (docs/sensor-events.md)."""

from __future__ import annotations

import json
import pwd
import time
from typing import Any

from .. import EVENT_FORMAT
from ..kernel.observations import Accessed, Blocked, Connected, FileChanged, Loaded
from ..limits import USER_NAMES_CACHED_S
from .hashes import Hashed
from .process_table import Process

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
Event = dict[str, Any]


class Users:
    """User names by uid, reloaded once a minute."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._until = 0.0

    def name(self, uid: int) -> str:
        if time.monotonic() > self._until:
            self._names.clear()
            self._until = time.monotonic() + USER_NAMES_CACHED_S
        if uid not in self._names:
            try:
                self._names[uid] = pwd.getpwuid(uid).pw_name if uid >= 0 else ""
            except KeyError:
                self._names[uid] = str(uid)
        return self._names[uid]


class EventWriter:
    """Encodes events. `seq` increases by one with each event and starts at the current time, so
    that it also increases across restarts."""

    def __init__(self, boot_id: str, now_us: int) -> None:
        self._boot_id = boot_id
        self._seq = now_us
        self.users = Users()

    def line(self, kind: str, time_us: int, process: Process, members: Event) -> bytes:
        self._seq += 1
        event = {
            "vedette_event": EVENT_FORMAT,
            "type": kind,
            "time_us": time_us,
            "seq": self._seq,
            "boot": self._boot_id,
            "proc": {"pid": process.pid, "start_us": process.start_us},
            **members,
        }
        return _encode(event).encode("utf-8", "replace") + b"\n"

    def start(self, process: Process, hashed: Hashed | None, *, implicit: bool) -> Event:
        """Returns the members of `start` and `exec`."""
        members: Event = {
            "path": process.path,
            "cmdline": process.cmdline,
            "cwd": process.cwd,
            "uid": process.uid,
            "user": self.users.name(process.uid),
            "ppid": process.ppid,
            "parent_start_us": process.parent_start_us,
            "parent_path": process.parent_path,
            "sid": process.sid,
            "loginuid": process.loginuid,
            "implicit": implicit,
        }
        if hashed is not None:
            members.update(
                md5=hashed.md5, sha256=hashed.sha256, size=hashed.size, inode=hashed.inode
            )
        return members

    def block(self, observed: Blocked, process: Process) -> Event:
        return {
            "path": observed.path,
            "md5": observed.md5,
            "sha256": observed.sha256,
            "cmdline": process.cmdline,
            "ppid": process.ppid,
            "parent_start_us": process.parent_start_us,
            "user": self.users.name(process.uid),
        }


def file(observed: FileChanged) -> Event:
    members: Event = {"action": observed.action, "path": observed.path}
    if observed.to:
        members["to"] = observed.to
    if observed.md5:
        members.update(md5=observed.md5, sha256=observed.sha256)
    if observed.file_type:
        members["file_type"] = observed.file_type
    return members


def connection(observed: Connected, *, blocked: bool) -> Event:
    members: Event = {
        "direction": "out" if observed.is_outbound else "in",
        "proto": observed.protocol,
        "local_ip": observed.local_ip,
        "local_port": observed.local_port,
        "remote_ip": observed.remote_ip,
        "remote_port": observed.remote_port,
    }
    if blocked:
        members["blocked"] = True
    return members


def access(observed: Accessed, target: Process) -> Event:
    about = {"pid": target.pid, "start_us": target.start_us, "path": target.path}
    return {"action": observed.action, "target": about}


def image(observed: Loaded, hashed: Hashed | None) -> Event:
    members: Event = {"path": observed.path}
    if hashed is not None:
        members.update(md5=hashed.md5, sha256=hashed.sha256)
    return members

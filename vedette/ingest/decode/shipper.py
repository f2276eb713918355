"""Envelope of log shippers: host, text and time around a log line.

Formats whose lines do not name their host (audit.log, Santa, Endpoint Security) take it from the
shipper, which runs on that host.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.times import any_time_us

HOST_MEMBERS: tuple[tuple[str, ...], ...] = (
    ("host", "hostname"),
    ("host", "name"),
    ("hostname",),
    ("Hostname",),
    ("HostName",),
    ("HOSTNAME",),
    ("_HOSTNAME",),
    ("Computer",),
    ("host",),
    ("agent", "hostname"),
    ("agent", "name"),
    ("beat", "hostname"),
    ("node_name",),
    ("fqdn",),
)
"""Paths of members that name the host, most specific first."""

TEXT_MEMBERS: tuple[str, ...] = (
    "message",
    "MESSAGE",
    "SyslogMessage",
    "msg",
    "log",
    "line",
    "raw",
    "_raw",
)
"""Members that contain the original log line."""

TIME_MEMBERS: tuple[str, ...] = ("@timestamp", "timestamp", "time", "TimeGenerated", "date")


def member(obj: Any, path: tuple[str, ...]) -> Any:
    """Returns the value at a path of members; None if any is missing."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def host_of(obj: dict[str, Any]) -> str:
    """Returns the host in lower case; "" if no member names it."""
    for path in HOST_MEMBERS:
        value = member(obj, path)
        if isinstance(value, str) and value.strip() not in {"", "-", "localhost"}:
            return lower_host(value)
    return ""


def text_of(obj: dict[str, Any], matches: Callable[[str], bool]) -> str:
    """Returns the first text member that `matches`; "" if none."""
    for name in TEXT_MEMBERS:
        value = obj.get(name)
        if isinstance(value, str) and matches(value):
            return value
    original = member(obj, ("event", "original"))
    return original if isinstance(original, str) and matches(original) else ""


def inner_of(obj: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Returns the JSON object that a shipper carries as text, completed with the shipper's host and
    time, and its text; None if there is none."""
    for name in TEXT_MEMBERS:
        value = obj.get(name)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            inner = _object_of(value)
            if inner is not None:
                around = {path[0] for path in HOST_MEMBERS} | set(TIME_MEMBERS)
                return {key: obj[key] for key in around if key in obj} | inner, value
    return None


def _object_of(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def time_of(obj: dict[str, Any]) -> int:
    """Returns the shipper's time (epoch microseconds); 0 if none."""
    for name in TIME_MEMBERS:
        moment_us = any_time_us(obj.get(name))
        if moment_us:
            return moment_us
    return 0

"""What a pasted value is, and what is known of it: hosts, since when, alerts, ban, feeds.

The value is recognised by its form alone. Several forms can be meant: 32 hexadecimal digits are an
MD5 or the id of an alert. What is counted is what the caller's scope holds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Any, Final, Literal

from vedette.limits import LOOKUP_HOSTS_SHOWN
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.processes.process_search import SearchSettings, search_processes
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.client import Engine

Kind = Literal["md5", "sha256", "ip", "network", "domain", "path", "process", "name"]

_FIELDS: Final = {
    "md5": "md5",
    "sha256": "sha256",
    "ja3": "ja3",
    "ja3s": "ja3s",
    "dns": "domain",
    "ipv4": "ipaddr",
    "ipv6": "ipv6addr",
}
"""The process field of an indicator's value, by its type. Queries are no values."""

_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DOMAIN: Final = re.compile(r"(?=.{4,253}$)(?:[\w*-]{1,63}\.)+[a-zA-Z][\w-]{1,62}", re.ASCII)
_DEFANGED: Final = (("[.]", "."), ("(.)", "."), ("[:]", ":"), ("hxxp", "http"))
_FILE_ENDINGS: Final = frozenset(
    (
        *("exe", "dll", "sys", "ps1", "bat", "cmd", "vbs", "js", "doc", "docm", "docx", "xlsm"),
        *("lnk", "py", "sh", "so", "msi", "scr", "hta", "jar", "tmp", "dat", "txt", "log", "zip"),
        "iso",
    )
)
"""Last labels of names that are files more often than domains."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a value is by its form."""

    kind: Kind
    value: str
    """Without spaces and defanging; hashes in lower case."""
    query: str
    """The query over processes that finds it; "" where nothing can be searched."""
    alert_query: str
    """The query over alerts that finds it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What telemetry and alerts of a scope hold of a value. Times are epoch microseconds, 0 for
    none."""

    processes: int = 0
    hosts: Sequence[tuple[str, int]] = ()
    """Host and its processes, most first, at most `LOOKUP_HOSTS_SHOWN`."""
    host_count: int = 0
    first_us: int = 0
    last_us: int = 0
    alerts: int = 0
    open_alerts: int = 0
    feeds: Sequence[tuple[str, int]] = ()
    """Feeds whose alerts name it."""
    newest: dict[str, Any] | None = field(default=None)
    """The newest process."""
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Prevalence:
    """How common the value of an indicator is within a scope."""

    hosts: int
    """Whose processes had it."""
    processes: int
    first_us: int
    """Start of the first of them; 0 for none."""
    query: str
    """That finds them."""
    is_incomplete: bool


def recognise(text: str) -> Recognised:
    """What a pasted text is."""
    value = text.strip().strip("\"'").strip()
    for written, meant in _DEFANGED:
        value = value.replace(written, meant)
    value = re.sub(r"^https?://([^/:?#]+).*$", r"\1", value)
    for look in (_hash, _guid, _address, _place):
        found = look(value)
        if found is not None:
            return found
    return Recognised("name", value, _quoted(value), _quoted(value))


def look_up(
    engine: Engine, scope: Scope, value: Recognised, settings: SearchSettings, now_us: int
) -> Known:
    """What is known of a value within a scope."""
    parts = (("q", value.query),)
    newest = search_processes(
        engine,
        scope,
        SearchRequest(parts, 1, 0, (Sort("start", is_descending=True),), facets=("hostname",)),
        settings,
        now_us,
    )
    oldest = search_processes(
        engine,
        scope,
        SearchRequest(parts, 1, 0, (Sort("start", is_descending=False),)),
        settings,
        now_us,
    )
    hosts = [(str(name), count) for name, count in newest.facets.get("hostname", ())]
    known_alerts = alert_search.search(
        engine,
        scope,
        SearchRequest(
            (("q", value.alert_query),),
            0,
            0,
            (Sort("created_time", is_descending=True),),
            facets=("status", "feed_name"),
        ),
        settings,
        now_us,
    )
    statuses = dict(known_alerts.facets.get("status", ()))
    return Known(
        processes=newest.total,
        hosts=hosts[:LOOKUP_HOSTS_SHOWN],
        host_count=len(hosts),
        first_us=oldest.rows[0]["start"] if oldest.rows else 0,
        last_us=newest.rows[0]["last_update"] if newest.rows else 0,
        alerts=known_alerts.total,
        open_alerts=sum(statuses.get(name, 0) for name in ("Unresolved", "In Progress")),
        feeds=[(name, count) for name, count in known_alerts.facets.get("feed_name", ()) if name],
        newest=dict(newest.rows[0]) if newest.rows else None,
        is_incomplete=newest.is_incomplete or known_alerts.is_incomplete,
    )


def prevalence(
    engine: Engine, scope: Scope, ioc_type: str, value: str, settings: SearchSettings, now_us: int
) -> Prevalence | None:
    """On how many hosts of a scope the value of an indicator was seen, exactly; None where it is
    not a value that processes have."""
    if not value or ioc_type not in _FIELDS:
        return None
    query = f"{_FIELDS[ioc_type]}:{_quoted(value)}"
    oldest = (Sort("start", is_descending=False),)
    asked = SearchRequest((("q", query),), 1, 0, oldest)
    found = search_processes(engine, scope, asked, settings, now_us)
    by_host = replace(asked, rows=0, group="sensor_id")
    hosts = search_processes(engine, scope, by_host, settings, now_us) if found.total else found
    return Prevalence(
        hosts=hosts.total,
        processes=found.total,
        first_us=found.rows[0]["start"] if found.rows else 0,
        query=query,
        is_incomplete=found.is_incomplete or hosts.is_incomplete,
    )


def _hash(value: str) -> Recognised | None:
    if not _HEX.fullmatch(value):
        return None
    digest = value.lower()
    if len(digest) == 32:
        return Recognised("md5", digest, f"md5:{digest}", f"md5:{digest} OR ioc_value:{digest}")
    if len(digest) == 64:
        return Recognised(
            "sha256", digest, f"sha256:{digest}", f"sha256:{digest} OR ioc_value:{digest}"
        )
    return None


def _guid(value: str) -> Recognised | None:
    process = value[:36]
    if not _GUID.fullmatch(process) or value[36:].strip("0123456789abcdefABCDEF-"):
        return None
    # The ids of rules have the same form; the caller sees whether it is one.
    query = f"process_id:{process.lower()}"
    return Recognised("process", value.lower(), query, query)


def _address(value: str) -> Recognised | None:
    bare = value.strip("[]")
    try:
        address = ip_address(bare)
    except ValueError:
        pass
    else:
        name = "ipaddr" if address.version == 4 else "ipv6addr"
        known = _quoted(str(address))
        return Recognised("ip", str(address), f"{name}:{known}", f"ioc_value:{known}")
    try:
        network = ip_network(bare, strict=False)
    except ValueError:
        return None
    name = "ipaddr" if network.version == 4 else "ipv6addr"
    text = _quoted(str(network))
    return Recognised("network", str(network), f"{name}:{text}", f"ioc_value:{text}")


def _place(value: str) -> Recognised | None:
    if "\\" in value or value.startswith("/"):
        quoted = _quoted(value)
        query = f"path:{quoted} OR filemod:{quoted} OR modload:{quoted}"
        return Recognised("path", value, query, f"process_path:{quoted}")
    if _DOMAIN.fullmatch(value) and value.rpartition(".")[2].lower() not in _FILE_ENDINGS:
        quoted = _quoted(value.lower())
        query = f"domain:{quoted} OR hostname:{quoted}"
        return Recognised(
            "domain", value.lower(), query, f"ioc_value:{quoted} OR hostname:{quoted}"
        )
    return None


def _quoted(value: str) -> str:
    """A value as a quoted phrase: backslashes of paths stay single, quotes would end it."""
    return '"' + value.replace('"', " ") + '"'

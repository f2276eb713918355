"""Looks up a pasted value: the types it can have, and the processes, hosts and alerts that have it.

The form of a value decides its types, and several types can fit: `j.ostrow` is a domain, a host or
a user; 32 hexadecimal digits are an MD5 or a JA3 fingerprint. Each type is looked up. Counts cover
the caller's scope and all times, so a search with the same query has the same number of results.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Any, Final, Literal

from vedette.limits import LOOKUP_HOSTS_SHOWN
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.processes.process_search import SearchResults, SearchSettings, search_processes
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.client import Engine

Kind = Literal[
    "md5",
    "sha256",
    "ja3",
    "ja3s",
    "ip",
    "network",
    "domain",
    "host",
    "user",
    "path",
    "process",
    "name",
]

_FIELDS: Final = {
    "md5": "md5",
    "sha256": "sha256",
    "ja3": "ja3",
    "ja3s": "ja3s",
    "dns": "domain",
    "ipv4": "ipaddr",
    "ipv6": "ipv6addr",
}
"""Maps indicator type to the process field with its values. Indicators that are queries have none.
"""

_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DOMAIN: Final = re.compile(r"(?=.{4,253}$)(?:[\w*-]{1,63}\.)+[a-zA-Z][\w-]{1,62}", re.ASCII)
_NAME: Final = re.compile(r"[\w.$@-]{1,253}")
_ACCOUNT: Final = re.compile(r"[\w. -]{1,64}\\[\w.$@ -]{1,64}")
"""A domain or host, a backslash, an account; a path of two parts has the same form."""
_DEFANGED: Final = (("[.]", "."), ("(.)", "."), ("[:]", ":"), ("hxxp", "http"))
_FILE_ENDINGS: Final = frozenset(
    (
        "exe",
        "dll",
        "sys",
        "ps1",
        "bat",
        "cmd",
        "vbs",
        "js",
        "doc",
        "docm",
        "docx",
        "xlsm",
        "lnk",
        "py",
        "sh",
        "so",
        "msi",
        "scr",
        "hta",
        "jar",
        "tmp",
        "dat",
        "txt",
        "log",
        "zip",
        "iso",
    )
)
"""Last labels of names that are more often files than domains."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One type that a value can have."""

    kind: Kind
    query: str
    """The query over processes that finds the value as this type."""
    alert_query: str
    """The query over alerts that finds the value as this type; "" if alerts have no such field."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A value with the types that its form allows."""

    value: str
    """The value without surrounding spaces and defanging; hashes are in lower case."""
    meanings: tuple[Meaning, ...]
    """At least one, the most likely first."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(meaning.kind for meaning in self.meanings)

    @property
    def query(self) -> str:
        """The query over processes for all meanings."""
        return _any_of(meaning.query for meaning in self.meanings)

    @property
    def alert_query(self) -> str:
        """The query over alerts for all meanings."""
        return _any_of(meaning.alert_query for meaning in self.meanings)


@dataclass(frozen=True, slots=True)
class Known:
    """Telemetry and alerts of a scope that contain a value. Times are epoch microseconds, 0 for
    none."""

    processes: int = 0
    by_meaning: Sequence[int] = ()
    """Number of processes for each meaning."""
    hosts: Sequence[tuple[str, int]] = ()
    """(host, number of its segments), the most segments first, at most `LOOKUP_HOSTS_SHOWN`."""
    host_count: int = 0
    first_us: int = 0
    last_us: int = 0
    alerts: int = 0
    open_alerts: int = 0
    feeds: Sequence[tuple[str, int]] = ()
    """(feed, number of alerts of the feed that contain the value)."""
    newest: dict[str, Any] | None = field(default=None)
    """The newest process with the value."""
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Prevalence:
    """Numbers of hosts and processes within a scope that have the value of an indicator."""

    hosts: int
    """Number of hosts whose processes have the value."""
    processes: int
    first_us: int
    """Start of the first process with the value; 0 for none."""
    query: str
    """The query that finds the processes."""
    is_incomplete: bool


def recognise(text: str) -> Recognised:
    """Returns a pasted text with the types that it can have."""
    value = text.strip().strip("\"'").strip()
    for written, meant in _DEFANGED:
        value = value.replace(written, meant)
    value = re.sub(r"^https?://([^/:?#]+).*$", r"\1", value)
    for look in (_hash, _guid, _address, _place):
        found = look(value)
        if found is not None:
            return found
    return Recognised(value, _names(value))


def look_up(
    engine: Engine, scope: Scope, value: Recognised, settings: SearchSettings, now_us: int
) -> Known:
    """Returns the processes, hosts and alerts of a scope that have a value."""
    newest_first = (Sort("start", is_descending=True),)
    one_each = SearchRequest((("q", value.query),), 1, 0, newest_first, group="id")

    def processes(wanted: SearchRequest) -> SearchResults:
        return search_processes(engine, scope, wanted, settings, now_us)

    newest = processes(replace(one_each, facets=("hostname",)))
    oldest_first = (Sort("start", is_descending=False),)
    oldest = processes(replace(one_each, sorts=oldest_first)) if newest.total else newest
    hosts = processes(replace(one_each, rows=0, group="sensor_id")) if newest.total else newest
    alerts = alert_search.search(
        engine,
        scope,
        replace(
            one_each,
            parts=(("q", value.alert_query),),
            rows=0,
            sorts=(Sort("created_time", is_descending=True),),
            facets=("status", "feed_name"),
            group="",
        ),
        settings,
        now_us,
    )
    statuses = dict(alerts.facets.get("status", ()))
    return Known(
        processes=newest.total,
        by_meaning=_totals(value, newest.total, one_each, processes),
        hosts=[(str(name), count) for name, count in newest.facets.get("hostname", ())][
            :LOOKUP_HOSTS_SHOWN
        ],
        host_count=hosts.total,
        first_us=oldest.rows[0]["start"] if oldest.rows else 0,
        last_us=newest.rows[0]["last_update"] if newest.rows else 0,
        alerts=alerts.total,
        open_alerts=sum(statuses.get(name, 0) for name in ("Unresolved", "In Progress")),
        feeds=[(name, count) for name, count in alerts.facets.get("feed_name", ()) if name],
        newest=dict(newest.rows[0]) if newest.rows else None,
        is_incomplete=any(one.is_incomplete for one in (newest, oldest, hosts, alerts)),
    )


def _totals(
    value: Recognised,
    total: int,
    request: SearchRequest,
    search: Callable[[SearchRequest], SearchResults],
) -> list[int]:
    """Returns the number of processes for each meaning; `total` is the number for all meanings
    together."""
    if not total or len(value.meanings) == 1:
        return [total] * len(value.meanings)
    parts = ((("q", meaning.query),) for meaning in value.meanings)
    return [search(replace(request, parts=one, rows=0)).total for one in parts]


def prevalence(
    engine: Engine, scope: Scope, ioc_type: str, value: str, settings: SearchSettings, now_us: int
) -> Prevalence | None:
    """Returns the exact number of hosts of a scope that have an indicator value; None for a type
    that is not a process field."""
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
    kinds: dict[int, tuple[Kind, ...]] = {32: ("md5", "ja3", "ja3s"), 64: ("sha256",)}
    if len(digest) not in kinds:
        return None
    return Recognised(
        digest,
        tuple(
            Meaning(kind, f"{kind}:{digest}", "" if number else _of_hash(kind, digest))
            for number, kind in enumerate(kinds[len(digest)])
        ),
    )


def _of_hash(kind: Kind, digest: str) -> str:
    return f"{kind}:{digest} OR ioc_value:{digest}"


def _guid(value: str) -> Recognised | None:
    process = value[:36]
    if not _GUID.fullmatch(process) or value[36:].strip("0123456789abcdefABCDEF-"):
        return None
    # Rule ids have the same form; the caller decides which of the two it is.
    query = f"process_id:{process.lower()}"
    return Recognised(value.lower(), (Meaning("process", query, query),))


def _address(value: str) -> Recognised | None:
    bare = value.strip("[]")
    try:
        address = ip_address(bare)
    except ValueError:
        pass
    else:
        return _in_network("ip", address.version, str(address))
    try:
        network = ip_network(bare, strict=False)
    except ValueError:
        return None
    return _in_network("network", network.version, str(network))


def _in_network(kind: Kind, version: int, value: str) -> Recognised:
    field = "ipaddr" if version == 4 else "ipv6addr"
    text = _quoted(value)
    remote = Meaning(kind, f"{field}:{text}", f"ioc_value:{text}")
    if kind == "network":
        return Recognised(value, (remote,))
    return Recognised(value, (remote, Meaning("host", f"interface_ip:{text}", "")))


def _place(value: str) -> Recognised | None:
    if "\\" in value or value.startswith("/"):
        quoted = _quoted(value)
        query = f"path:{quoted} OR filemod:{quoted} OR modload:{quoted}"
        path = Meaning("path", query, f"process_path:{quoted}")
        return Recognised(value, (path, _user(value)) if _ACCOUNT.fullmatch(value) else (path,))
    if _DOMAIN.fullmatch(value) and value.rpartition(".")[2].lower() not in _FILE_ENDINGS:
        lower = value.lower()
        return Recognised(lower, (_domain(lower), _host(lower), _user(lower)))
    return None


def _names(value: str) -> tuple[Meaning, ...]:
    """Returns the meanings of a value without a specific form: a word anywhere, and the types whose
    names it fits."""
    quoted = _quoted(value)
    anywhere = Meaning("name", quoted, quoted)
    if not _NAME.fullmatch(value):
        return (anywhere,)
    if _DOMAIN.fullmatch(value):
        return anywhere, _domain(value.lower()), _user(value)
    return anywhere, _host(value), _user(value)


def _domain(value: str) -> Meaning:
    return Meaning("domain", f"domain:{_quoted(value)}", f"ioc_value:{_quoted(value)}")


def _host(value: str) -> Meaning:
    return Meaning("host", f"hostname:{_quoted(value)}", f"hostname:{_quoted(value)}")


def _user(value: str) -> Meaning:
    return Meaning("user", f"username:{_quoted(value)}", f"username:{_quoted(value)}")


def _any_of(queries: Iterable[str]) -> str:
    return " OR ".join(dict.fromkeys(query for query in queries if query))


def _quoted(value: str) -> str:
    """Returns a value as a quoted phrase. Backslashes of paths stay single; quotes, which would end
    the phrase, become spaces."""
    return '"' + value.replace('"', " ") + '"'

"""The sensor group object of the API (docs/clients.md#requests), in and out.

Clients send whole records back, so read-only members are ignored; unknown members are refused by
name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from ipaddress import ip_address
from typing import Any, Final

from vedette.api.schemas.members import as_text, flag
from vedette.errors import BadRequestError
from vedette.ingest.pseudonyms import secret_pattern_problem
from vedette.limits import (
    GROUP_CHECKIN_MAX_S,
    GROUP_CHECKIN_MIN_S,
    GROUP_LIST_MAX,
    INGRESS_PATTERNS_MAX,
    SECRET_PATTERN_CHARS_MAX,
    SECRET_PATTERNS_MAX,
)
from vedette.model.group import BINARY_ORDERS, EventExclusion, GroupOptions, IsolationExclusion
from vedette.model.group_filters import LIST_OF_EVENT, WITHOUT_EFFECT, is_excluded_path
from vedette.model.principal import ROLE_NAMES, Role
from vedette.respond.installer_texts import is_plain_url
from vedette.state.policy.groups import Group, GroupChanges

NUMBER_MAX: Final = (1 << 53) - 1
ID_MAX: Final = (1 << 31) - 1

_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_READ_ONLY: Final = frozenset(("id", "number_of_hosts", "datasharing", "warnings", "was"))
_OWN: Final = ("name", "site_id", "sensorbackend_server", "suppress_children")
"""Members that are not options."""

_EVENTS: Final = frozenset((*LIST_OF_EVENT, WITHOUT_EFFECT))

TeamRoles = list[tuple[int, str, Role]]


def group_body(group: Group, hosts: int, teams: TeamRoles, server_url: str) -> dict[str, Any]:
    """A group. `server_url` is the default for a group without a URL of its own."""
    options = asdict(group.options)
    options["isolation_exclusions"] = [
        {"id": number, "group_id": group.id, **asdict(one)}
        for number, one in enumerate(group.options.isolation_exclusions, 1)
    ]
    options["secret_patterns"] = list(group.options.secret_patterns)
    options["event_exclusions"] = [
        {"eventsToIgnore": list(one.events_to_ignore), "paths": list(one.paths)}
        for one in group.options.event_exclusions
    ]
    return options | {
        "id": group.id,
        "name": group.name,
        "site_id": group.site_id,
        "sensorbackend_server": group.sensorbackend_server or server_url,
        "suppress_children": group.suppress_children,
        "number_of_hosts": hosts,
        "team_access": [
            {"team_id": team_id, "team_name": name, "access_category": ROLE_NAMES[role]}
            for team_id, name, role in teams
        ],
    }


def group_changes(body: Mapping[str, Any]) -> GroupChanges:
    """The changes in a body. Raises BadRequestError."""
    members: dict[str, Any] = {}
    for name, value in body.items():
        if name in _READ_ONLY:
            continue
        read = _MEMBERS.get(name)
        if read is None:
            raise BadRequestError(f"there is no member {str(name)[:60]!r} of a sensor group")
        try:
            members[name] = read(value)
        except ValueError as error:
            raise BadRequestError(f"{name}: {error}") from None
    own = {name: members.pop(name, None) for name in _OWN}
    roles = members.pop("team_access", None)
    return GroupChanges(**own, options=members, team_roles=roles)


UNUSED: Final = frozenset(
    (
        "address_resolution_hint", "collect_emet_events", "collect_moduleinfo", "datastore_server",
        "process_filter_level", "server_cert_id", "tamper_level", "vdi_enabled",
    )
)  # fmt: skip
"""Options that are stored for clients which read them back, and change nothing."""


def unused_options(changes: GroupChanges, known: GroupOptions) -> list[str]:
    """A warning for every option that was changed and has no effect."""
    wanted = replace(known, **(changes.options or {}))
    unused = [name for name in sorted(UNUSED) if getattr(wanted, name) != getattr(known, name)]
    if wanted.event_exclusions != known.event_exclusions and any(
        WITHOUT_EFFECT in one.events_to_ignore for one in wanted.event_exclusions
    ):
        unused.append(f"event_exclusions of {WITHOUT_EFFECT}")
    return [f"{name}: is stored and has no effect on this server" for name in unused]


def _one_line(value: Any) -> str:
    text = as_text(value)
    if text and not text.isprintable():
        raise ValueError("must be printable")
    return text


def file_name(value: Any) -> str:
    """A file name without folders, or "". Raises ValueError."""
    text = as_text(value)
    if text and not _FILE_NAME.fullmatch(text):
        raise ValueError(
            "must be a file name of 1 to 64 letters, digits, dots and dashes, without any folder"
        )
    return text


def _url(value: Any) -> str:
    text = as_text(value).rstrip("/")
    if text and not (text.startswith("https://") and is_plain_url(text)):
        raise ValueError("must be an address like https://host:port, without other characters")
    return text


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        text = as_text(value)
        if text not in allowed:
            raise ValueError(f"must be one of {', '.join(map(repr, allowed))}")
        return text

    return read


def _number(least: int, most: int = NUMBER_MAX) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            value = int(value[:20])
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return value

    return read


def _interval(value: Any) -> int:
    return 0 if value in (0, None) else _number(GROUP_CHECKIN_MIN_S, GROUP_CHECKIN_MAX_S)(value)


def _objects(value: Any) -> list[dict[str, Any]]:
    objects = [] if value is None else value
    if not isinstance(objects, list) or len(objects) > GROUP_LIST_MAX:
        raise ValueError(f"must be a list of at most {GROUP_LIST_MAX} objects")
    if not all(isinstance(one, dict) for one in objects):
        raise ValueError("must be a list of objects")
    return objects


def _isolation(value: Any) -> tuple[IsolationExclusion, ...]:
    return tuple(
        IsolationExclusion(
            _one_line(one.get("name")),
            _address(one.get("ip_address")),
            flag(one.get("enabled", True)),
        )
        for one in _objects(value)
    )


def _address(value: Any) -> str:
    text = as_text(value)
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, colon, port = text, "", ""
    try:
        ip_address(host.strip("[]") if host.startswith("[") else host)
        if "%" in host:
            raise ValueError("sensors refuse scopes")
        if colon:
            _number(1, 65_535)(port)
    except ValueError:
        raise ValueError(f"ip_address: {text[:60]!r} is no address or address:port") from None
    return text


def _exclusions(value: Any) -> tuple[EventExclusion, ...]:
    found = []
    for one in _objects(value):
        events, paths = (one.get(name) or [] for name in ("eventsToIgnore", "paths"))
        if not isinstance(events, list) or not all(name in _EVENTS for name in events):
            raise ValueError(f"eventsToIgnore: must be of {', '.join(sorted(_EVENTS))}")
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise ValueError("paths: must be texts")
        for path in map(as_text, paths):
            if not is_excluded_path(path):
                raise ValueError(f"paths: {path[:60]!r} is no path, with * and ? for what varies")
        found.append(EventExclusion(tuple(events), tuple(paths)))
    if sum(len(one.paths) for one in found) > INGRESS_PATTERNS_MAX:
        raise ValueError(f"must have at most {INGRESS_PATTERNS_MAX} paths in all")
    return tuple(found)


def secret_patterns(value: Any) -> tuple[str, ...]:
    """Expressions for secrets. Raises ValueError with the place of one that cannot be used."""
    texts = [] if value is None else value
    if not isinstance(texts, list | tuple) or len(texts) > SECRET_PATTERNS_MAX:
        raise ValueError(f"must be a list of at most {SECRET_PATTERNS_MAX} texts")
    for number, one in enumerate(texts):
        if not isinstance(one, str) or len(one) > SECRET_PATTERN_CHARS_MAX:
            raise ValueError(f"[{number}]: must be a text of {SECRET_PATTERN_CHARS_MAX} characters")
        problem = secret_pattern_problem(one)
        if problem:
            raise ValueError(f"[{number}]: {problem}")
    return tuple(texts)


def _teams(value: Any) -> dict[int, Role]:
    by_name = {name: role for role, name in ROLE_NAMES.items()}
    roles: dict[int, Role] = {}
    for one in _objects(value):
        role = by_name.get(str(one.get("access_category")))
        if role is None:
            raise ValueError(f"access_category: must be one of {', '.join(by_name)}")
        roles[_number(1, ID_MAX)(one.get("team_id"))] = role
    return roles


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004 - one kind of error
    return value


_FLAGS: Final = tuple(
    name for name, value in asdict(GroupOptions()).items() if isinstance(value, bool)
)

_MEMBERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "name": _name,
    "site_id": _number(1, ID_MAX),
    "sensorbackend_server": _url,
    "suppress_children": flag,
    "team_access": _teams,
    "sensor_exe_name": file_name,
    "address_resolution_hint": _one_of("ipv4", "ipv6", ""),
    "alert_criticality": _number(0, 100),
    "tamper_level": _number(0, 100),
    "sensor_version_windows": _one_line,
    "sensor_version_osx": _one_line,
    "sensor_version_linux": _one_line,
    "datastore_server": _one_line,
    "max_licenses": _number(-1),
    "binary_orders": _one_of(*BINARY_ORDERS),
    "binary_quota_bytes": _number(0),
    "process_filter_level": _number(0, 100),
    "quota_eventlog_bytes": _number(0),
    "quota_eventlog_percent": _number(0, 100),
    "quota_storefile_bytes": _number(0),
    "quota_storefile_percent": _number(0, 100),
    "server_cert_id": _number(0, ID_MAX),
    "checkin_interval_s": _interval,
    "isolation_exclusions": _isolation,
    "event_exclusions": _exclusions,
    "secret_patterns": secret_patterns,
    **dict.fromkeys(_FLAGS, flag),
}

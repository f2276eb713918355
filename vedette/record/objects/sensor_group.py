"""A sensor group: the unit of access control, with the settings of its sensors
(docs/clients.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from ipaddress import ip_address
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from vedette.limits import (
    INGRESS_PATTERNS_MAX,
    MEMBER_CHARS_MAX,
    SECRET_PATTERN_CHARS_MAX,
    SECRET_PATTERNS_MAX,
    STATE_NAME_CHARS_MAX,
    Limit,
)
from vedette.model.group import (
    MANUAL,
    ORDERS_OFF,
    is_excluded_path,
)
from vedette.record.answers import Answer, answer_model
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import DATABASE_ID_MAX, Flag, SentBack, null_means, short_name, whole
from vedette.record.member import Access, Member

GROUP_LIST_MAX: Limit[int] = 1_000
"""Maximum objects of one list in the body of a group, such as `team_access`; limits the work of one
request."""

GROUP_CHECKIN_MIN_S: Limit[int] = 5
"""Shortest check-in interval (s) of a group: each check-in costs the server some milliseconds."""

GROUP_CHECKIN_MAX_S: Limit[int] = 3_600
"""Longest check-in interval (s) of a group: orders reach its sensors within an hour."""

_NUMBER_MAX: Final = (1 << 53) - 1
_READ_ONLY: Final = Access.READ_ONLY
_Role = Literal["No Access", "Viewer", "Analyst", "Administrator"]


def _printable(value: str) -> str:
    if value and not value.isprintable():
        raise ValueError("must contain only printable characters")
    return value


def _url(value: str) -> str:
    return value.rstrip("/")


def _address(value: str) -> str:
    """Returns the value. Raises ValueError unless it is an IP address, optionally with a port."""
    host, colon, port = value.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, colon, port = value, "", ""
    try:
        ip_address(host.strip("[]") if host.startswith("[") else host)
        is_port = port.isascii() and port.isdecimal() and 1 <= int(port[:6]) <= 65_535
        is_valid = "%" not in host and (not colon or is_port)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{value[:60]!r} is not an address or address:port")
    return value


def _path(value: str) -> str:
    if not is_excluded_path(value):
        raise ValueError(f"{value[:60]!r} is not a path (wildcards * and ?)")
    return value


def _interval(value: int) -> int:
    if value and not GROUP_CHECKIN_MIN_S <= value <= GROUP_CHECKIN_MAX_S:
        raise ValueError(f"must be 0 or from {GROUP_CHECKIN_MIN_S} to {GROUP_CHECKIN_MAX_S}")
    return value


_READS_OTHERS: Final = ConfigDict(extra="ignore", json_schema_extra={"additionalProperties": True})
"""Configuration for parts of a group: clients send back members of answers, such as `id`, which are
ignored."""

_Short = StringConstraints(strict=True, max_length=MEMBER_CHARS_MAX)
_LineGiven = Annotated[
    str, _Short, AfterValidator(_printable), Field(json_schema_extra={"format": "line"})
]
_Line = Annotated[_LineGiven, null_means("", _LineGiven)]
_FileNameGiven = Annotated[
    str, StringConstraints(strict=True, pattern="^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$")
]
_UrlGiven = Annotated[
    str, _Short, AfterValidator(_url), Field(json_schema_extra={"format": "origin"})
]
_HintGiven = Literal["", "ipv4", "ipv6"]
_Orders = Literal["off", "asked", "unsigned"]
_Percent = Annotated[int, whole(0, 100)]
_Level = Annotated[int, whole(0, 100)]
_Bytes = Annotated[int, whole(0, _NUMBER_MAX)]
_Interval = Annotated[
    int,
    whole(0, GROUP_CHECKIN_MAX_S),
    AfterValidator(_interval),
    BeforeValidator(lambda value: 0 if value is None else value),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [0]},
                {
                    "type": ["integer", "string", "null"],
                    "minimum": GROUP_CHECKIN_MIN_S,
                    "maximum": GROUP_CHECKIN_MAX_S,
                    "pattern": "^[0-9]{1,4}$",
                },
            ]
        },
        mode="validation",
    ),
]


@dataclass(frozen=True, slots=True)
class IsolationExclusion:
    """An address that isolated hosts can still reach."""

    __pydantic_config__: ClassVar = _READS_OTHERS

    ip_address: Annotated[
        str,
        _Short,
        AfterValidator(_address),
        Field(
            description="IP address, optionally with a port (`v4:port`, `[v6]:port`)",
            json_schema_extra={"format": "address"},
        ),
    ]
    name: _Line = ""
    enabled: Flag = True


_EventName = Literal[
    "crossproc", "filemod", "filemod-non-binary", "modload", "netconn", "process-info", "regmod"
]
EVENT_NAMES: Final = get_args(_EventName)
_EventNames = Annotated[tuple[_EventName, ...], Field(max_length=GROUP_LIST_MAX)]
_Path = Annotated[str, _Short, AfterValidator(_path), Field(json_schema_extra={"format": "path"})]
_Paths = Annotated[tuple[_Path, ...], Field(max_length=INGRESS_PATTERNS_MAX)]


@dataclass(frozen=True, slots=True)
class EventExclusion:
    """Events of programs at these paths that sensors do not collect."""

    __pydantic_config__: ClassVar = _READS_OTHERS

    events_to_ignore: Annotated[
        _EventNames, null_means((), _EventNames), Field(alias="eventsToIgnore")
    ] = ()
    paths: Annotated[_Paths, null_means((), _Paths)] = ()


def _few_paths(exclusions: tuple[EventExclusion, ...]) -> tuple[EventExclusion, ...]:
    if sum(len(one.paths) for one in exclusions) > INGRESS_PATTERNS_MAX:
        raise ValueError(f"must have at most {INGRESS_PATTERNS_MAX} paths in all")
    return exclusions


class IsolationExclusionAnswer(Answer):
    """An address that isolated hosts can still reach."""

    id: int
    group_id: int
    name: str
    ip_address: str
    enabled: bool


class EventExclusionAnswer(Answer):
    """Events of programs at these paths that sensors do not collect."""

    eventsToIgnore: list[str]  # noqa: N815 - clients know the name
    paths: list[str]


class ChangedGroup(Answer):
    """Result of a change. `warnings` lists options that are stored but have no effect."""

    result: Literal["success"]
    warnings: list[str] = []


class TeamAccessAnswer(Answer):
    """The role of a team in the group."""

    team_id: int
    team_name: str
    access_category: _Role


def _isolation_json(exclusions: Iterable[IsolationExclusion]) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "ip_address": one.ip_address, "enabled": one.enabled}
        for one in exclusions
    ]


def _exclusions_json(exclusions: Iterable[EventExclusion]) -> list[dict[str, Any]]:
    return [
        {"eventsToIgnore": list(one.events_to_ignore), "paths": list(one.paths)}
        for one in exclusions
    ]


_Isolations = Annotated[tuple[IsolationExclusion, ...], Field(max_length=GROUP_LIST_MAX)]
_Exclusions = Annotated[
    tuple[EventExclusion, ...], Field(max_length=GROUP_LIST_MAX), AfterValidator(_few_paths)
]
_Patterns = Annotated[
    tuple[Annotated[str, StringConstraints(strict=True, max_length=SECRET_PATTERN_CHARS_MAX)], ...],
    Field(max_length=SECRET_PATTERNS_MAX),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOptions:
    """Settings of a sensor group, except its name and site."""

    sensor_exe_name: Annotated[
        _FileNameGiven,
        null_means("", _FileNameGiven),
        Member("File name of the installed sensor; empty: default"),
    ] = ""
    address_resolution_hint: Annotated[
        _HintGiven, null_means("", _HintGiven), Member("Stored, without effect")
    ] = ""
    alert_criticality: Annotated[_Level, Member("Weight of the group's alerts")] = 3
    tamper_level: Annotated[_Level, Member("Stored, without effect")] = 0
    sensor_version_windows: Annotated[_Line, Member("Package for Windows")] = MANUAL
    sensor_version_osx: Annotated[_Line, Member("Package for macOS")] = MANUAL
    sensor_version_linux: Annotated[
        _Line, Member("Package for Linux; `Manual`: none, or `latest`")
    ] = MANUAL
    datastore_server: Annotated[_Line, Member("Stored, without effect")] = ""
    max_licenses: Annotated[
        int, whole(-1, _NUMBER_MAX), Member("Maximum sensors of the group; -1: unlimited")
    ] = -1
    banning_enabled: Annotated[Flag, Member("Whether sensors block banned programs")] = True
    collect_amsi: Annotated[Flag, Member("Collect scripts reported by AMSI")] = False
    collect_cross_procs: Annotated[Flag, Member("Collect cross-process access")] = True
    collect_emet_events: Annotated[Flag, Member("Stored, without effect")] = True
    collect_filemods: Annotated[Flag, Member("Collect file changes")] = True
    collect_filewritemd5s: Annotated[Flag, Member("Collect MD5 of written files")] = True
    collect_moduleinfo: Annotated[Flag, Member("Stored, without effect")] = True
    collect_moduleloads: Annotated[Flag, Member("Collect module loads")] = True
    collect_netconns: Annotated[Flag, Member("Collect connections")] = True
    collect_nonbinary_filewrites: Annotated[Flag, Member("Collect non-program files")] = True
    collect_processes: Annotated[Flag, Member("Collect process starts")] = True
    collect_regmods: Annotated[Flag, Member("Collect registry changes")] = True
    collect_storefiles: Annotated[
        Flag, Member("Whether sensors send every program that the server lacks")
    ] = False
    collect_usercontext: Annotated[Flag, Member("Collect users of processes")] = True
    binary_orders: Annotated[_Orders, Member("Whether sensors send requested programs")] = (
        ORDERS_OFF
    )
    binary_quota_bytes: Annotated[
        _Bytes, Member("Maximum bytes of stored programs; 0: no limit but the disk")
    ] = 0
    filter_known_dlls: Annotated[Flag, Member("Whether loads of known DLLs are dropped")] = False
    process_filter_level: Annotated[_Level, Member("Stored, without effect")] = 0
    quota_eventlog_bytes: Annotated[_Bytes, Member("Bytes of a sensor's event queue")] = 1 << 30
    quota_eventlog_percent: Annotated[_Percent, Member("Disk share of the event queue")] = 1
    quota_storefile_bytes: Annotated[_Bytes, Member("Bytes of a sensor's file queue")] = 1 << 30
    quota_storefile_percent: Annotated[_Percent, Member("Disk share of the file queue")] = 1
    server_cert_id: Annotated[int, whole(0, DATABASE_ID_MAX), Member("Stored, without effect")] = 1
    vdi_enabled: Annotated[Flag, Member("Stored, without effect")] = False
    checkin_interval_s: Annotated[_Interval, Member("Check-in interval (s); 0: server setting")] = 0
    pseudonymise_users: Annotated[Flag, Member("Whether user names are stored as pseudonyms")] = (
        False
    )
    secret_patterns: Annotated[
        _Patterns,
        null_means((), _Patterns),
        Member("RE2 expressions of secrets that are stored as pseudonyms"),
    ] = ()
    isolation_exclusions: Annotated[
        _Isolations,
        null_means((), _Isolations),
        PlainSerializer(_isolation_json),
        Member("Addresses that isolated hosts can still reach"),
    ] = ()
    event_exclusions: Annotated[
        _Exclusions,
        null_means((), _Exclusions),
        PlainSerializer(_exclusions_json),
        Member("Events that sensors do not collect, by program path"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(GroupOptions):
    """A sensor group with its settings."""

    id: Annotated[int, Member("Group id", _READ_ONLY)] = 0
    name: Annotated[str, short_name(STATE_NAME_CHARS_MAX, strips=False), Member("Name, unique")]
    site_id: Annotated[int, whole(1, DATABASE_ID_MAX), Member("Site id")] = 1
    sensorbackend_server: Annotated[
        _UrlGiven,
        null_means("", _UrlGiven),
        Member("Server address for sensors; empty: this server"),
    ] = ""
    suppress_children: Annotated[
        Flag, Member("Whether processes that only load modules are suppressed")
    ] = False
    number_of_hosts: Annotated[int, Member("Number of sensors", _READ_ONLY, stored=False)] = 0

    @property
    def options(self) -> GroupOptions:
        """The settings of the group without its identity."""
        return GroupOptions(**{one.name: getattr(self, one.name) for one in fields(GroupOptions)})


OPTIONS: Final = frozenset(one.name for one in fields(GroupOptions))
"""Names of the members of a group that are options."""


def group_of(options: GroupOptions, **own: Any) -> Group:
    """Returns a group with these options and the other members `own`."""
    return Group(**{name: getattr(options, name) for name in OPTIONS}, **own)


class TeamAccess(BaseModel):
    """The role of a team in the group."""

    model_config = _READS_OTHERS

    team_id: Annotated[int, whole(1, DATABASE_ID_MAX)]
    access_category: _Role


_Teams = Annotated[list[TeamAccess], Field(max_length=GROUP_LIST_MAX)]


class GroupRequest(Request):
    """Further members of a body."""

    team_access: Annotated[
        _Teams | None,
        BeforeValidator(lambda value: [] if value is None else value),
        Field(description="Roles of all teams in the group; unlisted teams have no role"),
    ] = None
    datasharing: SentBack = None
    warnings: SentBack = None


_SHOWN: Final[dict[str, Any]] = {
    "isolation_exclusions": list[IsolationExclusionAnswer],
    "event_exclusions": list[EventExclusionAnswer],
    "team_access": list[TeamAccessAnswer],
}
GROUP: Final = answer_model(Group, **_SHOWN)
MADE_GROUP: Final = answer_model(Group, "MadeGroup", **_SHOWN, warnings=(list[str], []))
NEW_GROUP: Final = RecordBody("NewSensorGroup", Group, GroupRequest, creates=True)
GROUP_CHANGE: Final = RecordBody("SensorGroupChange", Group, GroupRequest, creates=False)

"""Stored event records ("logs"): the columns that are read from their data, and the catalogue of
search fields (docs/logs.md). The checker, the compiler, the schema of the store, the reference and
the JSON of the API read these tables.

A record keeps its data under the sender's names. A `Reading` names the members that hold a value
under different names; the store computes its column from them when a record is written, and from
the stored data of older records when they are read.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from vedette.model.field import DATA, DATA_PREFIX, Field, catalogue


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a record's data that may hold a value."""

    name: str
    domain: str = ""
    """Member with the domain of an account; its value precedes the name as `DOMAIN\\name`."""
    channel: str = ""
    """The only channel in which the member has this meaning; "" for all."""
    provider: str = ""
    """The only provider, likewise."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A column that is read from a record's data: the value of the first member that has one."""

    name: str
    type: Literal["text", "lower", "number", "address"]
    """`lower` is text in lower case; a number is 0 and an address 16 zero bytes when unknown."""
    members: tuple[Member, ...]


NO_VALUES: Final = ("", "-")
"""Texts that stand for an unknown value."""

_SESSIONS: Final = "Microsoft-Windows-TerminalServices-LocalSessionManager/Operational"
_REMOTE_DESKTOP: Final = "Microsoft-Windows-TerminalServices-RemoteConnectionManager/Operational"
_SERVICES: Final = "Service Control Manager"


def _members(*names: str) -> tuple[Member, ...]:
    return tuple(map(Member, names))


READINGS: Final[tuple[Reading, ...]] = (
    Reading(
        "user",
        "text",
        (
            Member("SubjectUserName", domain="SubjectDomainName"),
            *_members("User", "UserName", "Detection User", "DetectionUser"),
            *_members("username", "user", "acct"),
            Member("AccountName", domain="Domain"),
        ),
    ),
    Reading(
        "target_user",
        "text",
        (
            Member("TargetUserName", domain="TargetDomainName"),
            Member("Param1", domain="Param2", channel=_REMOTE_DESKTOP),
            Member("User", channel=_SESSIONS),
            *_members("TargetUser", "MemberName"),
        ),
    ),
    Reading("logon_type", "number", _members("LogonType")),
    Reading(
        "logon_id",
        "lower",
        _members("TargetLogonId", "SubjectLogonId", "LogonId", "LogonID"),
    ),
    Reading(
        "src_ip",
        "address",
        (
            *_members("IpAddress", "SourceAddress", "ClientAddress", "SourceNetworkAddress"),
            *_members("SourceIp", "ClientIP", "src_ip", "addr"),
            Member("Address", channel=_SESSIONS),
            Member("Param3", channel=_REMOTE_DESKTOP),
        ),
    ),
    Reading(
        "workstation",
        "text",
        _members("WorkstationName", "Workstation", "ClientName"),
    ),
    Reading(
        "service",
        "text",
        (*_members("ServiceName", "unit"), Member("param1", provider=_SERVICES)),
    ),
    Reading("task", "text", _members("TaskName")),
    Reading("threat", "text", _members("Threat Name", "ThreatName")),
)
"""Columns that are computed from a record's data."""

LEVELS: Final = ("", "critical", "error", "warning", "information", "verbose")
"""Names of the levels of event logs, by number."""

LOG_WORDS: Final = frozenset(
    {
        DATA,
        "hostname",
        *(reading.name for reading in READINGS if reading.type == "text"),
    }
)
"""Columns whose words the index of a record's words has: the host's name, and all values of its
data with what is read from them."""

LOG_TEXT_SQL: Final = "arrayStringConcat(arrayPushBack(mapValues(`fields`), `hostname`), ' ')"
"""SQL: all texts of a record, whose words the index has."""

LOG = catalogue(
    (
        Field(
            "hostname", "hostname", ("hostname",), True, aliases=("host", "computer", "host.name")
        ),
        Field("data", "text", (DATA,), True),
        Field("event_id", "integer", ("event_id",), aliases=("eventid", "event.code")),
        Field("channel", "keyword", ("channel",), aliases=("winlog.channel",)),
        Field(
            "provider",
            "keyword",
            ("provider",),
            aliases=("provider_name", "event.provider", "winlog.provider_name"),
        ),
        Field("level", "keyword", ("level",), aliases=("log.level",)),
        Field("user", "account", ("user",), aliases=("username", "subjectusername", "user.name")),
        Field(
            "target_user",
            "account",
            ("target_user",),
            aliases=("targetusername", "user.target.name"),
        ),
        Field("logon_type", "integer", ("logon_type",), aliases=("logontype",)),
        Field("logon_id", "keyword", ("logon_id",), aliases=("logonid", "winlog.logon.id")),
        Field("src_ip", "address", ("src_ip",), aliases=("ipaddress", "source.ip")),
        Field("workstation", "hostname", ("workstation",), aliases=("workstationname",)),
        Field("service", "keyword", ("service",), aliases=("servicename", "service.name")),
        Field("task", "path", ("task",), aliases=("taskname",)),
        Field("threat", "text", ("threat",), aliases=("threatname",)),
        Field("time", "time", ("time",), aliases=("timestamp",)),
        Field("received", "time", ("committed",), aliases=("event.ingested",)),
        Field(
            "record_id", "integer", ("record_id",), aliases=("eventrecordid", "winlog.record_id")
        ),
        Field("sensor_id", "integer", ("sensor_id",)),
    ),
    has_tags=False,
    has_data=True,
    always=("hostname", "time", "committed", "sensor_id"),
)
"""Fields of log search, beside `data.NAME` for every member of a record's data."""

_OTHER: Final = re.compile(r"[^a-z0-9_.-]")
_UPPER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def data_name(member: str) -> str:
    """Returns the spelling of a member in `data.NAME`: ASCII letters in lower case, and `_` for
    characters that the name of a field cannot contain."""
    return _OTHER.sub("_", member.translate(_UPPER))


def named_member(source: str) -> str:
    """The NAME of a source `data.NAME`."""
    return source.removeprefix(DATA_PREFIX)

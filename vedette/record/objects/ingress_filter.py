"""An ingress filter, which drops telemetry of processes before it is stored
(docs/ingress-filters.md).

The three process lists (`path_filters`, `cmdline_filters`, `md5_filters`) select processes: at
least one entry of every list that is not empty must match. If `filter_all_events` is false, the
event lists select the events of these processes that are dropped.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

from vedette import limits
from vedette.limits import Limit
from vedette.model.ingress_filter import ALL_DESCENDANTS, EVENT_LISTS, OS_BITS, OS_MASK_ALL
from vedette.record.answers import answer_model
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import (
    DATABASE_ID_MAX,
    Flag,
    Instant,
    KnownInstant,
    Md5,
    null_means,
    number,
)
from vedette.record.member import Access, Member

INGRESS_PRIORITY_MAX: Limit[int] = (1 << 31) - 1
"""Highest priority of an ingress filter. The lowest is its negative."""

INGRESS_DESCENDANT_LEVELS_MAX: Limit[int] = 64
"""Maximum descendant levels of an ingress filter. Process chains are shorter."""

INGRESS_IDS_MAX: Limit[int] = 10_000
"""Maximum ids in one list of an ingress filter; limits the work of one request."""


_READ_ONLY: Final = Access.READ_ONLY
_HOURS: Final = (0,) * limits.FILTER_DROPPED_HOURS
_RESERVED: Final = "legacy"
_PRIORITY: Final = INGRESS_PRIORITY_MAX

ID_PATTERN: Final = "^[A-Za-z0-9-]{1,64}$"


def _chosen_id(value: Any) -> Any:
    """Returns "" for null: the server chooses the id. Raises ValueError for "" and the reserved
    id."""
    if value in ("", _RESERVED):
        raise ValueError("must be 1 to 64 letters, digits, and dashes, and not 'legacy'")
    return "" if value is None else value


def _in_order(ids: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(ids)))


_NameGiven = Annotated[str, StringConstraints(strict=True, max_length=limits.MEMBER_CHARS_MAX)]
_Name = Annotated[_NameGiven, null_means("", _NameGiven)]
_Pattern = Annotated[
    str,
    StringConstraints(strict=True, min_length=1, max_length=limits.INGRESS_PATTERN_CHARS_MAX),
]
_PatternsGiven = Annotated[tuple[_Pattern, ...], Field(max_length=limits.INGRESS_PATTERNS_MAX)]
_Patterns = Annotated[_PatternsGiven, null_means((), _PatternsGiven)]
_Md5sGiven = Annotated[tuple[Md5, ...], Field(max_length=limits.INGRESS_PATTERNS_MAX)]
_Md5s = Annotated[_Md5sGiven, null_means((), _Md5sGiven)]
_IdsGiven = Annotated[
    tuple[Annotated[int, number(1, DATABASE_ID_MAX)], ...],
    Field(max_length=INGRESS_IDS_MAX),
]
_Ids = Annotated[_IdsGiven, AfterValidator(_in_order), null_means((), _IdsGiven)]
_Version = Annotated[int, number(0, DATABASE_ID_MAX)]
_ChosenId = Annotated[str, StringConstraints(strict=True, pattern=ID_PATTERN)]


@dataclass(frozen=True, slots=True)
class IngressFilter:
    """An ingress filter. Times are epoch microseconds; 0 means never."""

    id: Annotated[
        Annotated[str, StringConstraints(strict=True, pattern="^[A-Za-z0-9-]{0,64}$")],
        BeforeValidator(_chosen_id, json_schema_input_type=_ChosenId | None),
        Member("Id: letters, digits, dashes; null: the server chooses", Access.AT_CREATION),
    ] = ""
    name: Annotated[_Name, Member("Name in lists")] = ""
    description: Annotated[_Name, Member("Purpose of the filter")] = ""
    version: Annotated[
        _Version, null_means(0, _Version), Member("Version of the author; not used")
    ] = 0
    priority: Annotated[
        int,
        number(-_PRIORITY, _PRIORITY),
        Member("The matching filter with the top priority counts"),
    ] = 0
    internal: Annotated[Flag, null_means(False, Flag), Member("Mark of the author; not used")] = (
        False
    )
    enabled: Annotated[Flag, Member("Whether it is enabled")] = True
    filter_on_sensor: Annotated[Flag, Member("Whether sensors apply it")] = False
    filter_on_server: Annotated[Flag, Member("false: only measured, drops nothing")] = True
    track_metrics: Annotated[Flag, Member("Whether it is measured while disabled")] = True
    hit_rate: Annotated[
        float,
        Member("Share of matching processes", _READ_ONLY, stored=False, unseen=0.0),
    ] = 0.0
    os_mask: Annotated[
        int, number(1, OS_MASK_ALL), Member("Sum of systems: 1 Windows, 2 macOS, 4 Linux")
    ] = OS_MASK_ALL
    is_global: Annotated[
        Flag, Member("All sensors: ignores `group_ids` and `sensor_ids`", name="global")
    ] = True
    group_ids: Annotated[_Ids, Member("Sensor groups")] = ()
    sensor_ids: Annotated[_Ids, Member("Sensors of the groups; empty: all of them")] = ()
    path_filters: Annotated[_Patterns, Member("Paths of processes")] = ()
    cmdline_filters: Annotated[_Patterns, Member("Command lines of processes")] = ()
    md5_filters: Annotated[_Md5s, Member("MD5 hashes of processes")] = ()
    descendant_filtering_level: Annotated[
        int,
        number(ALL_DESCENDANTS, INGRESS_DESCENDANT_LEVELS_MAX),
        Member("0: process, 1: its children too, -1: all descendants"),
    ] = 0
    filter_all_events: Annotated[Flag, Member("Whether all events are dropped")] = True
    regmod_filters: Annotated[_Patterns, Member("Registry keys")] = ()
    modload_filters: Annotated[_Patterns, Member("Paths of loaded modules")] = ()
    filemod_filters: Annotated[_Patterns, Member("Paths of changed files")] = ()
    non_binary_filemod_filters: Annotated[
        _Patterns, Member("Paths of changed files other than programs")
    ] = ()
    netconn_filters: Annotated[_Patterns, Member("Addresses and names of connections")] = ()
    crossproc_filters: Annotated[_Patterns, Member("Paths of other processes")] = ()
    expires_us: Annotated[
        KnownInstant, Member("Time at which it is disabled; null: never", name="expires")
    ] = 0
    events_dropped: Annotated[
        int, Member("Events dropped in 24 hours", _READ_ONLY, stored=False, unseen=0)
    ] = 0
    bytes_dropped: Annotated[
        int, Member("Bytes dropped in 24 hours", _READ_ONLY, stored=False, unseen=0)
    ] = 0
    events_dropped_by_hour: Annotated[
        tuple[int, ...], Member("Per hour, oldest first", _READ_ONLY, stored=False, unseen=_HOURS)
    ] = _HOURS
    bytes_dropped_by_hour: Annotated[
        tuple[int, ...], Member("Per hour, oldest first", _READ_ONLY, stored=False, unseen=_HOURS)
    ] = _HOURS
    create_us: Annotated[Instant, Member("Creation time", _READ_ONLY, "create_timestamp")] = 0
    modify_us: Annotated[Instant, Member("Time of change", _READ_ONLY, "modify_timestamp")] = 0
    create_user_id: Annotated[int, Member("Id of the creator", _READ_ONLY)] = 0
    modify_user_id: Annotated[int, Member("Last author; 0: expiry", _READ_ONLY)] = 0

    def applies_to(self, sensor_id: int, group_id: int, os_type: str) -> bool:
        """Whether the filter applies to a sensor. While the operating system of a sensor is
        unknown, only filters for all systems apply to it."""
        if not self.os_mask & OS_BITS.get(os_type, 0) and self.os_mask != OS_MASK_ALL:
            return False
        if self.is_global:
            return True
        in_group = group_id in self.group_ids
        if not self.sensor_ids:
            return in_group
        return sensor_id in self.sensor_ids and (in_group or not self.group_ids)

    @property
    def names_processes(self) -> bool:
        """Whether a list selects processes."""
        return bool(self.path_filters or self.cmdline_filters or self.md5_filters)

    @property
    def names_events(self) -> bool:
        return any(getattr(self, name) for name in EVENT_LISTS)


class AcceptedBlind(BaseModel):
    """A detection that a filter blinds and that the sender accepts."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["watchlist", "feed", "rule"]
    id: Annotated[str, Field(min_length=1, max_length=limits.MEMBER_CHARS_MAX)]
    name: Annotated[str, Field(max_length=limits.MEMBER_CHARS_MAX)] = ""


class FilterRequest(Request):
    """Further members of a body."""

    accepted_blind: Annotated[
        list[AcceptedBlind],
        Field(max_length=INGRESS_IDS_MAX, description="Accepted blinded detections; audited"),
    ] = []
    command_line_filters: Annotated[
        _PatternsGiven | None,
        Field(description="Alias of `cmdline_filters`; takes precedence"),
    ] = None


FILTER: Final = answer_model(IngressFilter)
LEGACY_FILTER: Final = answer_model(
    IngressFilter, "LegacyIngressFilter", command_line_filters=list[str]
)
NEW_FILTER: Final = RecordBody("NewIngressFilter", IngressFilter, FilterRequest, creates=True)
FILTER_CHANGE: Final = RecordBody(
    "IngressFilterChange", IngressFilter, FilterRequest, creates=False
)

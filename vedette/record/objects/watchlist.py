"""A watchlist: a stored query that the server runs on new telemetry (docs/watchlists.md)."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from vedette import limits
from vedette.limits import Limit
from vedette.record.answers import answer_model, many
from vedette.record.bodies import RecordBody, Request
from vedette.record.kinds import (
    Digits,
    DigitsOfMillis,
    Flag,
    Instant,
    KnownInstant,
    Millis,
    NullForEmpty,
    SentBack,
    text,
)
from vedette.record.member import Access, Member

WATCHLIST_NAME_CHARS_MAX: Limit[int] = 256
"""Maximum characters of a name, which every list and alert contains."""

WATCHLIST_DESCRIPTION_CHARS_MAX: Limit[int] = 16_384
"""Maximum characters of a description, which every alert contains."""

WATCHLIST_QUERY_CHARS_MAX: Limit[int] = 262_144
"""Maximum characters of a stored query. A converted Sigma rule has up to 100,000."""


ALL_GROUPS: Final = -1
"""`group_id` of a watchlist over all sensors."""

_HIDDEN: Final = Access.HIDDEN
_READ_ONLY: Final = Access.READ_ONLY


def id_of_watchlist(value: object) -> int:
    """Parses an id: a number or a string of digits. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("must be a number")  # noqa: TRY004 - Pydantic expects ValueError
    digits = str(value).strip()
    is_number = digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) <= 11
    if not is_number or abs(int(digits)) > limits.WATCHLIST_ID_MAX:
        raise ValueError(f"{digits[:40]!r} is not a watchlist id")
    return int(digits)


def _given_id(value: object) -> int | None:
    """Parses an id in a body; returns None if the caller chooses no id. Raises ValueError."""
    if value is None or value == "":
        return None
    number = id_of_watchlist(value)
    if number < 1:
        raise ValueError("must be greater than 0")
    return number


def _chosen_id(value: object) -> int:
    return _given_id(value) or 0


def _group_id(value: object) -> int:
    return ALL_GROUPS if value is None else id_of_watchlist(value)


_ID_IN: Final = WithJsonSchema(
    {
        "type": ["integer", "string", "null"],
        "maximum": limits.WATCHLIST_ID_MAX,
        "minimum": -limits.WATCHLIST_ID_MAX,
        "maxLength": 11,
    },
    mode="validation",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchlist:
    """A watchlist. Times and durations are microseconds; 0 means never."""

    key: Annotated[int, Member("Internal id; never changes", _HIDDEN)] = 0
    id: Annotated[
        Digits,
        BeforeValidator(_chosen_id),
        _ID_IN,
        Member("Id, as a string; every change of the query raises it", Access.AT_CREATION),
    ] = 0
    name: Annotated[str, text(WATCHLIST_NAME_CHARS_MAX, 1), Member("Name in lists and alerts")]
    description: Annotated[
        Annotated[str, text(WATCHLIST_DESCRIPTION_CHARS_MAX)] | None,
        Member("Purpose, and recommended response to a hit"),
    ] = None
    search_query: Annotated[
        str, text(WATCHLIST_QUERY_CHARS_MAX, 1), Member("The query, as it was saved")
    ]
    index_type: Annotated[
        Literal["events", "modules"],
        Member("`events` for processes, `modules` for binaries"),
    ] = "events"
    enabled: Annotated[Flag, Member("Whether the query is executed")] = True
    readonly: Annotated[Flag, Member("Whether only global administrators may change it")] = False
    group_id: Annotated[
        int, BeforeValidator(_group_id), _ID_IN, Member("Sensor group; -1 for all sensors")
    ] = ALL_GROUPS
    alliance_id: Annotated[NullForEmpty, Member("Always null", _READ_ONLY)] = ""
    from_alliance: Annotated[bool, Member("Always false", _READ_ONLY)] = False
    user_id: Annotated[int, Member("Id of the creator", _HIDDEN)] = 0
    date_added_us: Annotated[Instant, Member("Creation time", _READ_ONLY, "date_added")] = 0
    last_hit_us: Annotated[
        KnownInstant, Member("Time of the last hit", _READ_ONLY, "last_hit", unseen=None)
    ] = 0
    last_hit_count: Annotated[
        int, Member("Hits of the last execution with hits", _READ_ONLY, unseen=0)
    ] = 0
    total_hits: Annotated[Digits, Member("Total matches, as a string", _READ_ONLY, unseen="0")] = 0
    total_tags: Annotated[
        Digits, Member("Tagged documents, as a string", _READ_ONLY, unseen="0")
    ] = 0
    search_us: Annotated[
        KnownInstant, Member("Time of the last execution", _READ_ONLY, "search_timestamp")
    ] = 0
    last_result: Annotated[
        int,
        Member("0: success, 1: error, 2: stopped", _READ_ONLY, "last_execution_result"),
    ] = 0
    last_us: Annotated[
        DigitsOfMillis,
        Member(
            "CPU time of the last execution (ms), as a string",
            _READ_ONLY,
            "last_execution_time_ms",
            unseen="0",
        ),
    ] = 0
    last_error: Annotated[NullForEmpty, Member("Error of the last execution", _READ_ONLY)] = ""
    stopped: Annotated[NullForEmpty, Member("Reason of a stop; null: not stopped", _READ_ONLY)] = ""
    cost_us: Annotated[
        Millis, Member("CPU time in this hour (ms)", _READ_ONLY, "cost_ms", unseen=0)
    ] = 0
    cost_hour: Annotated[int, Member("Hour of `cost_us`, since 1970", _HIDDEN)] = 0
    past_ms: Annotated[int, Member("Backfill: windows before this time", _HIDDEN)] = 0
    past_from_ms: Annotated[int, Member("Backfill: windows from this time", _HIDDEN)] = 0

    @property
    def is_active(self) -> bool:
        """Whether the server executes the query."""
        return self.enabled and not self.stopped

    @property
    def has_past(
        self,
    ) -> Annotated[
        bool, Member("Whether older telemetry is yet to be searched", _READ_ONLY, "past_pending")
    ]:
        """Whether the query has yet to run on telemetry stored before the watchlist was saved."""
        return self.past_ms > self.past_from_ms


class WatchlistRequest(Request):
    """Further members of a body."""

    move_actions_from_watchlist_id: Annotated[
        int | None,
        BeforeValidator(_given_id),
        _ID_IN,
        Field(description="With a new query: id of the watchlist whose actions move here"),
    ] = None
    history: SentBack = None
    result: SentBack = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchlistVersion:
    """A current or earlier query of a watchlist, with the id it had."""

    id: Annotated[Digits, Member("Id, as a string", _READ_ONLY)]
    name: Annotated[str, Member("Name at that time", _READ_ONLY)]
    search_query: Annotated[str, Member("The query", _READ_ONLY)]
    index_type: Annotated[str, Member("`events` or `modules`", _READ_ONLY)]
    from_us: Annotated[Instant, Member("Time of saving", _READ_ONLY, "from")]
    until_us: Annotated[
        KnownInstant, Member("Time of replacement; null: current", _READ_ONLY, "until")
    ]


WATCHLIST: Final = answer_model(Watchlist)
WATCHLIST_VERSION: Final = answer_model(WatchlistVersion)
WATCHLIST_WITH_HISTORY: Final = answer_model(
    Watchlist, "WatchlistWithHistory", history=many(WATCHLIST_VERSION)
)
CHANGED_WATCHLIST: Final = answer_model(Watchlist, "ChangedWatchlist", result=Literal["success"])
NEW_WATCHLIST: Final = RecordBody("NewWatchlist", Watchlist, WatchlistRequest, creates=True)
WATCHLIST_CHANGE: Final = RecordBody("WatchlistChange", Watchlist, WatchlistRequest, creates=False)

"""Stored telemetry of a period, for rules that are tried on it: segments with their events, and
kept records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import SIGMA_IDS_A_QUERY
from vedette.model.columns import BINARY, EVENT_KINDS, KEY, METADATA
from vedette.model.scope import Scope
from vedette.query.compile.binary_sql import SCOPE_SENSORS
from vedette.query.compile.condition import SETTINGS
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.column_lists import readable, readable_array
from vedette.store.sql.scope_filter import scope_params

Row = dict[str, Any]

Literals = Mapping[str, Sequence[str]]
"""Maps column to texts that are searched in it, ignoring case: one of the texts is in one of the
columns. Empty: nothing is known."""

RECORD_VALUES: Final = "mapValues(fields)"
"""The key of `Literals` for all values of a record."""

_TYPES: Final = {column.name: column.type for column in (*KEY, *METADATA)}
_EVENTS: Final = {column.name: column.type for kind in EVENT_KINDS for column in kind.columns}
_RECORD: Final = (
    "hostname",
    "sensor_id",
    "time",
    "channel",
    "event_id",
    "record_id",
    "provider",
    "fields",
    "record_key",
)
_VERSIONS: Final = tuple(column.name for column in BINARY if column.type == "text")


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A period of the server's clock, in which data was stored; epoch milliseconds."""

    from_ms: int
    until_ms: int
    events_from_us: int = 0
    """With `events_until_us`, the event times (epoch microseconds) outside of which records are
    omitted; also omits segments whose newest event is older."""
    events_until_us: int = 0
    """0: events of any time."""

    @property
    def params(self) -> dict[str, int]:
        return {
            **{"span_from": self.from_ms, "span_until": self.until_ms},
            **{"events_from": self.events_from_us, "events_until": self.events_until_us},
        }

    @property
    def segment_condition(self) -> str:
        if not self.events_until_us:
            return ""
        return " AND last_update >= fromUnixTimestamp64Micro({events_from:Int64}, 'UTC')"

    @property
    def record_condition(self) -> str:
        if not self.events_until_us:
            return ""
        return (
            " AND time >= fromUnixTimestamp64Micro({events_from:Int64}, 'UTC')"
            " AND time < fromUnixTimestamp64Micro({events_until:Int64}, 'UTC')"
        )


def newest_stored_ms(engine: Engine, reach: Reach) -> int:
    """Returns the newest time (epoch milliseconds of the server's clock) at which a `StoredSpan`
    may begin; 0 for an empty store."""
    newest = (
        "SELECT max(window_ms) FROM segment",
        "SELECT toUInt64(max(toUnixTimestamp64Milli(committed))) FROM record",
    )
    return max(
        int(engine.query(sql, deadline_s=reach.left_s(), cancel=reach.cancel).rows[0][0])
        for sql in newest
    )


def stored_before(
    engine: Engine, process_ids: Sequence[str], from_ms: int, reach: Reach
) -> set[str]:
    """Returns the processes of which anything was stored before a time (epoch milliseconds of the
    server's clock)."""
    found: set[str] = set()
    for at in range(0, len(process_ids), SIGMA_IDS_A_QUERY):
        some = list(process_ids[at : at + SIGMA_IDS_A_QUERY])
        rows = engine.query(
            "SELECT DISTINCT process_id FROM segment "
            "WHERE process_id IN {ids:Array(String)} AND window_ms < {before:UInt64}",
            {"ids": some, "before": from_ms},
            deadline_s=reach.left_s(),
            cancel=reach.cancel,
        ).rows
        found |= {row[0] for row in rows}
    return found


def stored_segments(
    engine: Engine,
    columns: Sequence[str],
    literals: Literals,
    scope: Scope,
    span: StoredSpan,
    reach: Reach,
) -> Iterator[list[Row]]:
    """Yields the segments of windows that began in the period, in blocks, unordered."""
    narrowed, params = _narrowed(literals)
    sql = (
        f"SELECT {', '.join(map(_readable, columns))} FROM segment FINAL "
        "WHERE window_ms >= {span_from:UInt64} AND window_ms < {span_until:UInt64}"
        f"{span.segment_condition}{_in_scope(scope)}{narrowed}"
    )
    yield from _blocks(engine, sql, columns, {**params, **span.params}, scope, reach)


def stored_records(
    engine: Engine,
    channels: frozenset[str] | None,
    literals: Literals,
    scope: Scope,
    span: StoredSpan,
    reach: Reach,
) -> Iterator[list[Row]]:
    """Yields the records kept in the period, of `channels` in lower case (None: any channel)."""
    narrowed, params = _narrowed(literals)
    chosen = ""
    if channels is not None:
        chosen = " AND lower(channel) IN {channels:Array(String)}"
        params["channels"] = sorted(channels)
    sql = (
        f"SELECT {', '.join(_RECORD)} FROM record "
        "WHERE committed >= fromUnixTimestamp64Milli({span_from:Int64}, 'UTC') "
        "AND committed < fromUnixTimestamp64Milli({span_until:Int64}, 'UTC')"
        f"{span.record_condition}{chosen}{_in_scope(scope)}{narrowed}"
    )
    yield from _blocks(engine, sql, _RECORD, {**params, **span.params}, scope, reach)


def file_versions(engine: Engine, scope: Scope, span: StoredSpan, reach: Reach) -> dict[str, Row]:
    """Maps MD5 to version information for the files of the period's processes and modules."""
    wanted = ", ".join(f"max(`{name}`)" for name in _VERSIONS)
    rows = engine.query(
        f"SELECT md5, {wanted} FROM binary WHERE md5 != ''{_in_scope(scope)} AND md5 GLOBAL IN ("
        "SELECT arrayJoin(arrayPushBack(modload_md5, process_md5)) FROM segment "
        "WHERE window_ms >= {span_from:UInt64} AND window_ms < {span_until:UInt64}"
        f"{_in_scope(scope)}) GROUP BY md5",
        {**scope_params(scope), **span.params},
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ).rows
    return {row[0]: dict(zip(_VERSIONS, row[1:], strict=True)) for row in rows}


def _blocks(
    engine: Engine,
    sql: str,
    columns: Sequence[str],
    params: Mapping[str, Any],
    scope: Scope,
    reach: Reach,
) -> Iterator[list[Row]]:
    with engine.stream(
        sql,
        {**params, **scope_params(scope)},
        settings=SETTINGS,
        deadline_s=reach.left_s(),
        cancel=reach.cancel,
    ) as blocks:
        for rows in blocks:
            yield [dict(zip(columns, row, strict=True)) for row in rows]
            reach.left_s()  # raises at the deadline: the reader works between blocks


def _in_scope(scope: Scope) -> str:
    return "" if scope.sees_all else f" AND sensor_id IN {{{SCOPE_SENSORS}:Array(UInt32)}}"


def _narrowed(literals: Literals) -> tuple[str, dict[str, Any]]:
    """Returns a condition that is true if one of the literals is found."""
    if not literals:
        return "", {}
    parts, params = [], {}
    for number, (column, texts) in enumerate(sorted(literals.items())):
        name = f"literals_{number}"
        params[name] = sorted(texts)
        parts.append(_found(column, f"{{{name}:Array(String)}}"))
    return f" AND ({' OR '.join(parts)})", params


def _found(column: str, texts: str) -> str:
    if column == RECORD_VALUES or column in _EVENTS:
        values = column if column == RECORD_VALUES else f"`{column}`"
        return f"arrayExists(value -> multiSearchAnyCaseInsensitive(value, {texts}), {values})"
    return f"multiSearchAnyCaseInsensitive(`{column}`, {texts})"


def _readable(name: str) -> str:
    if name in _EVENTS:
        return readable_array(name, _EVENTS[name])
    return readable(f"`{name}`", _TYPES[name])

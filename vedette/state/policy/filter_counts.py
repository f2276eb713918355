"""Statistics of ingress filters: the share of matched processes by minute, and dropped events by
hour. Counts of several servers add up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, delete, func, select, update

from vedette.limits import FILTER_DROPPED_HOURS, Limit
from vedette.model.ingress_filter import FilterCounts
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import FILTER_DROPPED, FILTER_RATE

FILTER_RATE_MINUTES: Limit[int] = 15
"""Minutes over which the `hit_rate` of an ingress filter is computed."""


_MINUTE_US: Final = 60 * 1_000_000
_HOUR_US: Final = 60 * _MINUTE_US


@dataclass(frozen=True, slots=True)
class Dropped:
    """Counts per hour, oldest first; the last hour is the current one."""

    events_by_hour: tuple[int, ...] = (0,) * FILTER_DROPPED_HOURS
    bytes_by_hour: tuple[int, ...] = (0,) * FILTER_DROPPED_HOURS

    @property
    def events(self) -> int:
        return sum(self.events_by_hour)

    @property
    def byte_count(self) -> int:
        return sum(self.bytes_by_hour)


@dataclass(frozen=True, slots=True)
class FilterActivity:
    """Recent statistics of a filter."""

    rate: float = 0.0
    """Share of processes in the last 15 minutes that the filter matched."""
    dropped: Dropped = Dropped()


NOTHING_DONE: Final = FilterActivity()


def add(database: Database, counts: FilterCounts, now_us: int) -> None:
    """Adds a server's counts since its last call, and deletes expired counts."""
    minute, hour = now_us // _MINUTE_US, now_us // _HOUR_US
    looked_at = {"": counts.judged} if counts.judged else {}
    with database.writing() as connection:
        old = FILTER_RATE.c.minute <= minute - FILTER_RATE_MINUTES
        connection.execute(delete(FILTER_RATE).where(old))
        for filter_id, count in sorted({**looked_at, **counts.hits}.items()):
            key = {"filter_id": filter_id, "minute": minute}
            _count(connection, FILTER_RATE, key, {"processes": count})
        old = FILTER_DROPPED.c.hour <= hour - FILTER_DROPPED_HOURS
        connection.execute(delete(FILTER_DROPPED).where(old))
        for filter_id, count in sorted(counts.events.items()):
            key = {"filter_id": filter_id, "hour": hour}
            more = {"events": count, "byte_count": counts.byte_counts.get(filter_id, 0)}
            _count(connection, FILTER_DROPPED, key, more)


def _count(
    connection: Connection, table: Table, key: Mapping[str, Any], more: Mapping[str, int]
) -> None:
    connection.execute(insert_new(connection, table), {**key, **dict.fromkeys(more, 0)})
    condition = [table.c[name] == value for name, value in key.items()]
    values = {name: table.c[name] + count for name, count in more.items()}
    connection.execute(update(table).where(*condition).values(**values))


def activity(database: Database, now_us: int) -> dict[str, FilterActivity]:
    """Maps filter id to statistics; omits filters without matches."""
    rates = hit_rates(database, now_us)
    dropped = dropped_by(database, now_us)
    return {
        name: FilterActivity(rates.get(name, 0.0), dropped.get(name, Dropped()))
        for name in rates.keys() | dropped.keys()
    }


def hit_rates(database: Database, now_us: int) -> dict[str, float]:
    """Maps filter id to the share of processes in the last 15 minutes that it matched; omits
    filters without matches."""
    since = now_us // _MINUTE_US - FILTER_RATE_MINUTES
    query = (
        select(FILTER_RATE.c.filter_id, func.sum(FILTER_RATE.c.processes))
        .where(FILTER_RATE.c.minute > since)
        .group_by(FILTER_RATE.c.filter_id)
    )
    with database.reading() as connection:
        counts = {filter_id: int(count) for filter_id, count in connection.execute(query)}
    looked_at = counts.pop("", 0)
    return {name: count / looked_at for name, count in counts.items()} if looked_at else {}


def dropped_by(database: Database, now_us: int) -> dict[str, Dropped]:
    """Maps filter id to its dropped events and bytes in the last 24 hours; omits filters that
    dropped nothing."""
    hours = [hour // _HOUR_US for hour in hours_until(now_us)]
    query = select(FILTER_DROPPED).where(FILTER_DROPPED.c.hour.in_(hours))
    found: dict[str, dict[int, tuple[int, int]]] = {}
    with database.reading() as connection:
        for filter_id, hour, events, byte_count in connection.execute(query):
            found.setdefault(filter_id, {})[hour] = (events, byte_count)
    return {
        name: Dropped(*zip(*(by_hour.get(hour, (0, 0)) for hour in hours), strict=True))
        for name, by_hour in found.items()
    }


def hours_until(now_us: int) -> range:
    """Start times (epoch us) of the hours in `Dropped`."""
    newest = now_us // _HOUR_US * _HOUR_US
    return range(newest - (FILTER_DROPPED_HOURS - 1) * _HOUR_US, newest + 1, _HOUR_US)


def forget(connection: Connection, filter_id: str) -> None:
    """Deletes a filter's counts in the transaction that deletes the filter."""
    for table in (FILTER_RATE, FILTER_DROPPED):
        connection.execute(delete(table).where(table.c.filter_id == filter_id))

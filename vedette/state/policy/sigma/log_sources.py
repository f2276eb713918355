"""Log sources: the event classes that have arrived, as counted by commits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import BigInteger, bindparam, case, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_rules import LOG_SOURCE

LOG_SOURCE_SILENT_S: Limit[int] = 24 * 3600
"""Seconds without an event after which a log source counts as stopped: daily jobs and logons at
least once a working day belong to most sources."""

Arrival = Literal["arrives", "stopped", "never"]
"""Whether events of a log source arrive: now, no longer, or not so far."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """Events of a class. Times are arrival times in epoch microseconds; 0 for never."""

    events: int = 0
    first_us: int = 0
    last_us: int = 0

    def arrival(self, now_us: int) -> Arrival:
        """Returns whether events arrive at `now_us`."""
        if not self.last_us:
            return "never"
        return "arrives" if now_us - self.last_us < LOG_SOURCE_SILENT_S * 1_000_000 else "stopped"


NEVER: Final = LogSource()

_S: Final = LOG_SOURCE.c
_NOW_US: Final = bindparam("now_us", type_=BigInteger)
_ADD: Final = (
    update(LOG_SOURCE)
    .where(_S.source == bindparam("of_source"))
    .values(
        events=_S.events + bindparam("more", type_=BigInteger),
        first_us=case((_S.first_us > 0, _S.first_us), else_=_NOW_US),
        last_us=case((_S.last_us > _NOW_US, _S.last_us), else_=_NOW_US),
    )
)
"""One statement, executed for many classes."""


def add(database: Database, arrived: Mapping[str, int], now_us: int) -> None:
    """Adds the events by class that a server has stored since its last call."""
    with database.writing() as connection:
        names = sorted(arrived)
        connection.execute(insert_new(connection, LOG_SOURCE), [{"source": name} for name in names])
        rows = [{"of_source": name, "more": arrived[name], "now_us": now_us} for name in names]
        connection.execute(_ADD, rows)


def load(database: Database) -> dict[str, LogSource]:
    """Maps class to its events, for all classes that have arrived."""
    with database.reading() as connection:
        rows = connection.execute(select(LOG_SOURCE)).all()
    return {row.source: LogSource(row.events, row.first_us, row.last_us) for row in rows}


def joined(arrived: Mapping[str, LogSource], sources: Iterable[str]) -> LogSource:
    """Returns the events of any of these classes."""
    found = [arrived[name] for name in sources if name in arrived]
    if not found:
        return NEVER
    return LogSource(
        sum(one.events for one in found),
        min(one.first_us for one in found),
        max(one.last_us for one in found),
    )

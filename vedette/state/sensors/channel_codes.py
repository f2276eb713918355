"""Numeric codes of channel names. A record's key is `code << 48 | record id`, so a code never
changes."""

import time
from collections import Counter
from collections.abc import Iterable
from threading import Lock

from sqlalchemy import Connection, func, select

from vedette import limits
from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import CHANNEL

CHANNEL_CHARS_MAX: Limit[int] = 255
"""Characters of a channel name; Windows allows 255."""

CHANNELS_FREE: Limit[int] = 4_096
"""Channel names that get a code at once; a Windows host has about 1,200."""

CHANNELS_AN_HOUR_MAX: Limit[int] = 256
"""Further channel names that get a code per hour, so that a sender of invented names does not use
up all codes within a day. Records of other channels are deduplicated by request."""

CHANNELS_GROUP_FREE: Limit[int] = 2_048
"""Channel names of one sensor group that get a code at once since the server's start: half of
`CHANNELS_FREE`, so that one group's senders leave room for others."""

CHANNELS_GROUP_AN_HOUR_MAX: Limit[int] = 128
"""Further channel names of one sensor group that get a code per hour."""


NO_CODE = 0
"""Code of a channel without one: its records have no own keys and are deduplicated by request."""


class Channels:
    """In-memory cache of the codes in the database. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._codes: dict[str, int] = {}
        self._hour = 0
        self._coded_this_hour = 0
        self._coded: Counter[int] = Counter()
        """New names by sensor group since the start."""
        self._coded_of_hour: Counter[int] = Counter()
        """New names of this hour beyond `CHANNELS_GROUP_FREE`, by sensor group."""
        self._lock = Lock()

    def codes(self, names: Iterable[str], group_id: int) -> dict[str, int]:
        """Maps every name to its code, 1 to `CHANNELS_MAX`; names are case-sensitive. New names get
        a code that is durable on return. `NO_CODE` for empty or unprintable names, and above the
        limits of the server and of the sending sensor group. Raises UnavailableError when the
        database does not answer."""
        wanted = set(names)
        unseen = sorted(name for name in wanted if name not in self._codes and _can_have_code(name))
        if unseen:
            self._take_in(unseen, group_id)
        return {name: self._codes.get(name, NO_CODE) for name in wanted}

    def _take_in(self, names: list[str], group_id: int) -> None:
        with self._database.writing() as connection:
            found = _known(connection, names)
            taken = connection.scalar(select(func.max(CHANNEL.c.code))) or 0
            room = self._room(taken, group_id)
            new = [{"name": name} for name in names if name not in found][:room]
            if new:
                connection.execute(insert_new(connection, CHANNEL), new)
                found |= _known(connection, names)
        with self._lock:
            self._codes |= found
            self._coded_this_hour += min(len(new), max(0, taken + len(new) - CHANNELS_FREE))
            self._coded[group_id] += len(new)
            beyond = max(0, self._coded[group_id] - CHANNELS_GROUP_FREE)
            self._coded_of_hour[group_id] += min(len(new), beyond)

    def _room(self, taken: int, group_id: int) -> int:
        """Returns how many new names may get a code now."""
        hour = int(time.monotonic() // 3_600)
        with self._lock:
            if hour != self._hour:
                self._hour, self._coded_this_hour = hour, 0
                self._coded_of_hour.clear()
            of_group = max(0, CHANNELS_GROUP_FREE - self._coded[group_id]) + max(
                0, CHANNELS_GROUP_AN_HOUR_MAX - self._coded_of_hour[group_id]
            )
            of_hour = CHANNELS_AN_HOUR_MAX - self._coded_this_hour
        free = max(CHANNELS_FREE - taken, 0)
        return max(0, min(limits.CHANNELS_MAX - taken, of_group, free + max(of_hour, 0)))


def channel_names(database: Database) -> dict[int, str]:
    """Maps every code to its name."""
    with database.reading() as connection:
        rows = connection.execute(select(CHANNEL.c.code, CHANNEL.c.name))
        return dict(rows.tuples().all())


def _can_have_code(name: str) -> bool:
    return 0 < len(name) <= CHANNEL_CHARS_MAX and name.isprintable()


def _known(connection: Connection, names: list[str]) -> dict[str, int]:
    query = select(CHANNEL.c.name, CHANNEL.c.code).where(CHANNEL.c.code <= limits.CHANNELS_MAX)
    rows = connection.execute(query.where(CHANNEL.c.name.in_(names)))
    return dict(rows.all())

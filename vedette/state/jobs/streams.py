"""Streams of process analysis: owner, position and expiry (docs/process-analysis.md#streams).

Any server reads and moves any stream, so changes use optimistic locking: a change names the version
it started from and fails if the version has changed. A stream that is not persistent expires after
its time to live without use. Its tombstone stays for `STREAM_TOMBSTONE_S`, then `remove_dead`
deletes it.
"""

import secrets
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Connection, Row, and_, delete, insert, or_, select, update

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.event_facets import Criteria
from vedette.state.db.database import Database
from vedette.state.db.schema import STREAM, USER
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import STREAMS

STREAM_TOMBSTONE_S: Limit[int] = 24 * 3600
"""Time (s) for which an expired stream stays as a tombstone, so that its reader gets the reason."""

STREAM_TOUCH_S_MAX: Limit[int] = 60
"""Interval (s) at which reads that move nothing record the use of a stream. A stream may outlive
`stream_ttl_s` by this."""


_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Stream:
    """A stored stream. Its position is the event at `segment_offset` among those events of the
    segment that match the criteria."""

    id: str
    process_id: str
    is_persistent: bool
    criteria: Criteria
    ref_segment_id: int
    segment_id: int
    segment_offset: int
    version: int = 0
    used_us: int = 0


def create(database: Database, username: str, new: Stream, ttl_s: int, now_us: int) -> Stream:
    """Creates a stream for a user, with a new id instead of the id of `new`.

    Raises ConflictError above the quota of streams, NotFoundError for an unknown user.
    """
    made = replace(new, id=secrets.token_hex(16), used_us=now_us)
    with database.writing() as connection:
        user_id = connection.scalar(select(USER.c.id).where(USER.c.username == username))
        if user_id is None:
            raise NotFoundError(f"user {username!r} not found")
        _check_room(connection, user_id, ttl_s, now_us)
        row = _values(made) | {"id": made.id, "user_id": user_id, "created_us": now_us}
        connection.execute(insert(STREAM).values(row))
    return made


def load(database: Database, username: str, stream_id: str, ttl_s: int, now_us: int) -> Stream:
    """Returns a live stream of a user. Raises NotFoundError, with the reason `stream_expired` if it
    expired recently."""
    query = select(STREAM).join(USER).where(STREAM.c.id == stream_id, USER.c.username == username)
    with database.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFoundError(f"stream {stream_id!r} not found")
    stream = _stream(row)
    if not stream.is_persistent and stream.used_us < _dead_before_us(ttl_s, now_us):
        raise NotFoundError(
            f"stream {stream_id!r} expired after {ttl_s} seconds without use",
            reason="stream_expired",
        )
    return stream


def save(database: Database, stream: Stream, ttl_s: int, now_us: int) -> bool:
    """Saves a changed stream; False if another request changed it meanwhile."""
    version = STREAM.c.version == stream.version
    alive = or_(STREAM.c.persistent, STREAM.c.used_us >= _dead_before_us(ttl_s, now_us))
    row = _values(stream) | {"version": stream.version + 1, "used_us": now_us}
    change = update(STREAM).where(STREAM.c.id == stream.id, version, alive).values(row)
    with database.writing() as connection:
        return bool(connection.execute(change).rowcount)


def touch(database: Database, stream: Stream, ttl_s: int, now_us: int) -> None:
    """Records the use of a stream, at most every few seconds."""
    if now_us - stream.used_us < _coarse_us(ttl_s):
        return
    used = update(STREAM).where(STREAM.c.id == stream.id, STREAM.c.used_us < now_us)
    with database.writing() as connection:
        connection.execute(used.values(used_us=now_us))


def remove(database: Database, stream: Stream) -> None:
    """Deletes a stream. Idempotent."""
    with database.writing() as connection:
        connection.execute(delete(STREAM).where(STREAM.c.id == stream.id))


def remove_dead(database: Database, ttl_s: int, now_us: int) -> int:
    """Deletes tombstones older than `STREAM_TOMBSTONE_S` and returns their number."""
    evicted_us = _dead_before_us(ttl_s, now_us) - STREAM_TOMBSTONE_S * _SECOND_US
    dead = and_(STREAM.c.persistent.is_(False), STREAM.c.used_us < evicted_us)
    with database.writing() as connection:
        return connection.execute(delete(STREAM).where(dead)).rowcount


def _check_room(connection: Connection, user_id: int, ttl_s: int, now_us: int) -> None:
    alive = or_(STREAM.c.persistent, STREAM.c.used_us >= _dead_before_us(ttl_s, now_us))
    check_room(connection, STREAMS, None, STREAM.c.user_id == user_id, alive)


def _dead_before_us(ttl_s: int, now_us: int) -> int:
    """Returns the time (us) before which a recorded last use means expiry; allows for delayed
    recording."""
    return now_us - ttl_s * _SECOND_US - _coarse_us(ttl_s)


def _coarse_us(ttl_s: int) -> int:
    return min(STREAM_TOUCH_S_MAX * _SECOND_US, ttl_s * _SECOND_US // 20)


def _values(stream: Stream) -> dict[str, Any]:
    return {
        "process_id": stream.process_id,
        "persistent": stream.is_persistent,
        "criteria": orjson.dumps(dict(stream.criteria)).decode(),
        "ref_segment_id": stream.ref_segment_id,
        "segment_id": stream.segment_id,
        "segment_offset": stream.segment_offset,
        "version": stream.version,
        "used_us": stream.used_us,
    }


def _stream(row: Row[Any]) -> Stream:
    criteria = orjson.loads(row.criteria or "{}")
    return Stream(
        id=row.id,
        process_id=row.process_id,
        is_persistent=row.persistent,
        criteria=tuple((name, tuple(ids)) for name, ids in sorted(criteria.items())),
        ref_segment_id=row.ref_segment_id,
        segment_id=row.segment_id,
        segment_offset=row.segment_offset,
        version=row.version,
        used_us=row.used_us,
    )

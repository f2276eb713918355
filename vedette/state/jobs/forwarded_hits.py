"""Hits of watchlists and feeds that wait for forwarders.

They are written in the transaction that advances the watermark of their detections, and only while
a forwarder subscribes to them. Writers of detections hold the lock `ALERT_WRITERS` until the
transaction ends, so ids become visible in order.
"""

from collections.abc import Iterable, Sequence

import structlog
from sqlalchemy import Connection, delete, func, insert, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema_forwarder import FORWARDED_HIT, FORWARDER_STREAM

FORWARDED_HITS_MAX: Limit[int] = 500_000
"""Waiting hits, about a gigabyte: a destination that is down for long must not fill the disk. Above
it, the oldest hits are deleted and counted as lost, which operators see."""

FORWARD_HITS_PURGED: Limit[int] = 5_000
"""Hits deleted per transaction after all forwarders have sent them; takes milliseconds."""


log = structlog.get_logger(__name__)

TYPE = "watchlist.hit"


def is_wanted(connection: Connection) -> bool:
    """Whether any forwarder, including disabled ones, subscribes to hits."""
    query = select(FORWARDER_STREAM.c.type).where(FORWARDER_STREAM.c.type == TYPE).limit(1)
    return connection.execute(query).first() is not None


def keep(connection: Connection, bodies: Iterable[str], now_us: int) -> None:
    """Adds records, each as JSON."""
    rows = [{"body": body, "created_us": now_us} for body in bodies]
    if rows:
        connection.execute(insert(FORWARDED_HIT), rows)


def newest(database: Database) -> int:
    """Returns the id of the newest hit; if none waits, the highest position of a forwarder."""
    furthest = select(func.max(FORWARDER_STREAM.c.position)).where(FORWARDER_STREAM.c.type == TYPE)
    with database.reading() as connection:
        waiting = connection.scalar(select(func.max(FORWARDED_HIT.c.id))) or 0
        return max(waiting, connection.scalar(furthest) or 0)


def after(database: Database, position: int, rows: int) -> Sequence[tuple[int, int, str]]:
    """Returns (id, time, record) of up to `rows` hits after `position`."""
    query = (
        select(FORWARDED_HIT.c.id, FORWARDED_HIT.c.created_us, FORWARDED_HIT.c.body)
        .where(FORWARDED_HIT.c.id > position)
        .order_by(FORWARDED_HIT.c.id)
        .limit(rows)
    )
    with database.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def purge(database: Database) -> None:
    """Deletes hits that every forwarder has sent, or all hits if no forwarder subscribes to them.
    Then deletes the oldest hits above `FORWARDED_HITS_MAX` and counts them as lost for forwarders
    that have not sent them."""
    while _purge_sent(database) == FORWARD_HITS_PURGED:
        continue
    while _drop_oldest(database):
        continue


def _purge_sent(database: Database) -> int:
    """Deletes up to `FORWARD_HITS_PURGED` sent hits. Returns their number."""
    with database.writing() as connection:
        query = select(func.min(FORWARDER_STREAM.c.position), func.count()).where(
            FORWARDER_STREAM.c.type == TYPE
        )
        slowest, count = connection.execute(query).one()
        some = select(FORWARDED_HIT.c.id).order_by(FORWARDED_HIT.c.id).limit(FORWARD_HITS_PURGED)
        if count:
            some = some.where(FORWARDED_HIT.c.id <= slowest)
        gone = connection.execute(delete(FORWARDED_HIT).where(FORWARDED_HIT.c.id.in_(some)))
        return gone.rowcount


def _drop_oldest(database: Database) -> int:
    """Deletes up to `FORWARD_HITS_PURGED` of the excess hits. Returns their number."""
    with database.reading() as connection:
        waiting = connection.scalar(select(func.count()).select_from(FORWARDED_HIT)) or 0
    most = min(waiting - FORWARDED_HITS_MAX, FORWARD_HITS_PURGED)
    if most <= 0:
        return 0
    with database.writing() as connection:
        oldest = select(FORWARDED_HIT.c.id).order_by(FORWARDED_HIT.c.id).limit(most)
        ids = connection.scalars(oldest).all() or [0]
        streams = FORWARDER_STREAM.c.type == TYPE
        for forwarder_id, position in connection.execute(
            select(FORWARDER_STREAM.c.forwarder_id, FORWARDER_STREAM.c.position).where(streams)
        ).all():
            lost = sum(one > position for one in ids)
            connection.execute(
                update(FORWARDER_STREAM)
                .where(streams, FORWARDER_STREAM.c.forwarder_id == forwarder_id)
                .values(lost=FORWARDER_STREAM.c.lost + lost)
            )
        connection.execute(delete(FORWARDED_HIT).where(FORWARDED_HIT.c.id <= ids[-1]))
    log.error("too many hits wait for forwarders; deleting the oldest", hits=len(ids))
    return len(ids)

"""Live queries: SQL for hosts with osquery, and their results."""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import LIVE_QUERY, LIVE_QUERY_TARGET
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import LIVE_QUERIES

LIVE_QUERY_CHARS_MAX: Limit[int] = 10_000
"""Characters of a live query."""

LIVE_QUERY_ROWS_BYTES_MAX: Limit[int] = 4 * 1024 * 1024
"""Bytes of stored rows per host and query."""

LIVE_QUERIES_HANDED_MAX: Limit[int] = 20
"""Live queries in one response to a host; the next response contains further ones."""

LIVE_QUERY_EXPIRES_US: Limit[int] = 24 * 3600 * 1_000_000
"""Time (us) for which a live query waits for offline hosts."""

LIVE_QUERY_KEPT_US: Limit[int] = 30 * 24 * 3600 * 1_000_000
"""Time (us) for which the answers of a live query are retained."""

LIVE_QUERIES_ANSWERED_MAX: Limit[int] = 2 * LIVE_QUERIES_HANDED_MAX
"""Answers stored from one request of a host: those to the queries sent last. A query whose answer
was not stored is sent again."""


@dataclass(frozen=True, slots=True)
class QueriedHost:
    """A target host of a query. `state` is waiting, sent, done, failed or expired."""

    sensor_id: int
    hostname: str
    state: str
    status: int
    message: str
    rows: list[dict[str, Any]]
    answered_us: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A host's answer to a query; `rows` is JSON."""

    query_id: int
    rows: str
    status: int
    message: str


@dataclass(frozen=True, slots=True)
class LiveQuery:
    """A query with its visible targets."""

    id: int
    sql: str
    username: str
    created_us: int
    expires_us: int
    targets: list[QueriedHost]


def place(database: Database, sql: str, sensor_ids: list[int], username: str, now_us: int) -> int:
    """Creates a query, which the hosts get at their next request, and returns its id.

    Raises BadRequestError for an empty or long query; ConflictError for a host without osquery and
    above the quota (`LIVE_QUERIES`).
    """
    if not sql.strip() or len(sql) > LIVE_QUERY_CHARS_MAX or "\0" in sql:
        raise BadRequestError(f"sql: 1 to {LIVE_QUERY_CHARS_MAX} characters")
    row = {
        "sql": sql,
        "username": username,
        "created_us": now_us,
        "expires_us": now_us + LIVE_QUERY_EXPIRES_US,
    }
    with database.writing() as connection:
        able = select(SENSOR.c.id).where(
            SENSOR.c.id.in_(sensor_ids), SENSOR.c.node_key_sha256.is_not(None)
        )
        unable = set(sensor_ids) - set(connection.scalars(able))
        if unable:
            raise ConflictError(f"sensor_ids: sensor {min(unable)} has no osquery")
        check_room(connection, LIVE_QUERIES, username, LIVE_QUERY.c.expires_us > now_us)
        query_id = connection.execute(insert(LIVE_QUERY).values(row).returning(LIVE_QUERY.c.id))
        number: int = query_id.scalar_one()
        targets = [{"query_id": number, "sensor_id": one} for one in sorted(set(sensor_ids))]
        connection.execute(insert(LIVE_QUERY_TARGET), targets)
    return number


def waiting_for(database: Database, sensor_id: int) -> bool:
    """Whether a host has an open query. Read-only, since most hosts have none."""
    query = select(LIVE_QUERY_TARGET.c.query_id).where(_is_open(sensor_id)).limit(1)
    with database.reading() as connection:
        return connection.scalar(query) is not None


def hand_out(connection: Connection, sensor_id: int, now_us: int) -> dict[str, str]:
    """Returns a host's unanswered queries by id and marks them as sent: at most
    `LIVE_QUERIES_HANDED_MAX`, never sent or least recently sent first."""
    query = (
        select(LIVE_QUERY.c.id, LIVE_QUERY.c.sql)
        .join(LIVE_QUERY_TARGET, LIVE_QUERY_TARGET.c.query_id == LIVE_QUERY.c.id)
        .where(_is_open(sensor_id), LIVE_QUERY.c.expires_us > now_us)
        .order_by(LIVE_QUERY_TARGET.c.sent_us, LIVE_QUERY.c.id)
        .limit(LIVE_QUERIES_HANDED_MAX)
    )
    found = {row.id: row.sql for row in connection.execute(query)}
    if found:
        connection.execute(
            update(LIVE_QUERY_TARGET)
            .where(_is_open(sensor_id), LIVE_QUERY_TARGET.c.query_id.in_(found))
            .values(sent_us=now_us)
        )
    return {str(number): sql for number, sql in found.items()}


def sent_to(database: Database, sensor_id: int) -> frozenset[int]:
    """Returns ids of a host's queries that were sent and not answered: the most recent ones, at
    most `LIVE_QUERIES_ANSWERED_MAX`."""
    query = (
        select(LIVE_QUERY_TARGET.c.query_id)
        .where(_is_open(sensor_id), LIVE_QUERY_TARGET.c.sent_us > 0)
        .order_by(LIVE_QUERY_TARGET.c.sent_us.desc())
        .limit(LIVE_QUERIES_ANSWERED_MAX)
    )
    with database.reading() as connection:
        return frozenset(connection.scalars(query))


def encoded_answer(query_id: int, rows: list[Any], status: int, message: str) -> Answer:
    """Encodes an answer for storage; drops rows above `LIVE_QUERY_ROWS_BYTES_MAX`."""
    encoded = orjson.dumps(rows)
    if len(encoded) > LIVE_QUERY_ROWS_BYTES_MAX:
        encoded, message = b"[]", f"{len(encoded)} bytes of rows exceed the limit"
    return Answer(query_id, encoded.decode(), status, message)


def record(connection: Connection, sensor_id: int, answer: Answer, now_us: int) -> None:
    """Stores a host's first answer to a query that it was sent. Ignores other ids."""
    connection.execute(
        update(LIVE_QUERY_TARGET)
        .where(
            _is_open(sensor_id),
            LIVE_QUERY_TARGET.c.query_id == answer.query_id,
            LIVE_QUERY_TARGET.c.sent_us > 0,
        )
        .values(answered_us=now_us, status=answer.status, message=answer.message, rows=answer.rows)
    )


def get(database: Database, scope: Scope, query_id: int, now_us: int) -> LiveQuery:
    """Returns a query with its targets within the scope. Raises NotFoundError, also if none is in
    scope."""
    targets = (
        select(LIVE_QUERY_TARGET, SENSOR.c.hostname)
        .join(SENSOR, SENSOR.c.id == LIVE_QUERY_TARGET.c.sensor_id)
        .where(LIVE_QUERY_TARGET.c.query_id == query_id)
        .order_by(LIVE_QUERY_TARGET.c.sensor_id)
    )
    with database.reading() as connection:
        query = select(LIVE_QUERY).where(LIVE_QUERY.c.id == query_id)
        row = connection.execute(query).mappings().first()
        found = connection.execute(targets).mappings().all()
    seen = [one for one in found if scope.allows(one["sensor_id"])]
    if row is None or not seen:
        raise NotFoundError(f"live query {query_id} not found")
    is_over = now_us >= row["expires_us"]
    return LiveQuery(**row, targets=[_target(one, is_over) for one in seen])


def _target(row: Any, is_over: bool) -> QueriedHost:
    if row["answered_us"]:
        state = "failed" if row["status"] else "done"
    elif is_over:
        state = "expired"
    else:
        state = "sent" if row["sent_us"] else "waiting"
    return QueriedHost(
        row["sensor_id"],
        row["hostname"],
        state,
        row["status"],
        row["message"],
        orjson.loads(row["rows"]) if row["rows"] else [],
        row["answered_us"],
    )


def _is_open(sensor_id: int) -> Any:
    return (LIVE_QUERY_TARGET.c.sensor_id == sensor_id) & (LIVE_QUERY_TARGET.c.answered_us == 0)


def delete_old(connection: Connection, now_us: int) -> None:
    """Deletes old queries with their answers. Called by a job that consults the clock guard."""
    before_us = now_us - LIVE_QUERY_KEPT_US
    connection.execute(delete(LIVE_QUERY).where(LIVE_QUERY.c.created_us < before_us))

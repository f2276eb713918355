"""Live queries: SQL for hosts with osquery, and the rows that they answered."""

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from vedette import limits
from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import LIVE_QUERY, LIVE_QUERY_TARGET


@dataclass(frozen=True, slots=True)
class QueriedHost:
    """One host of a query. `state` is waiting, sent, done, failed or expired."""

    sensor_id: int
    hostname: str
    state: str
    status: int
    message: str
    rows: list[dict[str, Any]]
    answered_us: int


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
    """Create a query for hosts, which get it at their next request; returns its id.

    Raises BadRequestError for an empty or long query, ConflictError for a host without osquery.
    """
    if not sql.strip() or len(sql) > limits.LIVE_QUERY_CHARS_MAX or "\0" in sql:
        raise BadRequestError(f"sql: 1 to {limits.LIVE_QUERY_CHARS_MAX} characters")
    row = {
        "sql": sql,
        "username": username,
        "created_us": now_us,
        "expires_us": now_us + limits.LIVE_QUERY_EXPIRES_US,
    }
    with database.writing() as connection:
        able = select(SENSOR.c.id).where(
            SENSOR.c.id.in_(sensor_ids), SENSOR.c.node_key_sha256.is_not(None)
        )
        unable = set(sensor_ids) - set(connection.scalars(able))
        if unable:
            raise ConflictError(f"sensor_ids: sensor {min(unable)} has no osquery to ask")
        query_id = connection.execute(insert(LIVE_QUERY).values(row).returning(LIVE_QUERY.c.id))
        number: int = query_id.scalar_one()
        targets = [{"query_id": number, "sensor_id": one} for one in sorted(set(sensor_ids))]
        connection.execute(insert(LIVE_QUERY_TARGET), targets)
    return number


def waiting_for(database: Database, sensor_id: int) -> bool:
    """Whether a host has a query to answer. Reads only: most hosts have none."""
    query = select(LIVE_QUERY_TARGET.c.query_id).where(_is_open(sensor_id)).limit(1)
    with database.reading() as connection:
        return connection.scalar(query) is not None


def hand_out(connection: Connection, sensor_id: int, now_us: int) -> dict[str, str]:
    """The queries of a host that it has not answered, by id."""
    query = (
        select(LIVE_QUERY.c.id, LIVE_QUERY.c.sql)
        .join(LIVE_QUERY_TARGET, LIVE_QUERY_TARGET.c.query_id == LIVE_QUERY.c.id)
        .where(_is_open(sensor_id), LIVE_QUERY.c.expires_us > now_us)
    )
    found = {str(number): sql for number, sql in connection.execute(query)}
    if found:
        connection.execute(
            update(LIVE_QUERY_TARGET)
            .where(_is_open(sensor_id), LIVE_QUERY_TARGET.c.sent_us == 0)
            .values(sent_us=now_us)
        )
    return found


def answer(
    connection: Connection,
    sensor_id: int,
    query_id: int,
    rows: list[Any],
    status: int,
    message: str,
    now_us: int,
) -> None:
    """Store a host's answer; the first one counts. Ids of queries for other hosts are ignored."""
    encoded = orjson.dumps(rows)
    if len(encoded) > limits.LIVE_QUERY_ROWS_BYTES_MAX:
        encoded, message = b"[]", f"{len(encoded)} bytes of rows, more than are kept"
    connection.execute(
        update(LIVE_QUERY_TARGET)
        .where(_is_open(sensor_id), LIVE_QUERY_TARGET.c.query_id == query_id)
        .values(answered_us=now_us, status=status, message=message, rows=encoded.decode())
    )


def get(database: Database, scope: Scope, query_id: int, now_us: int) -> LiveQuery:
    """A query with its targets within the scope. Raises NotFoundError, also when it has none."""
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
        raise NotFoundError(f"there is no live query {query_id}")
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
    """Deletes the queries of long ago with their answers. A job does, which asks the clock
    guard."""
    before_us = now_us - limits.LIVE_QUERY_KEPT_US
    connection.execute(delete(LIVE_QUERY).where(LIVE_QUERY.c.created_us < before_us))

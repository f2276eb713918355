"""Responses by rule as a record: what was decided for a detection, what became of it, and until
when it holds. Nothing here is deleted when its policy is."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, update

from vedette.limits import RESPONSE_TEXT_CHARS_MAX
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_actions import RESPONSE


class ResponseState(IntEnum):
    """What became of a response."""

    PENDING = 0
    DONE = 1
    """It holds now."""
    SKIPPED = 2
    """It was not done on purpose; `text` says why."""
    FAILED = 3
    ENDED = 4
    """It was undone when its time had come."""
    TAKEN_OVER = 5
    """A person has decided since; it is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResponse:
    """A response to a detection."""

    policy_id: int
    policy_name: str
    detection_id: str
    action: str
    subject: str
    """Id of the sensor, or an MD5."""
    sensor_id: int
    rule_id: str
    title: str
    skipped: str = ""
    """Why it is not to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A stored response. Times in epoch microseconds, 0 for never."""

    id: int
    policy_id: int
    policy_name: str
    detection_id: str
    state: ResponseState
    action: str
    subject: str
    sensor_id: int
    rule_id: str
    title: str
    created_us: int
    done_us: int
    ends_us: int
    undone_us: int
    text: str


def record(connection: Connection, new: Iterable[NewResponse], now_us: int) -> None:
    """Write those that are not there yet: one for a policy and a detection."""
    for one in new:
        state = ResponseState.SKIPPED if one.skipped else ResponseState.PENDING
        row = {
            "policy_id": one.policy_id,
            "policy_name": one.policy_name,
            "detection_id": one.detection_id,
            "state": state,
            "action": one.action,
            "subject": one.subject,
            "sensor_id": one.sensor_id,
            "rule_id": one.rule_id,
            "title": one.title,
            "created_us": now_us,
            "text": one.skipped,
        }
        connection.execute(insert_new(connection, RESPONSE), row)


def pending(database: Database) -> list[Response]:
    """In the order of their detections."""
    return _read(database, RESPONSE.c.state == ResponseState.PENDING)


def ended(database: Database, now_us: int) -> list[Response]:
    """Those that hold and whose time has come."""
    is_over = (RESPONSE.c.ends_us > 0) & (RESPONSE.c.ends_us <= now_us)
    return _read(database, (RESPONSE.c.state == ResponseState.DONE) & is_over)


def in_force(database: Database, action: str, subject: str) -> Response | None:
    """The response that made a host isolated, or a file banned."""
    same = (RESPONSE.c.action == action) & (RESPONSE.c.subject == subject)
    return next(iter(_read(database, same & (RESPONSE.c.state == ResponseState.DONE))), None)


def done_since(database: Database, policy_id: int, since_us: int) -> int:
    """How many responses of a policy were carried out since."""
    query = select(func.count()).where(
        RESPONSE.c.policy_id == policy_id,
        RESPONSE.c.done_us >= since_us,
        RESPONSE.c.done_us > 0,
        RESPONSE.c.state != ResponseState.PENDING,
    )
    with database.reading() as connection:
        return connection.scalar(query) or 0


def begin(database: Database, response_id: int, now_us: int) -> None:
    """Record that a pending response is about to be carried out: what is found done after a crash
    was done by it."""
    with database.writing() as connection:
        connection.execute(
            update(RESPONSE).where(RESPONSE.c.id == response_id).values(done_us=now_us)
        )


def finish(
    database: Database,
    response_id: int,
    state: ResponseState,
    *,
    text: str = "",
    done_us: int | None = None,
    ends_us: int | None = None,
    undone_us: int | None = None,
) -> None:
    """Record what became of a response."""
    values: dict[str, Any] = {"state": state, "text": text[:RESPONSE_TEXT_CHARS_MAX]}
    times = {"done_us": done_us, "ends_us": ends_us, "undone_us": undone_us}
    values |= {name: value for name, value in times.items() if value is not None}
    with database.writing() as connection:
        connection.execute(update(RESPONSE).where(RESPONSE.c.id == response_id).values(values))


def prolong(database: Database, response_id: int, ends_us: int) -> None:
    """Let a response that holds end later; 0 never. An end is never brought forward."""
    change = update(RESPONSE).where(RESPONSE.c.id == response_id, RESPONSE.c.ends_us > 0)
    if ends_us:
        change = change.where(RESPONSE.c.ends_us < ends_us)
    with database.writing() as connection:
        connection.execute(change.values(ends_us=ends_us))


def take_over(database: Database, action: str, subject: str, username: str) -> None:
    """A person has decided about the host or file: no response undoes that later."""
    same = (RESPONSE.c.action == action) & (RESPONSE.c.subject == subject)
    with database.writing() as connection:
        connection.execute(
            update(RESPONSE)
            .where(same & (RESPONSE.c.state == ResponseState.DONE))
            .values(state=ResponseState.TAKEN_OVER, text=f"{username} decided")
        )


def page(database: Database, before_id: int, count: int) -> list[Response]:
    """The newest first; `before_id` 0 begins with the newest."""
    query = select(RESPONSE).order_by(RESPONSE.c.id.desc()).limit(count)
    if before_id:
        query = query.where(RESPONSE.c.id < before_id)
    with database.reading() as connection:
        return [_response(row) for row in connection.execute(query).mappings()]


def _read(database: Database, condition: Any) -> list[Response]:
    query = select(RESPONSE).where(condition).order_by(RESPONSE.c.id)
    with database.reading() as connection:
        return [_response(row) for row in connection.execute(query).mappings()]


def _response(row: RowMapping) -> Response:
    return Response(**dict(row) | {"state": ResponseState(row["state"])})

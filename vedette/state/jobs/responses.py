"""Automatic responses on record: the decision for a detection, its outcome, and its end. Records
outlive their policies."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_actions import RESPONSE

RESPONSE_TEXT_CHARS_MAX: Limit[int] = 1_000
"""Characters of a stored outcome."""


class ResponseState(IntEnum):
    """Outcome of a response."""

    PENDING = 0
    DONE = 1
    """The response is in effect."""
    SKIPPED = 2
    """The response was intentionally not performed; `text` has the reason."""
    FAILED = 3
    ENDED = 4
    """The response was undone at its end."""
    TAKEN_OVER = 5
    """A user decided about the host or file later; the server will not undo the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResponse:
    """A response to a detection."""

    policy_id: int
    policy_name: str
    detection_id: str
    action: str
    subject: str
    """Sensor id, or an MD5."""
    sensor_id: int
    rule_id: str
    title: str
    skipped: str = ""
    """Reason for not performing it; "" to perform it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A stored response. Times are epoch microseconds; 0 for never."""

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
    """Writes new responses; skips existing ones (same policy and detection)."""
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
    """Returns pending responses in order of creation."""
    return _read(database, RESPONSE.c.state == ResponseState.PENDING)


def ended(database: Database, now_us: int) -> list[Response]:
    """Returns responses in effect whose end has passed."""
    is_over = (RESPONSE.c.ends_us > 0) & (RESPONSE.c.ends_us <= now_us)
    return _read(database, (RESPONSE.c.state == ResponseState.DONE) & is_over)


def in_force(database: Database, action: str, subject: str) -> Response | None:
    """Returns the response in effect that isolates the host or bans the file, or None."""
    same = (RESPONSE.c.action == action) & (RESPONSE.c.subject == subject)
    return next(iter(_read(database, same & (RESPONSE.c.state == ResponseState.DONE))), None)


def done_since(database: Database, policy_id: int, since_us: int) -> int:
    """Returns how many responses of a policy were performed since `since_us`."""
    query = select(func.count()).where(
        RESPONSE.c.policy_id == policy_id,
        RESPONSE.c.done_us >= since_us,
        RESPONSE.c.done_us > 0,
        RESPONSE.c.state != ResponseState.PENDING,
    )
    with database.reading() as connection:
        return connection.scalar(query) or 0


def begin(database: Database, response_id: int, now_us: int) -> None:
    """Records that a pending response is about to be performed, so that after a crash its effect is
    attributed to it."""
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
    """Records the outcome of a response."""
    values: dict[str, Any] = {"state": state, "text": text[:RESPONSE_TEXT_CHARS_MAX]}
    times = {"done_us": done_us, "ends_us": ends_us, "undone_us": undone_us}
    values |= {name: value for name, value in times.items() if value is not None}
    with database.writing() as connection:
        connection.execute(update(RESPONSE).where(RESPONSE.c.id == response_id).values(values))


def prolong(database: Database, response_id: int, ends_us: int) -> None:
    """Extends a response in effect; 0 for no end. Never shortens it."""
    change = update(RESPONSE).where(RESPONSE.c.id == response_id, RESPONSE.c.ends_us > 0)
    if ends_us:
        change = change.where(RESPONSE.c.ends_us < ends_us)
    with database.writing() as connection:
        connection.execute(change.values(ends_us=ends_us))


def take_over(database: Database, action: str, subject: str, username: str) -> None:
    """Records that a user decided about the host or file, so that no response undoes the decision
    later."""
    same = (RESPONSE.c.action == action) & (RESPONSE.c.subject == subject)
    with database.writing() as connection:
        connection.execute(
            update(RESPONSE)
            .where(same & (RESPONSE.c.state == ResponseState.DONE))
            .values(state=ResponseState.TAKEN_OVER, text=f"{username} decided")
        )


def page(database: Database, before_id: int, count: int) -> list[Response]:
    """Returns up to `count` responses before `before_id`, newest first; 0 starts with the
    newest."""
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

"""The outbox: messages to send, in order per target, at least once.

A message is written in the transaction that makes it due. Its key deduplicates it permanently:
after sending, the row stays as a tombstone without a body.

A target is a unit that can fail alone: the mail server, the syslog server, a webhook. Attempts and
backoff belong to the target, since a later message must not overtake an earlier one. Only a message
that the receiver rejects for its content is given up alone; it stays visible as dead. A sender
holds its target for a limited time, so that one of several servers sends.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette import limits
from vedette.errors import BusyError
from vedette.limits import Limit
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_actions import OUTBOX, OUTBOX_TARGET

OUTBOX_KEYS_PER_STATEMENT: Limit[int] = 500
"""Keys in one statement; both databases limit the number of parameters."""

OUTBOX_WAITING_MAX: Limit[int] = 100_000
"""Waiting messages of one target. A receiver that is down for a day during an alert storm must not
fill the disk. Messages above it are counted as refused, which operators see."""

OUTBOX_ERROR_CHARS_MAX: Limit[int] = 500
"""Characters of a stored error; a receiver may respond with a whole page."""

OUTBOX_TOMBSTONE_US: Limit[int] = 180 * 24 * 3600 * 1_000_000
"""Time (us) for which a key outlives its message, so that a detection that is made again is not
sent again."""

OUTBOX_LIST_DEFAULT: Limit[int] = 100
"""Default number of messages in a listing."""


class MessageState(IntEnum):
    """State of a message. All states but WAITING are final unless a user retries the message."""

    WAITING = 0
    SENT = 1
    DEAD = 2
    DISCARDED = 3


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to enqueue. `due_us` may be in the future, for messages that share one mail."""

    key: str
    target: str
    body: str
    """JSON."""
    action_id: int = 0
    due_us: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. Times are epoch microseconds; 0 for never."""

    id: int
    key: str
    target: str
    state: MessageState
    action_id: int
    body: str
    created_us: int
    due_us: int
    changed_us: int
    attempts: int
    error: str


@dataclass(frozen=True, slots=True)
class Target:
    """Delivery state of a target. Times are epoch microseconds; 0 for never."""

    name: str
    holder: str
    held_until_us: int
    failures: int
    failing_since_us: int
    next_us: int
    waiting: int
    refused: int
    refused_us: int
    sent: int
    sent_us: int
    error: str


def enqueue(connection: Connection, messages: Sequence[NewMessage], now_us: int) -> int:
    """Writes the messages whose keys are new and returns their number. Messages above
    `OUTBOX_WAITING_MAX` of their target are not written, only counted as refused."""
    if not messages:
        return 0
    room = _locked(connection, sorted({one.target for one in messages}))
    # After acquiring the lock: messages that another server enqueued meanwhile are visible.
    known = _known_keys(connection, [one.key for one in messages])
    new = {one.key: one for one in messages if one.key not in known}
    accepted: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for one in new.values():
        if counts[one.target] < room[one.target]:
            counts[one.target] += 1
            accepted.append(_row(one, now_us))
        else:
            refused[one.target] += 1
    if accepted:
        connection.execute(insert(OUTBOX), accepted)
    for name in sorted({*counts, *refused}):
        values: dict[str, Any] = {"waiting": OUTBOX_TARGET.c.waiting + counts[name]}
        if refused[name]:
            values |= {"refused": OUTBOX_TARGET.c.refused + refused[name], "refused_us": now_us}
        _change_target(connection, name, values)
    return len(accepted)


def enqueue_trial(database: Database, message: NewMessage, now_us: int) -> int:
    """Enqueues a test message, ends its target's backoff, and returns the message's id. Writes an
    audit entry. Raises BusyError if the target's queue is full."""
    with database.writing() as connection:
        if not enqueue(connection, [message], now_us):
            raise BusyError("the queue of this target is full")
        _change_target(connection, message.target, {"next_us": 0})
        note(connection, Entry("run", "outbox target", message.target, None, {"test": message.key}))
        query = select(OUTBOX.c.id).where(OUTBOX.c.key == message.key)
        return int(connection.scalar(query) or 0)


def due_targets(database: Database, now_us: int) -> list[Target]:
    """Returns free targets whose first message is due; targets without failures first."""
    first_due = (
        select(OUTBOX.c.due_us)
        .where(OUTBOX.c.target == OUTBOX_TARGET.c.name, OUTBOX.c.state == MessageState.WAITING)
        .order_by(OUTBOX.c.id)
        .limit(1)
        .scalar_subquery()
    )
    query = (
        select(OUTBOX_TARGET)
        .where(
            OUTBOX_TARGET.c.waiting > 0,
            OUTBOX_TARGET.c.next_us <= now_us,
            OUTBOX_TARGET.c.held_until_us <= now_us,
            first_due <= now_us,
        )
        .order_by(OUTBOX_TARGET.c.failures, OUTBOX_TARGET.c.sent_us, OUTBOX_TARGET.c.name)
    )
    with database.reading() as connection:
        return [Target(**row) for row in connection.execute(query).mappings()]


def take(
    database: Database, name: str, holder: str, now_us: int, hold_us: int, count: int
) -> list[Message]:
    """Acquires or renews the hold on a target and returns its first `count` messages in order; []
    if another holder has the target."""
    with database.writing() as connection:
        if not _hold(connection, name, holder, now_us, hold_us):
            return []
        query = select(OUTBOX).where(
            OUTBOX.c.target == name, OUTBOX.c.state == MessageState.WAITING
        )
        rows = connection.execute(query.order_by(OUTBOX.c.id).limit(count)).mappings()
        return [_message(row) for row in rows]


def renew(database: Database, name: str, holder: str, now_us: int, hold_us: int) -> bool:
    """Renews the hold on a target; False if another holder has taken it."""
    with database.writing() as connection:
        return _hold(connection, name, holder, now_us, hold_us)


def release(database: Database, name: str, holder: str) -> None:
    """Releases the hold on a target. Idempotent."""
    with database.writing() as connection:
        connection.execute(
            update(OUTBOX_TARGET)
            .where(OUTBOX_TARGET.c.name == name, OUTBOX_TARGET.c.holder == holder)
            .values(held_until_us=0)
        )


def mark_sent(database: Database, name: str, message_ids: Collection[int], now_us: int) -> None:
    """Marks messages as sent. Deletes their bodies and keeps their keys."""
    with database.writing() as connection:
        ended = _end(connection, message_ids, MessageState.SENT, now_us, body="", error="")
        works = {"failures": 0, "failing_since_us": 0, "next_us": 0, "error": ""}
        _change_target(
            connection,
            name,
            {
                "waiting": OUTBOX_TARGET.c.waiting - ended,
                "sent": OUTBOX_TARGET.c.sent + ended,
                "sent_us": now_us,
                **works,
            },
        )


def mark_failed(database: Database, name: str, error: str, now_us: int, next_us: int) -> None:
    """Records a failure of the target; no message is sent to it before `next_us`."""
    error = error[:OUTBOX_ERROR_CHARS_MAX]
    with database.writing() as connection:
        first = (
            select(OUTBOX.c.id)
            .where(OUTBOX.c.target == name, OUTBOX.c.state == MessageState.WAITING)
            .order_by(OUTBOX.c.id)
            .limit(1)
            .scalar_subquery()
        )
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.id == first)
            .values(attempts=OUTBOX.c.attempts + 1, error=error)
        )
        _change_target(
            connection,
            name,
            {"failures": OUTBOX_TARGET.c.failures + 1, "next_us": next_us, "error": error},
        )
        connection.execute(
            update(OUTBOX_TARGET)
            .where(OUTBOX_TARGET.c.name == name, OUTBOX_TARGET.c.failing_since_us == 0)
            .values(failing_since_us=now_us)
        )


def give_up(
    database: Database, name: str, message_ids: Collection[int], error: str, now_us: int
) -> None:
    """Marks messages as dead. They keep their bodies; the target's next messages follow."""
    with database.writing() as connection:
        error = error[:OUTBOX_ERROR_CHARS_MAX]
        ended = _end(connection, message_ids, MessageState.DEAD, now_us, error=error)
        _change_target(connection, name, {"waiting": OUTBOX_TARGET.c.waiting - ended})


def drop(
    database: Database, name: str, message_ids: Collection[int], reason: str, now_us: int
) -> None:
    """Discards messages that are no longer needed: their action was deleted, or a user discarded
    them."""
    with database.writing() as connection:
        values = {"body": "", "error": reason[:OUTBOX_ERROR_CHARS_MAX]}
        ended = _end(connection, message_ids, MessageState.DISCARDED, now_us, **values)
        _change_target(connection, name, {"waiting": OUTBOX_TARGET.c.waiting - ended})


def discard(database: Database, message_ids: Collection[int], now_us: int) -> int:
    """Discards waiting or dead messages of any target and returns their number. Writes an audit
    entry for each."""
    states = (MessageState.WAITING, MessageState.DEAD)
    with database.writing() as connection:
        found = _locked_messages(connection, message_ids, states)
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.id.in_([row["id"] for row in found]))
            .values(state=MessageState.DISCARDED, changed_us=now_us, body="")
        )
        waiting = Counter(row["target"] for row in found if row["state"] == MessageState.WAITING)
        for name, count in sorted(waiting.items()):
            _change_target(connection, name, {"waiting": OUTBOX_TARGET.c.waiting - count})
        _note_changes(connection, found, MessageState.DISCARDED)
        return len(found)


def retry(database: Database, message_ids: Collection[int], now_us: int, hurried: str = "") -> int:
    """Requeues dead messages, due at once, in their original order, and returns their number. Also
    ends the backoff of their targets and of the target `hurried`. Writes an audit entry for
    each."""
    with database.writing() as connection:
        found = _locked_messages(connection, message_ids, (MessageState.DEAD,))
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.id.in_([row["id"] for row in found]))
            .values(state=MessageState.WAITING, changed_us=now_us, due_us=now_us, attempts=0)
        )
        counts = Counter(row["target"] for row in found)
        for name, count in sorted(counts.items()):
            values = {"waiting": OUTBOX_TARGET.c.waiting + count, "next_us": 0}
            _change_target(connection, name, values)
        _note_changes(connection, found, MessageState.WAITING)
        if hurried and _change_target(connection, hurried, {"next_us": 0}):
            note(connection, Entry("run", "outbox target", hurried, None, {"next_attempt": "now"}))
        return len(found)


def targets(database: Database) -> list[Target]:
    """Returns every target that ever had a message, sorted by name."""
    with database.reading() as connection:
        rows = connection.execute(select(OUTBOX_TARGET).order_by(OUTBOX_TARGET.c.name)).mappings()
        return [Target(**row) for row in rows]


def dead_counts(database: Database) -> dict[str, int]:
    """Returns the number of dead messages by target."""
    query = select(OUTBOX.c.target, func.count()).where(OUTBOX.c.state == MessageState.DEAD)
    with database.reading() as connection:
        found = connection.execute(query.group_by(OUTBOX.c.target))
        return {row[0]: row[1] for row in found}


def messages(
    database: Database,
    state: MessageState,
    target: str = "",
    after_id: int = 0,
    count: int = OUTBOX_LIST_DEFAULT,
) -> list[Message]:
    """Returns messages in a state, in order of sending, of one target or of all."""
    query = select(OUTBOX).where(OUTBOX.c.state == state, OUTBOX.c.id > after_id)
    if target:
        query = query.where(OUTBOX.c.target == target)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(OUTBOX.c.id).limit(count)).mappings()
        return [_message(row) for row in rows]


def purge(database: Database, now_us: int) -> int:
    """Deletes up to `OUTBOX_PURGE_ROWS` old tombstones and returns their number."""
    ended = (MessageState.SENT, MessageState.DEAD, MessageState.DISCARDED)
    old = (
        select(OUTBOX.c.id)
        .where(OUTBOX.c.state.in_(ended), OUTBOX.c.changed_us < now_us - OUTBOX_TOMBSTONE_US)
        .limit(limits.OUTBOX_PURGE_ROWS)
    )
    with database.writing() as connection:
        return connection.execute(delete(OUTBOX).where(OUTBOX.c.id.in_(old))).rowcount


def _locked(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """Returns the free room of each target, with row locks until the transaction ends."""
    for name in names:  # in a fixed order, to prevent deadlocks between servers
        connection.execute(insert_new(connection, OUTBOX_TARGET), {"name": name})
    query = select(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name.in_(names))
    rows = connection.execute(query.order_by(OUTBOX_TARGET.c.name).with_for_update()).mappings()
    return {row["name"]: OUTBOX_WAITING_MAX - row["waiting"] for row in rows}


def _hold(connection: Connection, name: str, holder: str, now_us: int, hold_us: int) -> bool:
    is_free = (OUTBOX_TARGET.c.held_until_us <= now_us) | (OUTBOX_TARGET.c.holder == holder)
    held = connection.execute(
        update(OUTBOX_TARGET)
        .where(OUTBOX_TARGET.c.name == name, is_free)
        .values(holder=holder, held_until_us=now_us + hold_us)
    )
    return bool(held.rowcount)


def _known_keys(connection: Connection, keys: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for at in range(0, len(keys), OUTBOX_KEYS_PER_STATEMENT):
        part = keys[at : at + OUTBOX_KEYS_PER_STATEMENT]
        found.update(connection.scalars(select(OUTBOX.c.key).where(OUTBOX.c.key.in_(part))))
    return found


def _row(one: NewMessage, now_us: int) -> dict[str, Any]:
    return {
        "key": one.key,
        "target": one.target,
        "state": MessageState.WAITING,
        "action_id": one.action_id,
        "body": one.body,
        "created_us": now_us,
        "due_us": one.due_us,
        "changed_us": now_us,
    }


def _locked_messages(
    connection: Connection, message_ids: Collection[int], states: Collection[MessageState]
) -> Sequence[RowMapping]:
    """Returns id, target and state of the messages that are in one of the states, with row locks
    until the transaction ends."""
    query = select(OUTBOX.c.id, OUTBOX.c.target, OUTBOX.c.state)
    query = query.where(OUTBOX.c.id.in_(message_ids), OUTBOX.c.state.in_(states))
    return connection.execute(query.order_by(OUTBOX.c.id).with_for_update()).mappings().all()


def _note_changes(
    connection: Connection, messages: Sequence[RowMapping], state: MessageState
) -> None:
    """Writes audit entries for changes by users; changes by sending have none."""
    for row in messages:
        before = {"target": row["target"], "state": MessageState(row["state"]).name.lower()}
        after = {"target": row["target"], "state": state.name.lower()}
        note(connection, Entry("change", "outbox message", str(row["id"]), before, after))


def _end(
    connection: Connection,
    message_ids: Collection[int],
    state: MessageState,
    now_us: int,
    **values: Any,
) -> int:
    """Ends waiting messages and returns their number."""
    changed = connection.execute(
        update(OUTBOX)
        .where(OUTBOX.c.id.in_(message_ids), OUTBOX.c.state == MessageState.WAITING)
        .values(state=state, changed_us=now_us, attempts=OUTBOX.c.attempts + 1, **values)
    )
    return changed.rowcount


def _change_target(connection: Connection, name: str, values: dict[str, Any]) -> bool:
    """Updates a target. Returns False if it does not exist."""
    changed = connection.execute(
        update(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name == name).values(values)
    )
    return bool(changed.rowcount)


def _message(row: RowMapping) -> Message:
    values = dict(row) | {"state": MessageState(row["state"])}
    return Message(**values)

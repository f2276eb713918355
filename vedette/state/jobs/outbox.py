"""The outbox: messages that wait to be sent, in order for each target, at least once.

A message is written in the transaction that makes it due and has a key: what was enqueued once is
never enqueued again, also after it was sent, because a row without its body stays as a tombstone.
A target is what can fail alone: the mail server, the syslog server, one webhook. The attempts and
their backoff belong to the target, since a later message must not overtake an earlier one; only a
message that the receiver refuses for what it says is given up alone, and stays visible as dead.

Whoever sends to a target holds it for a while, so that of several servers one does.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette import limits
from vedette.errors import BusyError
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_actions import OUTBOX, OUTBOX_TARGET


class MessageState(IntEnum):
    """What became of a message; all but the first are final unless somebody retries it."""

    WAITING = 0
    SENT = 1
    DEAD = 2
    DISCARDED = 3


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to enqueue. `due_us` may lie ahead, for messages that share one mail."""

    key: str
    target: str
    body: str
    """JSON."""
    action_id: int = 0
    due_us: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. Times in epoch microseconds, 0 for never."""

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
    """How sending to a target goes. Times in epoch microseconds, 0 for never."""

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
    """Write those whose key is new; their number. Those above `OUTBOX_WAITING_MAX` of their target
    are counted there and not written."""
    if not messages:
        return 0
    room = _locked(connection, sorted({one.target for one in messages}))
    # After the lock: what another server enqueued meanwhile is known.
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
    """A message by which somebody tries its target, whose backoff ends now; its id. An entry of the
    audit log. Raises BusyError where the target has no room."""
    with database.writing() as connection:
        if not enqueue(connection, [message], now_us):
            raise BusyError("too many messages wait for this target")
        _change_target(connection, message.target, {"next_us": 0})
        note(connection, Entry("run", "outbox target", message.target, None, {"test": message.key}))
        query = select(OUTBOX.c.id).where(OUTBOX.c.key == message.key)
        return int(connection.scalar(query) or 0)


def due_targets(database: Database, now_us: int) -> list[Target]:
    """Targets that nobody holds and whose first message is due, those that work first."""
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
    """Hold a target, or hold it on, and read its first messages, in order; none when somebody else
    holds it."""
    with database.writing() as connection:
        if not _hold(connection, name, holder, now_us, hold_us):
            return []
        query = select(OUTBOX).where(
            OUTBOX.c.target == name, OUTBOX.c.state == MessageState.WAITING
        )
        rows = connection.execute(query.order_by(OUTBOX.c.id).limit(count)).mappings()
        return [_message(row) for row in rows]


def renew(database: Database, name: str, holder: str, now_us: int, hold_us: int) -> bool:
    """Hold a target on; False when somebody else has taken it meanwhile."""
    with database.writing() as connection:
        return _hold(connection, name, holder, now_us, hold_us)


def release_all(database: Database) -> None:
    """For the start of the only server of a database: what held targets before has ended."""
    with database.writing() as connection:
        if connection.dialect.name == "sqlite":
            connection.execute(update(OUTBOX_TARGET).values(held_until_us=0))


def release(database: Database, name: str, holder: str) -> None:
    """Let others send to the target. Idempotent."""
    with database.writing() as connection:
        connection.execute(
            update(OUTBOX_TARGET)
            .where(OUTBOX_TARGET.c.name == name, OUTBOX_TARGET.c.holder == holder)
            .values(held_until_us=0)
        )


def mark_sent(database: Database, name: str, message_ids: Collection[int], now_us: int) -> None:
    """The receiver has them. Their bodies are deleted, their keys stay."""
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
    """An attempt failed because of the target; nothing is sent to it before `next_us`."""
    error = error[: limits.OUTBOX_ERROR_CHARS_MAX]
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
    """They stay, with their bodies, as dead; the next of the target have their turn."""
    with database.writing() as connection:
        error = error[: limits.OUTBOX_ERROR_CHARS_MAX]
        ended = _end(connection, message_ids, MessageState.DEAD, now_us, error=error)
        _change_target(connection, name, {"waiting": OUTBOX_TARGET.c.waiting - ended})


def drop(
    database: Database, name: str, message_ids: Collection[int], reason: str, now_us: int
) -> None:
    """Nobody wants them any more: their action is gone, or somebody discarded them."""
    with database.writing() as connection:
        values = {"body": "", "error": reason[: limits.OUTBOX_ERROR_CHARS_MAX]}
        ended = _end(connection, message_ids, MessageState.DISCARDED, now_us, **values)
        _change_target(connection, name, {"waiting": OUTBOX_TARGET.c.waiting - ended})


def discard(database: Database, message_ids: Collection[int], now_us: int) -> int:
    """Forget messages that wait or are dead, of any target; how many there were. Each is an entry
    of the audit log."""
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
    """Send dead messages after all, at once, in their old places; how many there were. The backoff
    of a target to be `hurried` ends too. Each is an entry of the audit log."""
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
    """Every target that ever had a message, by name."""
    with database.reading() as connection:
        rows = connection.execute(select(OUTBOX_TARGET).order_by(OUTBOX_TARGET.c.name)).mappings()
        return [Target(**row) for row in rows]


def dead_counts(database: Database) -> dict[str, int]:
    """Dead messages by target."""
    query = select(OUTBOX.c.target, func.count()).where(OUTBOX.c.state == MessageState.DEAD)
    with database.reading() as connection:
        found = connection.execute(query.group_by(OUTBOX.c.target))
        return {row[0]: row[1] for row in found}


def messages(
    database: Database,
    state: MessageState,
    target: str = "",
    after_id: int = 0,
    count: int = limits.OUTBOX_LIST_DEFAULT,
) -> list[Message]:
    """Messages of a state in the order of sending, of one target or of all."""
    query = select(OUTBOX).where(OUTBOX.c.state == state, OUTBOX.c.id > after_id)
    if target:
        query = query.where(OUTBOX.c.target == target)
    with database.reading() as connection:
        rows = connection.execute(query.order_by(OUTBOX.c.id).limit(count)).mappings()
        return [_message(row) for row in rows]


def purge(database: Database, now_us: int) -> int:
    """Delete old tombstones, up to `OUTBOX_PURGE_ROWS`; how many."""
    ended = (MessageState.SENT, MessageState.DEAD, MessageState.DISCARDED)
    old = (
        select(OUTBOX.c.id)
        .where(OUTBOX.c.state.in_(ended), OUTBOX.c.changed_us < now_us - limits.OUTBOX_TOMBSTONE_US)
        .limit(limits.OUTBOX_PURGE_ROWS)
    )
    with database.writing() as connection:
        return connection.execute(delete(OUTBOX).where(OUTBOX.c.id.in_(old))).rowcount


def _locked(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """Room in each of the targets, which other transactions cannot change until this one ends."""
    for name in names:  # in one order, so that two servers cannot deadlock
        connection.execute(insert_new(connection, OUTBOX_TARGET), {"name": name})
    query = select(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name.in_(names))
    rows = connection.execute(query.order_by(OUTBOX_TARGET.c.name).with_for_update()).mappings()
    return {row["name"]: limits.OUTBOX_WAITING_MAX - row["waiting"] for row in rows}


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
    for at in range(0, len(keys), limits.OUTBOX_KEYS_PER_STATEMENT):
        part = keys[at : at + limits.OUTBOX_KEYS_PER_STATEMENT]
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
    """Id, target and state of those that are in one of the states; they stay so until the
    transaction ends."""
    query = select(OUTBOX.c.id, OUTBOX.c.target, OUTBOX.c.state)
    query = query.where(OUTBOX.c.id.in_(message_ids), OUTBOX.c.state.in_(states))
    return connection.execute(query.order_by(OUTBOX.c.id).with_for_update()).mappings().all()


def _note_changes(
    connection: Connection, messages: Sequence[RowMapping], state: MessageState
) -> None:
    """What a person did; what sending does to messages is no entry."""
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
    """How many of them were waiting."""
    changed = connection.execute(
        update(OUTBOX)
        .where(OUTBOX.c.id.in_(message_ids), OUTBOX.c.state == MessageState.WAITING)
        .values(state=state, changed_us=now_us, attempts=OUTBOX.c.attempts + 1, **values)
    )
    return changed.rowcount


def _change_target(connection: Connection, name: str, values: dict[str, Any]) -> bool:
    """Whether there is such a target."""
    changed = connection.execute(
        update(OUTBOX_TARGET).where(OUTBOX_TARGET.c.name == name).values(values)
    )
    return bool(changed.rowcount)


def _message(row: RowMapping) -> Message:
    values = dict(row) | {"state": MessageState(row["state"])}
    return Message(**values)

"""Data of the cloud side about alerts, outside the alert rows: closure reasons, notes, and the
times that search v7 shows for alerts that a further detection raised after they had settled."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, insert, select

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_cloud_jobs import ALERT_NOTE, ALERT_SETTLED, ALERT_WORKFLOW
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import ALERT_NOTES

STATE_ROWS_PER_STATEMENT: Limit[int] = 500
"""Alert ids in one statement; SQLite allows at least 999 parameters."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """Last change of an alert by the cloud side; "" for a value that was not given."""

    closure_reason: str
    determination: str
    changed_by: str
    changed_us: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Times (epoch us) of an alert at the moment when it settled."""

    first_event_us: int
    last_event_us: int
    updated_us: int


@dataclass(frozen=True, slots=True)
class AlertExtras:
    """Stored data of some alerts, by alert id."""

    workflows: Mapping[str, Workflow] = field(default_factory=dict)
    settled: Mapping[str, Settled] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    note: str
    author: str
    created_us: int


def extras(database: Database, alert_ids: Sequence[str]) -> AlertExtras:
    """Returns the stored data of some alerts; most alerts have none."""
    workflows: dict[str, Workflow] = {}
    settled: dict[str, Settled] = {}
    with database.reading() as connection:
        has_workflows, has_settled = (
            connection.execute(select(table.c.alert_id).limit(1)).first() is not None
            for table in (ALERT_WORKFLOW, ALERT_SETTLED)
        )
        for some in _slices(alert_ids):
            if has_workflows:
                query = select(ALERT_WORKFLOW).where(ALERT_WORKFLOW.c.alert_id.in_(some))
                for row in connection.execute(query).all():
                    workflows[row.alert_id] = Workflow(*row[1:])
            if has_settled:
                query = select(ALERT_SETTLED).where(ALERT_SETTLED.c.alert_id.in_(some))
                for row in connection.execute(query).all():
                    settled[row.alert_id] = Settled(*row[1:])
    return AlertExtras(workflows, settled)


def keep_workflow(connection: Connection, alert_ids: Sequence[str], workflow: Workflow) -> None:
    """Stores a change for some alerts, replacing the previous one."""
    for some in _slices(alert_ids):
        connection.execute(delete(ALERT_WORKFLOW).where(ALERT_WORKFLOW.c.alert_id.in_(some)))
        connection.execute(
            insert(ALERT_WORKFLOW),
            [
                {
                    "alert_id": one,
                    "closure_reason": workflow.closure_reason,
                    "determination": workflow.determination,
                    "changed_by": workflow.changed_by,
                    "changed_us": workflow.changed_us,
                }
                for one in some
            ],
        )


def keep_settled(connection: Connection, settled: Mapping[str, Settled]) -> None:
    """Stores the times of alerts that are about to be raised; existing times stay."""
    for alert_id, one in settled.items():
        connection.execute(
            insert_new(connection, ALERT_SETTLED),
            {
                "alert_id": alert_id,
                "first_event_us": one.first_event_us,
                "last_event_us": one.last_event_us,
                "updated_us": one.updated_us,
            },
        )


def add_note(database: Database, alert_id: str, text: str, author: str, now_us: int) -> Note:
    """Adds a note to an alert. Raises BadRequestError above the quota (`ALERT_NOTES`)."""
    note = Note(secrets.token_hex(16), text, author, now_us)
    with database.writing() as connection:
        check_room(connection, ALERT_NOTES, author, ALERT_NOTE.c.alert_id == alert_id)
        insert_note(connection, alert_id, note)
    return note


def insert_note(connection: Connection, alert_id: str, note: Note) -> None:
    connection.execute(
        insert(ALERT_NOTE).values(
            id=note.id,
            alert_id=alert_id,
            note=note.note,
            author=note.author,
            created_us=note.created_us,
        )
    )


def notes_of(database: Database, alert_id: str) -> list[Note]:
    """Returns the notes of an alert, oldest first."""
    query = (
        select(ALERT_NOTE)
        .where(ALERT_NOTE.c.alert_id == alert_id)
        .order_by(ALERT_NOTE.c.created_us, ALERT_NOTE.c.id)
    )
    with database.reading() as connection:
        return [
            Note(row.id, row.note, row.author, row.created_us)
            for row in connection.execute(query).all()
        ]


def remove_note(database: Database, alert_id: str, note_id: str) -> None:
    """Deletes a note. Raises NotFoundError."""
    with database.writing() as connection:
        gone = connection.execute(
            delete(ALERT_NOTE).where(ALERT_NOTE.c.alert_id == alert_id, ALERT_NOTE.c.id == note_id)
        )
        if not gone.rowcount:
            raise NotFoundError(f"note {note_id[:64]!r} not found")


def _slices(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    size = STATE_ROWS_PER_STATEMENT
    return (ids[start : start + size] for start in range(0, len(ids), size))

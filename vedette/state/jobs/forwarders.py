"""Stored forwarders, and how far each of their streams is.

A stream is what a forwarder sends of one type. Its position is saved after the destination has
what lies before it, so a crash in between sends again and never leaves out.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import (
    FORWARD_ERROR_CHARS_MAX,
    FORWARD_INTERVAL_S,
    FORWARDER_NAME_CHARS_MAX,
    FORWARDERS_MAX,
)
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_forwarder import FORWARDER, FORWARDER_STREAM

RecordType = Literal["alert", "watchlist.hit", "endpoint.event"]
DestinationKind = Literal["directory", "s3", "https", "kafka"]
RecordSchema = Literal["native", "ocsf"]
FileFormat = Literal["jsonl", "parquet"]

PATH: Final = "{org}/{type}/{date}/{hour}"
"""Where files go unless a forwarder says otherwise."""


@dataclass(frozen=True, slots=True)
class Forwarder:
    """A stored forwarder, or one to be stored."""

    name: str
    types: tuple[RecordType, ...]
    destination: DestinationKind
    options: Mapping[str, str] = field(default_factory=dict)
    """What may be shown of the destination."""
    sealed: str = field(default="", repr=False)
    """Its secrets, encrypted JSON."""
    enabled: bool = True
    query: str = ""
    record_schema: RecordSchema = "native"
    file_format: FileFormat = "jsonl"
    path: str = PATH
    interval_s: int = FORWARD_INTERVAL_S
    id: str = ""
    created_us: int = 0
    changed_us: int = 0

    @property
    def purpose(self) -> str:
        """What its secrets are sealed for."""
        return f"secrets of forwarder {self.id}"


@dataclass(frozen=True, slots=True)
class ForwardedStream:
    """How far a stream is. Times are epoch microseconds, 0 for never; `failures` are those since
    the last success."""

    forwarder_id: str
    type: RecordType
    position: int
    records: int = 0
    files: int = 0
    sent_us: int = 0
    failures: int = 0
    failed_us: int = 0
    retry_us: int = 0
    error: str = ""
    lost: int = 0
    """Records that were deleted before they were sent, since too many waited."""


def new_id() -> str:
    """Of a forwarder that is to be added: its secrets are sealed for it."""
    return secrets.token_hex(16)


def add(database: Database, new: Forwarder, starts: Mapping[str, int], now_us: int) -> Forwarder:
    """Adds a forwarder with an id of `new_id`; `starts` is the position of each type. Raises
    BadRequestError, ConflictError."""
    made = replace(new, name=_name(new.name), created_us=now_us, changed_us=now_us)
    with database.writing() as connection:
        if (connection.scalar(select(func.count()).select_from(FORWARDER)) or 0) >= FORWARDERS_MAX:
            raise ConflictError(f"there are {FORWARDERS_MAX} forwarders already")
        _check_name(connection, made)
        connection.execute(insert(FORWARDER).values(_row(made)))
        _set_streams(connection, made, starts)
    return made


def change(database: Database, new: Forwarder, starts: Mapping[str, int], now_us: int) -> Forwarder:
    """Stores a forwarder in the place of the one with its id. Types that it has already go on where
    they were, and at once. Raises NotFoundError, BadRequestError, ConflictError."""
    made = replace(new, name=_name(new.name), changed_us=now_us)
    with database.writing() as connection:
        _check_name(connection, made)
        changed = connection.execute(
            update(FORWARDER).where(FORWARDER.c.id == made.id).values(_row(made))
        )
        if not changed.rowcount:
            raise NotFoundError(f"there is no forwarder {made.id[:80]!r}")
        _set_streams(connection, made, starts)
    return made


def remove(database: Database, forwarder_id: str) -> None:
    """What it sent stays where it is. Raises NotFoundError."""
    with database.writing() as connection:
        of_it = FORWARDER_STREAM.c.forwarder_id == forwarder_id
        connection.execute(delete(FORWARDER_STREAM).where(of_it))
        gone = connection.execute(delete(FORWARDER).where(FORWARDER.c.id == forwarder_id))
        if not gone.rowcount:
            raise NotFoundError(f"there is no forwarder {forwarder_id[:80]!r}")


def all_forwarders(database: Database) -> list[Forwarder]:
    """By name."""
    with database.reading() as connection:
        rows = connection.execute(select(FORWARDER).order_by(FORWARDER.c.name)).mappings()
        return [_forwarder(row) for row in rows]


def get(database: Database, forwarder_id: str) -> Forwarder:
    """Raises NotFoundError."""
    return _one(database, FORWARDER.c.id == forwarder_id, forwarder_id)


def named(database: Database, name: str) -> Forwarder:
    """By name or id. Raises NotFoundError."""
    return _one(database, (FORWARDER.c.name == name) | (FORWARDER.c.id == name), name)


def streams(database: Database, forwarder_id: str = "") -> list[ForwardedStream]:
    """Of a forwarder, or of all; by type."""
    query = select(FORWARDER_STREAM).order_by(FORWARDER_STREAM.c.type)
    if forwarder_id:
        query = query.where(FORWARDER_STREAM.c.forwarder_id == forwarder_id)
    with database.reading() as connection:
        return [ForwardedStream(**row) for row in connection.execute(query).mappings()]


def advance(
    database: Database,
    before: ForwardedStream,
    position: int,
    records: int,
    files: int,
    now_us: int,
) -> bool:
    """Saves how far a stream is now; False where it is no longer where it was: the forwarder is
    gone, or another server runs it. Something sent ends what failed."""
    values: dict[str, Any] = {"position": position}
    if files:
        values |= {
            "records": FORWARDER_STREAM.c.records + records,
            "files": FORWARDER_STREAM.c.files + files,
            "sent_us": now_us,
            **{"failures": 0, "failed_us": 0, "retry_us": 0, "error": ""},
        }
    where = (*_of(before), FORWARDER_STREAM.c.position == before.position)
    with database.writing() as connection:
        changed = connection.execute(update(FORWARDER_STREAM).where(*where).values(values))
    return bool(changed.rowcount)


def note_failure(
    database: Database, stream: ForwardedStream, error: str, now_us: int, retry_us: int
) -> None:
    """Keeps why a stream cannot go on, and when it is tried again."""
    with database.writing() as connection:
        connection.execute(
            update(FORWARDER_STREAM)
            .where(*_of(stream))
            .values(
                failures=FORWARDER_STREAM.c.failures + 1,
                failed_us=now_us,
                retry_us=retry_us,
                error=error[:FORWARD_ERROR_CHARS_MAX],
            )
        )


def _of(stream: ForwardedStream) -> Sequence[Any]:
    columns = FORWARDER_STREAM.c
    return columns.forwarder_id == stream.forwarder_id, columns.type == stream.type


def _one(database: Database, which: Any, name: str) -> Forwarder:
    with database.reading() as connection:
        row = connection.execute(select(FORWARDER).where(which)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no forwarder {name[:80]!r}")
    return _forwarder(row)


def _set_streams(connection: Connection, made: Forwarder, starts: Mapping[str, int]) -> None:
    """One stream for each type, due at once."""
    of_it = FORWARDER_STREAM.c.forwarder_id == made.id
    connection.execute(
        delete(FORWARDER_STREAM).where(of_it, FORWARDER_STREAM.c.type.not_in(made.types))
    )
    connection.execute(update(FORWARDER_STREAM).where(of_it).values(retry_us=0))
    for one in made.types:
        row = {"forwarder_id": made.id, "type": one, "position": starts[one]}
        connection.execute(insert_new(connection, FORWARDER_STREAM), row)


def _check_name(connection: Connection, made: Forwarder) -> None:
    taken = select(FORWARDER.c.id).where(FORWARDER.c.name == made.name, FORWARDER.c.id != made.id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"there is a forwarder {made.name!r} already")


def _name(text: str) -> str:
    if not text.strip() or len(text) > FORWARDER_NAME_CHARS_MAX or not text.isprintable():
        most = FORWARDER_NAME_CHARS_MAX
        raise BadRequestError(f"name: must be 1 to {most} printable characters")
    return text


_JSON: Final = ("types", "options")
_COLUMNS: Final = tuple(FORWARDER.c.keys())


def _row(one: Forwarder) -> dict[str, Any]:
    row = {name: getattr(one, name) for name in _COLUMNS}
    return row | {name: orjson.dumps(row[name]).decode() for name in _JSON}


def _forwarder(row: Mapping[Any, Any]) -> Forwarder:
    values: dict[str, Any] = {name: row[name] for name in _COLUMNS}
    values |= {name: orjson.loads(values[name]) for name in _JSON}
    return Forwarder(**values | {"types": tuple(values["types"])})

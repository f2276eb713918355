"""Stored forwarders, and the positions of their streams.

A stream is the sequence of records of one type that a forwarder sends. Its position is saved after
the destination has accepted everything before it, so a crash in between causes a repetition and
never a loss.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_forwarder import FORWARDER, FORWARDER_STREAM
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import FORWARDERS

FORWARDER_NAME_CHARS_MAX: Limit[int] = 100
"""Characters of a forwarder's name."""

FORWARD_INTERVAL_S: Limit[int] = 10
"""Default interval (s) at which a forwarder looks for new records."""

FORWARD_ERROR_CHARS_MAX: Limit[int] = 500
"""Characters of a stored error; a destination may respond with a whole page."""


RecordType = Literal["alert", "watchlist.hit", "endpoint.event"]
DestinationKind = Literal["directory", "s3", "https", "kafka"]
RecordSchema = Literal["native", "ocsf"]
FileFormat = Literal["jsonl", "parquet"]

PATH: Final = "{org}/{type}/{date}/{hour}"
"""Default path of files."""


@dataclass(frozen=True, slots=True)
class Forwarder:
    """A forwarder, stored or about to be stored."""

    name: str
    types: tuple[RecordType, ...]
    destination: DestinationKind
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the destination that may be shown."""
    sealed: str = field(default="", repr=False)
    """Secrets of the destination: encrypted JSON."""
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
        """Purpose with which its secrets are sealed."""
        return f"secrets of forwarder {self.id}"


@dataclass(frozen=True, slots=True)
class ForwardedStream:
    """Progress of a stream. Times are epoch microseconds; 0 for never. `failures` counts failures
    since the last success."""

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
    """Records that were deleted unsent because too many were waiting."""


def new_id() -> str:
    """Returns an id for a new forwarder; needed in advance, since its secrets are sealed for the
    id."""
    return secrets.token_hex(16)


def add(database: Database, new: Forwarder, starts: Mapping[str, int], now_us: int) -> Forwarder:
    """Adds a forwarder with an id from `new_id`. `starts` maps each type to its initial position.
    Raises BadRequestError, ConflictError."""
    made = replace(new, name=_name(new.name), created_us=now_us, changed_us=now_us)
    with database.writing() as connection:
        check_room(connection, FORWARDERS)
        _check_name(connection, made)
        connection.execute(insert(FORWARDER).values(_row(made)))
        _set_streams(connection, made, starts)
    return made


def change(database: Database, new: Forwarder, starts: Mapping[str, int], now_us: int) -> Forwarder:
    """Replaces the forwarder with the same id. Streams of unchanged types keep their positions and
    are due at once. Raises NotFoundError, BadRequestError, ConflictError."""
    made = replace(new, name=_name(new.name), changed_us=now_us)
    with database.writing() as connection:
        _check_name(connection, made)
        changed = connection.execute(
            update(FORWARDER).where(FORWARDER.c.id == made.id).values(_row(made))
        )
        if not changed.rowcount:
            raise NotFoundError(f"forwarder {made.id[:80]!r} not found")
        _set_streams(connection, made, starts)
    return made


def remove(database: Database, forwarder_id: str) -> None:
    """Deletes a forwarder; files at the destination stay. Raises NotFoundError."""
    with database.writing() as connection:
        of_it = FORWARDER_STREAM.c.forwarder_id == forwarder_id
        connection.execute(delete(FORWARDER_STREAM).where(of_it))
        gone = connection.execute(delete(FORWARDER).where(FORWARDER.c.id == forwarder_id))
        if not gone.rowcount:
            raise NotFoundError(f"forwarder {forwarder_id[:80]!r} not found")


def all_forwarders(database: Database) -> list[Forwarder]:
    """Returns all forwarders, sorted by name."""
    with database.reading() as connection:
        rows = connection.execute(select(FORWARDER).order_by(FORWARDER.c.name)).mappings()
        return [_forwarder(row) for row in rows]


def get(database: Database, forwarder_id: str) -> Forwarder:
    """Returns the forwarder with this id. Raises NotFoundError."""
    return _one(database, FORWARDER.c.id == forwarder_id, forwarder_id)


def named(database: Database, name: str) -> Forwarder:
    """Returns the forwarder with this name or id. Raises NotFoundError."""
    return _one(database, (FORWARDER.c.name == name) | (FORWARDER.c.id == name), name)


def streams(database: Database, forwarder_id: str = "") -> list[ForwardedStream]:
    """Returns the streams of a forwarder, or of all; sorted by type."""
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
    """Saves the new position of a stream; sent files also reset its failures. Returns False if the
    stored position is not `before`'s: the forwarder was deleted, or another server runs it."""
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
    """Records the error of a stream and the time of its next attempt."""
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
        raise NotFoundError(f"forwarder {name[:80]!r} not found")
    return _forwarder(row)


def _set_streams(connection: Connection, made: Forwarder, starts: Mapping[str, int]) -> None:
    """Creates missing streams, deletes those of removed types, and makes all streams due at
    once."""
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
        raise ConflictError(f"forwarder {made.name!r} already exists")


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

"""Copies of files that sensors sent, as rows: which there are, and which sensors sent them.

The bytes lie elsewhere. A row with sensor id 0 is a whole, verified file; with another one the
beginning of a large file, as that sensor sent it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields

from sqlalchemy import func, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import STORED_FILE, STORED_FILE_SENDER


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A copy; `sensor_id` 0 for a whole, verified file. Sizes in bytes."""

    sha256: str
    sensor_id: int
    md5: str
    path: str
    size: int
    copied: int
    content_sha256: str
    """Of the bytes that are kept; `sha256` itself for a whole file."""
    stored_us: int = 0
    """When it came."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of all copies, and of those that one sensor sent."""

    total: int
    of_sensor: int


def add(database: Database, file: StoredFile, sender_id: int, now_us: int) -> None:
    """Notes a copy and who sent it; idempotent."""
    row = {
        "sha256": file.sha256,
        "sensor_id": file.sensor_id,
        "md5": file.md5,
        "path": file.path,
        "size": file.size,
        "copied": file.copied,
        "content_sha256": file.content_sha256,
        "stored_us": now_us,
    }
    sender = {
        "sha256": file.sha256,
        "sensor_id": sender_id,
        "copied": file.copied,
        "stored_us": now_us,
    }
    with database.writing() as connection:
        connection.execute(insert_new(connection, STORED_FILE), row)
        connection.execute(insert_new(connection, STORED_FILE_SENDER), sender)


def note_content(database: Database, sha256: str, sensor_id: int, content_sha256: str) -> bool:
    """Says of a copy which bytes are kept of it; False where there is no such copy."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == sha256, STORED_FILE.c.sensor_id == sensor_id)
        .values(content_sha256=content_sha256)
    )
    with database.writing() as connection:
        return bool(connection.execute(changed).rowcount)


def unread(database: Database, read_by: str, most: int) -> list[StoredFile]:
    """Copies that another reader, or none, has read, the newest first; at most so many."""
    names = [one.name for one in fields(StoredFile)]
    wanted = (
        select(*(STORED_FILE.c[name] for name in names))
        .where(STORED_FILE.c.read_by != read_by)
        .order_by(STORED_FILE.c.stored_us.desc(), STORED_FILE.c.sha256, STORED_FILE.c.sensor_id)
        .limit(most)
    )
    with database.reading() as connection:
        return [StoredFile(*row) for row in connection.execute(wanted)]


def note_reading(database: Database, file: StoredFile, read_by: str) -> None:
    """Says who has read a copy."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(read_by=read_by)
    )
    with database.writing() as connection:
        connection.execute(changed)


def copies_of(database: Database, md5s: Collection[str]) -> list[tuple[StoredFile, set[int]]]:
    """The copies of the files with these MD5s (lower case), each with the sensors that sent it,
    whole ones first."""
    names = [one.name for one in fields(StoredFile)]
    wanted = (
        select(*(STORED_FILE.c[name] for name in names))
        .where(STORED_FILE.c.md5.in_(list(md5s)), STORED_FILE.c.md5 != "")
        .order_by(STORED_FILE.c.sensor_id, STORED_FILE.c.sha256)
    )
    with database.reading() as connection:
        files = [StoredFile(*row) for row in connection.execute(wanted)]
        senders: dict[str, set[int]] = {}
        sent = select(STORED_FILE_SENDER.c.sha256, STORED_FILE_SENDER.c.sensor_id).where(
            STORED_FILE_SENDER.c.sha256.in_([file.sha256 for file in files])
        )
        for sha256, sensor_id in connection.execute(sent):
            senders.setdefault(sha256, set()).add(sensor_id)
    return [
        (file, {file.sensor_id} if file.sensor_id else senders.get(file.sha256, set()))
        for file in files
    ]


def note_asked(database: Database, file: StoredFile, now_us: int) -> None:
    """Counts a download: what is asked for least is the first to make room."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(asked=STORED_FILE.c.asked + 1, asked_us=now_us)
    )
    with database.writing() as connection:
        connection.execute(changed)


def senders_of(database: Database, md5: str) -> dict[str, set[int]]:
    """The whole files with this MD5 (lower case) by SHA-256, in order, each with the sensors that
    sent it; none for copies of older versions."""
    files = select(STORED_FILE.c.sha256).where(
        STORED_FILE.c.md5 == md5, STORED_FILE.c.sensor_id == 0
    )
    with database.reading() as connection:
        found: dict[str, set[int]] = {
            sha256: set() for sha256 in connection.scalars(files.order_by(STORED_FILE.c.sha256))
        }
        senders = connection.execute(
            select(STORED_FILE_SENDER.c.sha256, STORED_FILE_SENDER.c.sensor_id).where(
                STORED_FILE_SENDER.c.sha256.in_(found)
            )
        )
        for sha256, sensor_id in senders:
            found[sha256].add(sensor_id)
    return found


def sent_by_group(database: Database, sensor_id: int, hashes: Iterable[str]) -> set[str]:
    """Those of the files (SHA-256) that a sensor of the same group sent."""
    own = select(SENSOR.c.group_id).where(SENSOR.c.id == sensor_id).scalar_subquery()
    sent = (
        select(STORED_FILE_SENDER.c.sha256)
        .join(SENSOR, SENSOR.c.id == STORED_FILE_SENDER.c.sensor_id)
        .join(STORED_FILE, STORED_FILE.c.sha256 == STORED_FILE_SENDER.c.sha256)
        .where(
            STORED_FILE_SENDER.c.sha256.in_(list(hashes)),
            SENSOR.c.group_id == own,
            STORED_FILE.c.sensor_id.in_((0, sensor_id)),
        )
    )
    with database.reading() as connection:
        return set(connection.scalars(sent))


def usage(database: Database, sensor_id: int) -> Usage:
    """How much room copies take."""
    total = select(func.coalesce(func.sum(STORED_FILE.c.copied), 0))
    sent = select(func.coalesce(func.sum(STORED_FILE_SENDER.c.copied), 0)).where(
        STORED_FILE_SENDER.c.sensor_id == sensor_id
    )
    with database.reading() as connection:
        return Usage(
            int(connection.execute(total).scalar_one()), int(connection.execute(sent).scalar_one())
        )

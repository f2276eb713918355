"""Rows about copies of program files, and about the sensors that sent them.

The blob store contains the bytes. A row with sensor id 0 is a whole, verified file. A row with
another sensor id is the beginning of a large file, as sent by that sensor. A copy that an operator
added has no sender.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    case,
    delete,
    func,
    not_,
    or_,
    select,
    update,
)

from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_fleet import STORED_FILE, STORED_FILE_SENDER
from vedette.state.files.binary_orders import OrderedFile, end_stored
from vedette.state.policy.group_options import options_of


class Added(IntEnum):
    """Whether an operator added a copy without a sender, and who may see it."""

    NO = 0
    FOR_ADMINISTRATORS = 1
    SHARED = 2
    """Visible to everyone who may see a host that reports the file."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A copy; `sensor_id` is 0 for a whole, verified file. Sizes are in bytes."""

    sha256: str
    sensor_id: int
    md5: str
    path: str
    size: int
    copied: int
    content_sha256: str
    """SHA-256 of the stored bytes; equals `sha256` for a whole file."""
    stored_us: int = 0
    """Time of arrival."""
    added: int = Added.NO
    """A value of `Added`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of all copies, and of the copies that one sensor sent."""

    total: int
    of_sensor: int


def add_by_operator(database: Database, file: StoredFile, now_us: int) -> None:
    """Records a copy that an operator added. Idempotent, also for a copy that a sensor has sent.
    The latest call decides who may see it."""
    row = {
        "sha256": file.sha256,
        "sensor_id": 0,
        "md5": file.md5,
        "path": file.path,
        "size": file.size,
        "copied": file.copied,
        "content_sha256": file.content_sha256,
        "stored_us": now_us,
        "added": file.added,
    }
    is_it = (STORED_FILE.c.sha256 == file.sha256) & (STORED_FILE.c.sensor_id == 0)
    with database.writing() as connection:
        connection.execute(insert_new(connection, STORED_FILE), row)
        # Mark as unread: the analysis result shows that an operator added the file.
        sent = update(STORED_FILE).where(is_it, STORED_FILE.c.added == Added.NO)
        connection.execute(sent.values(read_by=""))
        connection.execute(update(STORED_FILE).where(is_it).values(added=file.added))
        after = {"shared": file.added == Added.SHARED}
        note(connection, Entry("create", "file copy", file.sha256, None, after))


def add(database: Database, file: StoredFile, sender_id: int, now_us: int) -> None:
    """Records a copy and its sender, and ends the orders for the file. Idempotent. A copy that was
    ordered counts as requested."""
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
        if end_stored(connection, sender_id, OrderedFile(file.md5, file.sha256), now_us):
            _count_request(connection, file, now_us)


def note_content(database: Database, sha256: str, sensor_id: int, content_sha256: str) -> bool:
    """Records the SHA-256 of a copy's stored bytes. Returns False if there is no such copy."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == sha256, STORED_FILE.c.sensor_id == sensor_id)
        .values(content_sha256=content_sha256)
    )
    with database.writing() as connection:
        return bool(connection.execute(changed).rowcount)


def unread(database: Database, read_by: str, most: int) -> list[StoredFile]:
    """Returns up to `most` copies that this reader has not read, newest first."""
    names = [one.name for one in fields(StoredFile)]
    wanted = (
        select(*(STORED_FILE.c[name] for name in names))
        .where(STORED_FILE.c.read_by != read_by)
        .order_by(STORED_FILE.c.stored_us.desc(), STORED_FILE.c.sha256, STORED_FILE.c.sensor_id)
        .limit(most)
    )
    with database.reading() as connection:
        return [StoredFile(*row) for row in connection.execute(wanted)]


def count_read(database: Database, read_by: str) -> tuple[int, int]:
    """Returns (number of copies, number read by this reader)."""
    is_read = func.coalesce(func.sum(case((STORED_FILE.c.read_by == read_by, 1), else_=0)), 0)
    with database.reading() as connection:
        row = connection.execute(select(func.count(), is_read).select_from(STORED_FILE)).one()
    return int(row[0]), int(row[1])


def note_reading(database: Database, file: StoredFile, read_by: str) -> None:
    """Records that a reader has read a copy."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(read_by=read_by)
    )
    with database.writing() as connection:
        connection.execute(changed)


_FILES: Final = select(*(STORED_FILE.c[one.name] for one in fields(StoredFile))).order_by(
    STORED_FILE.c.sensor_id, STORED_FILE.c.sha256
)


def copies_of(database: Database, digests: Collection[str]) -> list[tuple[StoredFile, set[int]]]:
    """Returns the copies with these MD5s or SHA-256s (lower case), whole files first, each with the
    sensors that sent it."""
    known = [one for one in digests if one]
    wanted = _FILES.where(or_(STORED_FILE.c.md5.in_(known), STORED_FILE.c.sha256.in_(known)))
    return _with_senders(database, wanted)


def all_copies(database: Database, most: int) -> list[tuple[StoredFile, set[int]]]:
    """Returns up to `most` copies, in the form of `copies_of`."""
    return _with_senders(database, _FILES.limit(most))


def _with_senders(database: Database, wanted: Select[Any]) -> list[tuple[StoredFile, set[int]]]:
    with database.reading() as connection:
        files = [StoredFile(*row) for row in connection.execute(wanted)]
        senders: dict[str, set[int]] = {}
        of_files = wanted.with_only_columns(STORED_FILE.c.sha256).order_by(None).subquery()
        sent = select(STORED_FILE_SENDER.c.sha256, STORED_FILE_SENDER.c.sensor_id).where(
            STORED_FILE_SENDER.c.sha256.in_(select(of_files.c.sha256))
        )
        for sha256, sensor_id in connection.execute(sent):
            senders.setdefault(sha256, set()).add(sensor_id)
    return [
        (file, {file.sensor_id} if file.sensor_id else senders.get(file.sha256, set()))
        for file in files
    ]


def is_known(database: Database, sha256: str) -> bool:
    """Whether a whole copy with this hash exists."""
    is_it = (STORED_FILE.c.sha256 == sha256) & (STORED_FILE.c.sensor_id == 0)
    with database.reading() as connection:
        return connection.scalar(select(STORED_FILE.c.sha256).where(is_it)) is not None


def note_request(database: Database, file: StoredFile, now_us: int) -> None:
    """Counts a download. The least requested copies are evicted first."""
    with database.writing() as connection:
        _count_request(connection, file, now_us)


def _count_request(connection: Connection, file: StoredFile, now_us: int) -> None:
    connection.execute(
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(asked=STORED_FILE.c.asked + 1, asked_us=now_us)
    )


def least_requested(database: Database, group_id: int, most: int) -> list[StoredFile]:
    """Returns eviction candidates, least requested first, then oldest. Excludes copies that were
    never read, and copies that an operator added. With a group, only copies that its sensors sent;
    0 for any."""
    names = [one.name for one in fields(StoredFile)]
    wanted = select(*(STORED_FILE.c[name] for name in names)).where(
        STORED_FILE.c.read_by != "", STORED_FILE.c.added == Added.NO
    )
    if group_id:
        sent = (
            select(STORED_FILE_SENDER.c.sha256)
            .join(SENSOR, SENSOR.c.id == STORED_FILE_SENDER.c.sensor_id)
            .where(SENSOR.c.group_id == group_id)
        )
        wanted = wanted.where(STORED_FILE.c.sha256.in_(sent))
    order = STORED_FILE.c.asked, STORED_FILE.c.asked_us, STORED_FILE.c.stored_us
    with database.reading() as connection:
        found = connection.execute(wanted.order_by(*order, STORED_FILE.c.sha256).limit(most))
        return [StoredFile(*row) for row in found]


def is_content_of_others(database: Database, file: StoredFile) -> bool:
    """Whether another copy has the same bytes, which must then stay."""
    digest = file.content_sha256 or file.sha256
    others = select(STORED_FILE.c.sha256).where(
        or_(STORED_FILE.c.content_sha256 == digest, STORED_FILE.c.sha256 == digest),
        or_(STORED_FILE.c.sha256 != file.sha256, STORED_FILE.c.sensor_id != file.sensor_id),
    )
    with database.reading() as connection:
        return connection.scalar(others.limit(1)) is not None


def release(database: Database, file: StoredFile, group_id: int) -> bool:
    """Removes a group's senders from a copy (0: all senders). Returns whether no sender remains, so
    that the bytes can be deleted.

    The row stays without a sender until `forget_unsent`. A restarted server can therefore resume
    the deletion, and a concurrent upload of the same file is detected.
    """
    is_it = _sent_as(file)
    mine = is_it
    if group_id:
        own = select(SENSOR.c.id).where(SENSOR.c.group_id == group_id)
        mine = is_it & STORED_FILE_SENDER.c.sensor_id.in_(own)
    with database.writing() as connection:
        kept = connection.scalar(
            select(func.count()).select_from(STORED_FILE_SENDER).where(is_it, not_(mine))
        )
        connection.execute(delete(STORED_FILE_SENDER).where(mine))
    return not kept


def forget_unsent(database: Database, file: StoredFile) -> bool:
    """Deletes the row of a released copy after its bytes are gone. Returns False if a sensor has
    sent it again, or an operator has added it."""
    senders = select(STORED_FILE_SENDER.c.sensor_id).where(_sent_as(file))
    released = delete(STORED_FILE).where(
        _is(file), STORED_FILE.c.added == 0, not_(senders.exists())
    )
    with database.writing() as connection:
        return bool(connection.execute(released).rowcount)


def is_noted(database: Database, file: StoredFile) -> bool:
    """Whether a row for the copy exists, with or without senders."""
    with database.reading() as connection:
        return connection.scalar(select(STORED_FILE.c.sha256).where(_is(file))) is not None


def forget(database: Database, file: StoredFile) -> None:
    """Deletes the rows of a copy whose bytes are gone."""
    with database.writing() as connection:
        connection.execute(delete(STORED_FILE_SENDER).where(_sent_as(file)))
        connection.execute(delete(STORED_FILE).where(_is(file)))


def _is(file: StoredFile) -> ColumnElement[bool]:
    return (STORED_FILE.c.sha256 == file.sha256) & (STORED_FILE.c.sensor_id == file.sensor_id)


def _sent_as(file: StoredFile) -> ColumnElement[bool]:
    """Returns a condition for a copy's senders: all senders of a whole file, the single sender of a
    beginning."""
    senders = STORED_FILE_SENDER.c.sha256 == file.sha256
    if file.sensor_id:
        senders &= STORED_FILE_SENDER.c.sensor_id == file.sensor_id
    return senders


@dataclass(frozen=True, slots=True)
class GroupUsage:
    """Bytes of the copies that a group's sensors sent, and the group's quota (0: unlimited)."""

    group_id: int
    used: int
    most: int


def usage_of_group(database: Database, sensor_id: int) -> GroupUsage:
    """Returns the usage of a sensor's group. A file that several of its sensors sent counts
    once."""
    of_sensor = (
        select(GROUP.c.id, GROUP.c.options)
        .join(SENSOR, SENSOR.c.group_id == GROUP.c.id)
        .where(SENSOR.c.id == sensor_id)
    )
    with database.reading() as connection:
        group_id, text = connection.execute(of_sensor).one()
        sent = (
            select(STORED_FILE_SENDER.c.sha256, func.max(STORED_FILE_SENDER.c.copied).label("size"))
            .join(SENSOR, SENSOR.c.id == STORED_FILE_SENDER.c.sensor_id)
            .where(SENSOR.c.group_id == group_id)
            .group_by(STORED_FILE_SENDER.c.sha256)
            .subquery()
        )
        used = connection.scalar(select(func.coalesce(func.sum(sent.c.size), 0)))
    return GroupUsage(group_id, int(used or 0), options_of(text).binary_quota_bytes)


def sensors_in(database: Database, group_id: int, sensor_ids: Iterable[int]) -> list[int]:
    """Returns those of the sensors that are in a group."""
    wanted = select(SENSOR.c.id).where(
        SENSOR.c.group_id == group_id, SENSOR.c.id.in_(list(sensor_ids))
    )
    with database.reading() as connection:
        return list(connection.scalars(wanted))


def sent_by_group(database: Database, sensor_id: int, hashes: Iterable[str]) -> set[str]:
    """Returns those of the files (SHA-256) that a sensor of the same group has sent."""
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


def sends_all(database: Database, sensor_id: int) -> bool:
    """Whether the sensor's group sends every program that is new to the server."""
    wanted = (
        select(GROUP.c.options)
        .join(SENSOR, SENSOR.c.group_id == GROUP.c.id)
        .where(SENSOR.c.id == sensor_id)
    )
    with database.reading() as connection:
        text = connection.scalar(wanted)
    return text is not None and options_of(text).collect_storefiles


def usage(database: Database, sensor_id: int) -> Usage:
    """Returns the bytes of all copies and of the sensor's copies."""
    total = select(func.coalesce(func.sum(STORED_FILE.c.copied), 0))
    sent = select(func.coalesce(func.sum(STORED_FILE_SENDER.c.copied), 0)).where(
        STORED_FILE_SENDER.c.sensor_id == sensor_id
    )
    with database.reading() as connection:
        return Usage(
            int(connection.execute(total).scalar_one()), int(connection.execute(sent).scalar_one())
        )

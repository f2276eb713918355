"""Copies of files that sensors sent, as rows: which there are, and which sensors sent them.

The bytes lie elsewhere. A row with sensor id 0 is a whole, verified file; with another one the
beginning of a large file, as that sensor sent it. What an operator added has no sender.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from enum import IntEnum

from sqlalchemy import ColumnElement, Connection, case, delete, func, not_, or_, select, update

from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_fleet import STORED_FILE, STORED_FILE_SENDER
from vedette.state.files.binary_orders import OrderedFile, end_stored
from vedette.state.policy.group_options import options_of


class Added(IntEnum):
    """Whether an operator added a copy that no sensor had to send, and for whom."""

    NO = 0
    FOR_ADMINISTRATORS = 1
    SHARED = 2
    """For all who see a host that reports the file."""


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
    added: int = Added.NO
    """`Added`."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of all copies, and of those that one sensor sent."""

    total: int
    of_sensor: int


def add_by_operator(database: Database, file: StoredFile, now_us: int) -> None:
    """Notes a copy that no sensor sent; idempotent, also for one that a sensor has sent too. Whom
    it is for is what was said last."""
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
        # Read again: the record says that it was added.
        sent = update(STORED_FILE).where(is_it, STORED_FILE.c.added == Added.NO)
        connection.execute(sent.values(read_by=""))
        connection.execute(update(STORED_FILE).where(is_it).values(added=file.added))
        after = {"shared": file.added == Added.SHARED}
        note(connection, Entry("create", "file copy", file.sha256, None, after))


def add(database: Database, file: StoredFile, sender_id: int, now_us: int) -> None:
    """Notes a copy and who sent it, and ends the orders for it; idempotent. One that was ordered
    counts as asked for."""
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


def count_read(database: Database, read_by: str) -> tuple[int, int]:
    """How many copies there are, and how many of them a reader has read."""
    is_read = func.coalesce(func.sum(case((STORED_FILE.c.read_by == read_by, 1), else_=0)), 0)
    with database.reading() as connection:
        row = connection.execute(select(func.count(), is_read).select_from(STORED_FILE)).one()
    return int(row[0]), int(row[1])


def note_reading(database: Database, file: StoredFile, read_by: str) -> None:
    """Says who has read a copy."""
    changed = (
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(read_by=read_by)
    )
    with database.writing() as connection:
        connection.execute(changed)


def copies_of(database: Database, digests: Collection[str]) -> list[tuple[StoredFile, set[int]]]:
    """The copies of the files with these MD5s or SHA-256s (lower case), each with the sensors that
    sent it, whole ones first."""
    names, known = [one.name for one in fields(StoredFile)], [one for one in digests if one]
    wanted = (
        select(*(STORED_FILE.c[name] for name in names))
        .where(or_(STORED_FILE.c.md5.in_(known), STORED_FILE.c.sha256.in_(known)))
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


def is_known(database: Database, sha256: str) -> bool:
    """Whether there is a whole copy with this hash."""
    is_it = (STORED_FILE.c.sha256 == sha256) & (STORED_FILE.c.sensor_id == 0)
    with database.reading() as connection:
        return connection.scalar(select(STORED_FILE.c.sha256).where(is_it)) is not None


def note_request(database: Database, file: StoredFile, now_us: int) -> None:
    """Counts a download: what is asked for least is the first to make room."""
    with database.writing() as connection:
        _count_request(connection, file, now_us)


def _count_request(connection: Connection, file: StoredFile, now_us: int) -> None:
    connection.execute(
        update(STORED_FILE)
        .where(STORED_FILE.c.sha256 == file.sha256, STORED_FILE.c.sensor_id == file.sensor_id)
        .values(asked=STORED_FILE.c.asked + 1, asked_us=now_us)
    )


def least_requested(database: Database, group_id: int, most: int) -> list[StoredFile]:
    """Copies that may go, those that were asked for least first, and of these the oldest: what was
    read already and no operator added; of a group (0: any) those that its sensors sent."""
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
    """Whether another copy has the same bytes, so that they have to stay."""
    digest = file.content_sha256 or file.sha256
    others = select(STORED_FILE.c.sha256).where(
        or_(STORED_FILE.c.content_sha256 == digest, STORED_FILE.c.sha256 == digest),
        or_(STORED_FILE.c.sha256 != file.sha256, STORED_FILE.c.sensor_id != file.sensor_id),
    )
    with database.reading() as connection:
        return connection.scalar(others.limit(1)) is not None


def release(database: Database, file: StoredFile, group_id: int) -> bool:
    """Takes a copy from a group (0: from all): whether nobody has it any more, so that its bytes
    can be deleted. Then it is still noted, without a sender, so that a server that is killed finds
    it again and whoever sends it meanwhile is seen (`forget_unsent`)."""
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
    """Forgets a copy that was released and whose bytes are gone; False for one that a sensor has
    sent again, or an operator added, since then."""
    senders = select(STORED_FILE_SENDER.c.sensor_id).where(_sent_as(file))
    released = delete(STORED_FILE).where(
        _is(file), STORED_FILE.c.added == 0, not_(senders.exists())
    )
    with database.writing() as connection:
        return bool(connection.execute(released).rowcount)


def is_noted(database: Database, file: StoredFile) -> bool:
    """Whether a copy is noted, whoever sent it."""
    with database.reading() as connection:
        return connection.scalar(select(STORED_FILE.c.sha256).where(_is(file))) is not None


def forget(database: Database, file: StoredFile) -> None:
    """Forgets a copy whose bytes are gone."""
    with database.writing() as connection:
        connection.execute(delete(STORED_FILE_SENDER).where(_sent_as(file)))
        connection.execute(delete(STORED_FILE).where(_is(file)))


def _is(file: StoredFile) -> ColumnElement[bool]:
    return (STORED_FILE.c.sha256 == file.sha256) & (STORED_FILE.c.sensor_id == file.sensor_id)


def _sent_as(file: StoredFile) -> ColumnElement[bool]:
    """Who sent it: anybody the whole, one sensor its beginning."""
    senders = STORED_FILE_SENDER.c.sha256 == file.sha256
    if file.sensor_id:
        senders &= STORED_FILE_SENDER.c.sensor_id == file.sensor_id
    return senders


@dataclass(frozen=True, slots=True)
class GroupUsage:
    """Bytes of the copies that the sensors of a group sent, and how many it may have (0: any)."""

    group_id: int
    used: int
    most: int


def usage_of_group(database: Database, sensor_id: int) -> GroupUsage:
    """Of the group of a sensor; a file that several of its sensors sent counts once."""
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
    """Those of the sensors that are in a group."""
    wanted = select(SENSOR.c.id).where(
        SENSOR.c.group_id == group_id, SENSOR.c.id.in_(list(sensor_ids))
    )
    with database.reading() as connection:
        return list(connection.scalars(wanted))


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
    """How much room copies take."""
    total = select(func.coalesce(func.sum(STORED_FILE.c.copied), 0))
    sent = select(func.coalesce(func.sum(STORED_FILE_SENDER.c.copied), 0)).where(
        STORED_FILE_SENDER.c.sensor_id == sensor_id
    )
    with database.reading() as connection:
        return Usage(
            int(connection.execute(total).scalar_one()), int(connection.execute(sent).scalar_one())
        )

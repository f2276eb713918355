"""Bans of programs by MD5: author, reason, history and number of blocks.

A ban is never deleted, only disabled: its history remains, and sensors that were offline fetch the
change. The version of the list increases whenever a ban is enabled or disabled.

The SHA-256 of a ban is that of a verified copy of the file (`respond/binary_copies.py`), never a
value that a sender claims: a false claim would let the banned file run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    BigInteger,
    Connection,
    RowMapping,
    Text,
    bindparam,
    case,
    func,
    insert,
    select,
    update,
)

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import BAN_REASON_CHARS_MAX, Limit
from vedette.record.columns import from_row
from vedette.record.objects.ban import Ban, BanAudit
from vedette.state.db import list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema import BAN, BAN_AUDIT, SENSOR
from vedette.state.db.schema_fleet import STORED_FILE
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import BANS

BANS_ENDED_MAX: Limit[int] = 200
"""Maximum bans that one round expires; the next round continues."""


_VERSION = "ban_version"


@dataclass(frozen=True, slots=True)
class BanAuthor:
    """The user who changes a ban."""

    user_id: int
    username: str


@dataclass(frozen=True, slots=True)
class BlockedProgram:
    """A program that a sensor blocked, `count` times until `time_us`."""

    md5: str
    time_us: int
    count: int


@dataclass(frozen=True, slots=True)
class Reporter:
    """The sensor that reports blocks."""

    sensor_id: int
    hostname: str
    number: int = 0
    """Number of the report, so that a repeated check-in is not counted twice; 0: unknown."""


def version(connection: Connection) -> int:
    """Returns the current version of the list; 0 before the first ban."""
    return list_versions.current(connection, _VERSION)


def changed_since(connection: Connection, since: int) -> list[Ban]:
    """Returns the bans that were enabled or disabled after version `since`, without their audit."""
    query = _QUERY.where(BAN.c.version > since).order_by(BAN.c.md5)
    return [_ban(row) for row in connection.execute(query).mappings()]


def all_bans(database: Database) -> list[Ban]:
    """Returns all bans, enabled or not, sorted by MD5."""
    with database.reading() as connection:
        history: dict[str, list[BanAudit]] = {}
        for row in connection.execute(select(BAN_AUDIT).order_by(BAN_AUDIT.c.id)).mappings():
            history.setdefault(row["md5"], []).append(from_row(BanAudit, row))
        rows = connection.execute(_QUERY.order_by(BAN.c.md5)).mappings()
        return [_ban(row, history.get(row["md5"], ())) for row in rows]


def get(database: Database, md5: str) -> Ban:
    """Returns the ban of this MD5. Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, md5)


def of_file(database: Database, sha256: str) -> Ban | None:
    """Returns the ban of the file with this SHA-256 (lower case), or None. Only finds files of
    which the server has a verified copy, whose MD5 it therefore knows."""
    same = (STORED_FILE.c.sha256 == sha256) & (STORED_FILE.c.sensor_id == 0)
    with database.reading() as connection:
        query = _QUERY.where(BAN.c.md5.in_(select(STORED_FILE.c.md5).where(same)))
        row = connection.execute(query).mappings().first()
    return None if row is None else _ban(row)


def add(
    database: Database,
    md5: str,
    text: str,
    by: BanAuthor,
    now_us: int,
    *,
    enabled: bool = True,
    expires_us: int = 0,
) -> Ban:
    """Bans a program, or enables its disabled ban. If `enabled` is false, only stores the ban.
    Raises ConflictError if the program is already banned, and above the quota (`BANS`)."""
    with database.writing() as connection:
        known = connection.execute(select(BAN.c.enabled).where(BAN.c.md5 == md5)).first()
        if known is not None and known.enabled:
            raise ConflictError(f"{md5} is already banned")
        values: dict[str, object] = {
            "text": _checked(text),
            "enabled": enabled,
            "expires_us": expires_us,
        }
        if enabled:
            check_room(connection, BANS, by.user_id)
            values["version"] = list_versions.rise(connection, _VERSION)
        if known is None:
            connection.execute(insert(BAN).values(md5=md5, **values))
        _switch(connection, md5, values, by, now_us)
        return _get(connection, md5)


def change(
    database: Database,
    md5: str,
    *,
    enabled: bool | None,
    text: str | None,
    by: BanAuthor,
    now_us: int,
    check: Callable[[Ban], None] | None = None,
) -> Ban:
    """Enables or disables a ban, or changes its reason; None leaves a value unchanged. `check` may
    raise to reject the change. Raises NotFoundError, and ConflictError above the quota (`BANS`)."""
    with database.writing() as connection:
        connection.execute(select(BAN.c.md5).where(BAN.c.md5 == md5).with_for_update())
        known = _get(connection, md5)
        if check is not None:
            check(known)
        values: dict[str, object] = {}
        if text is not None and text != known.text:
            values["text"] = _checked(text)
        if enabled is not None and enabled != known.enabled:
            if enabled:
                check_room(connection, BANS, by.user_id)
            values |= {"enabled": enabled, "version": list_versions.rise(connection, _VERSION)}
            values["expires_us"] = 0
        if values:
            _switch(connection, md5, values, by, now_us)
        return _get(connection, md5)


def end_expired(database: Database, now_us: int) -> int:
    """Disables expired bans, at most BANS_ENDED_MAX. Returns their number."""
    is_over = BAN.c.enabled & (BAN.c.expires_us > 0) & (BAN.c.expires_us <= now_us)
    query = select(BAN.c.md5).where(is_over)
    with database.reading() as connection:
        if connection.scalar(query.limit(1)) is None:
            return 0
    with database.writing() as connection:
        due = list(connection.scalars(query.limit(BANS_ENDED_MAX)))
        if not due:
            return 0
        version = list_versions.rise(connection, _VERSION)
        for md5 in due:
            values: dict[str, object] = {"enabled": False, "version": version}
            _switch(connection, md5, values, BanAuthor(0, "the time it was for is over"), now_us)
    return len(due)


def count_blocks(database: Database, reporter: Reporter, blocks: Iterable[BlockedProgram]) -> None:
    """Adds the blocks that a sensor reports. Ignores programs without a ban, and a report that was
    already counted."""
    counted = sorted(blocks, key=lambda one: (one.md5, one.time_us))
    rows = [
        {
            "of_md5": one.md5,
            "more": one.count,
            "at_us": one.time_us,
            "of_sensor": reporter.sensor_id,
            "of_host": reporter.hostname,
        }
        for one in counted
    ]
    with database.writing() as connection:
        if reporter.number and not _is_new(connection, reporter):
            return
        if rows:
            connection.execute(_COUNT_BLOCKS, rows)


_AT_US: Final = bindparam("at_us", type_=BigInteger)
_IS_NEWER: Final = BAN.c.last_block_us <= _AT_US
_COUNT_BLOCKS: Final = (
    update(BAN)
    .where(BAN.c.md5 == bindparam("of_md5"))
    .values(
        block_count=BAN.c.block_count + bindparam("more", type_=BigInteger),
        last_block_sensor_id=case(
            (_IS_NEWER, bindparam("of_sensor", type_=BigInteger)),
            else_=BAN.c.last_block_sensor_id,
        ),
        last_block_hostname=case(
            (_IS_NEWER, bindparam("of_host", type_=Text)), else_=BAN.c.last_block_hostname
        ),
        last_block_us=case((_IS_NEWER, _AT_US), else_=BAN.c.last_block_us),
    )
)
"""A single statement for a whole report, which has up to `SENSOR_LIST_MAX` programs."""


_VERIFIED_SHA256 = (
    select(func.coalesce(func.min(STORED_FILE.c.sha256), ""))
    .where(STORED_FILE.c.md5 == BAN.c.md5, STORED_FILE.c.sensor_id == 0)
    .scalar_subquery()
)
_QUERY = select(
    *(column for column in BAN.columns if column.name != "sha256"),
    _VERIFIED_SHA256.label("sha256"),
)


def _is_new(connection: Connection, reporter: Reporter) -> bool:
    """Whether the report differs from the sensor's last one. Stores its number."""
    changed = connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == reporter.sensor_id, SENSOR.c.blocks_number != reporter.number)
        .values(blocks_number=reporter.number)
    )
    return bool(changed.rowcount)


def _switch(
    connection: Connection, md5: str, values: dict[str, object], by: BanAuthor, now_us: int
) -> None:
    author = {"user_id": by.user_id, "username": by.username, "time_us": now_us}
    connection.execute(update(BAN).where(BAN.c.md5 == md5).values(**values, **author))
    row = connection.execute(select(BAN.c.text, BAN.c.enabled).where(BAN.c.md5 == md5)).one()
    connection.execute(
        insert(BAN_AUDIT).values(md5=md5, text=row.text, enabled=row.enabled, **author)
    )


def _get(connection: Connection, md5: str) -> Ban:
    row = connection.execute(_QUERY.where(BAN.c.md5 == md5)).mappings().first()
    if row is None:
        raise NotFoundError(f"{md5[:40]!r} was never banned")
    query = select(BAN_AUDIT).where(BAN_AUDIT.c.md5 == md5).order_by(BAN_AUDIT.c.id)
    return _ban(row, [from_row(BanAudit, one) for one in connection.execute(query).mappings()])


def _checked(text: str) -> str:
    if len(text) > BAN_REASON_CHARS_MAX:
        raise BadRequestError(f"text: at most {BAN_REASON_CHARS_MAX} characters")
    return text


def _ban(row: RowMapping, audit: Iterable[BanAudit] = ()) -> Ban:
    return from_row(Ban, row, audit=tuple(audit))

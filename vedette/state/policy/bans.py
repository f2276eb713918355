"""Banned programs, by md5: who banned what and why, and what the bans blocked.

A ban is never deleted, only disabled: its history stays, and sensors that were offline learn what
was disabled. The version of the list rises whenever a ban is enabled or disabled.

The SHA-256 of a ban is that of a verified copy of the file (`respond/binary_copies.py`), never one
that a sender claims: a false claim would let the banned file pass.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, case, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import BAN_REASON_CHARS_MAX
from vedette.state.db import list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema import BAN, BAN_AUDIT, SENSOR
from vedette.state.db.schema_fleet import STORED_FILE

_VERSION = "ban_version"


@dataclass(frozen=True, slots=True)
class BanAuthor:
    """Who changes a ban."""

    user_id: int
    username: str


@dataclass(frozen=True, slots=True)
class Audit:
    """One change of a ban. Times in epoch microseconds."""

    time_us: int
    user_id: int
    username: str
    text: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class Ban:
    """A stored ban; `user_id`, `username` and `time_us` are of its latest change."""

    md5: str
    sha256: str
    """Of a verified copy, "" without one."""
    text: str
    enabled: bool
    user_id: int
    username: str
    time_us: int
    block_count: int
    last_block_us: int
    last_block_sensor_id: int
    last_block_hostname: str
    version: int
    expires_us: int = 0
    """When it ends by itself; 0: never."""
    audit: tuple[Audit, ...] = ()


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
    """Identifies the list, so that a repeated check-in is not counted twice. 0: unknown."""


def version(connection: Connection) -> int:
    """The current version of the list; 0 before the first ban."""
    return list_versions.current(connection, _VERSION)


def changed_since(connection: Connection, since: int) -> list[Ban]:
    """The bans that were enabled or disabled after a version, without their audit."""
    query = _QUERY.where(BAN.c.version > since).order_by(BAN.c.md5)
    return [_ban(row) for row in connection.execute(query).mappings()]


def all_bans(database: Database) -> list[Ban]:
    """Every ban, enabled or not, by md5."""
    with database.reading() as connection:
        history: dict[str, list[Audit]] = {}
        for row in connection.execute(select(BAN_AUDIT).order_by(BAN_AUDIT.c.id)).mappings():
            history.setdefault(row["md5"], []).append(_audit(row))
        rows = connection.execute(_QUERY.order_by(BAN.c.md5)).mappings()
        return [_ban(row, history.get(row["md5"], ())) for row in rows]


def get(database: Database, md5: str) -> Ban:
    """Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, md5)


def of_file(database: Database, sha256: str) -> Ban | None:
    """The ban of the file with this SHA-256 (lower case), where its bytes, of which the server
    has a copy, say which MD5 it has."""
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
    """Ban a program, also one whose ban was disabled. With `enabled` false the ban is only
    recorded and never in force. Raises ConflictError when it is banned already."""
    with database.writing() as connection:
        known = connection.execute(select(BAN.c.enabled).where(BAN.c.md5 == md5)).first()
        if known is not None and known.enabled:
            raise ConflictError(f"{md5} is banned already")
        values: dict[str, object] = {
            "text": _checked(text), "enabled": enabled, "expires_us": expires_us,
        }  # fmt: skip
        if enabled:
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
    """Enable or disable a ban, or change its reason; None leaves as it is. `check` refuses by
    raising. Raises NotFoundError."""
    with database.writing() as connection:
        connection.execute(select(BAN.c.md5).where(BAN.c.md5 == md5).with_for_update())
        known = _get(connection, md5)
        if check is not None:
            check(known)
        values: dict[str, object] = {}
        if text is not None and text != known.text:
            values["text"] = _checked(text)
        if enabled is not None and enabled != known.enabled:
            values |= {"enabled": enabled, "version": list_versions.rise(connection, _VERSION)}
            values["expires_us"] = 0
        if values:
            _switch(connection, md5, values, by, now_us)
        return _get(connection, md5)


def end_expired(database: Database, now_us: int) -> int:
    """Disables the bans whose time has come; returns how many."""
    is_over = BAN.c.enabled & (BAN.c.expires_us > 0) & (BAN.c.expires_us <= now_us)
    query = select(BAN.c.md5).where(is_over)
    with database.reading() as connection:
        if connection.scalar(query.limit(1)) is None:
            return 0
    with database.writing() as connection:
        due = list(connection.scalars(query))
        if not due:
            return 0
        version = list_versions.rise(connection, _VERSION)
        for md5 in due:
            values: dict[str, object] = {"enabled": False, "version": version}
            _switch(connection, md5, values, BanAuthor(0, "the time it was for is over"), now_us)
    return len(due)


def count_blocks(database: Database, reporter: Reporter, blocks: Iterable[BlockedProgram]) -> None:
    """Add the blocks that a sensor reports; programs that were never banned do not count, and
    neither does a list that was counted already."""
    with database.writing() as connection:
        if reporter.number and not _is_new(connection, reporter):
            return
        for block in sorted(blocks, key=lambda one: (one.md5, one.time_us)):
            is_newer = BAN.c.last_block_us <= block.time_us
            last = {
                "last_block_sensor_id": reporter.sensor_id,
                "last_block_hostname": reporter.hostname,
                "last_block_us": block.time_us,
            }
            connection.execute(
                update(BAN)
                .where(BAN.c.md5 == block.md5)
                .values(
                    block_count=BAN.c.block_count + block.count,
                    **{
                        name: case((is_newer, new), else_=BAN.c[name]) for name, new in last.items()
                    },
                )
            )


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
    """Whether a list of blocks differs from the sensor's last one, which it replaces."""
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
    return _ban(row, [_audit(one) for one in connection.execute(query).mappings()])


def _checked(text: str) -> str:
    if len(text) > BAN_REASON_CHARS_MAX:
        raise BadRequestError(f"text: at most {BAN_REASON_CHARS_MAX} characters")
    return text


def _audit(row: RowMapping) -> Audit:
    return Audit(row["time_us"], row["user_id"], row["username"], row["text"], row["enabled"])


def _ban(row: RowMapping, audit: Iterable[Audit] = ()) -> Ban:
    names = (name for name in Ban.__slots__ if name != "audit")
    return Ban(**{name: row[name] for name in names}, audit=tuple(audit))

"""Banned programs, by md5: who banned what and why, and what the bans kept from starting.

A ban is never deleted, only switched off: its history stays, and sensors that were away learn
what was taken back. The version of the list rises with every switch.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, case, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.state.db import list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema import BAN, BAN_AUDIT, SENSOR

TEXT_CHARS_MAX = 10_000
"""Characters of the reason of a ban."""

_VERSION = "ban_version"


@dataclass(frozen=True, slots=True)
class Author:
    """Who switches a ban."""

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
    """A ban as kept; `user_id`, `username` and `time_us` are of its latest change."""

    md5: str
    sha256: str
    """"" while the file was not seen with both hashes."""
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
    audit: tuple[Audit, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A program that a sensor kept from starting, `count` times until `time_us`."""

    md5: str
    time_us: int
    count: int


@dataclass(frozen=True, slots=True)
class Teller:
    """Who tells of blocks."""

    sensor_id: int
    hostname: str
    number: int = 0
    """Names the list: a check-in whose answer was lost is repeated with the same. 0: unknown."""


def version(connection: Connection) -> int:
    """The number of the latest switch of any ban; 0 before the first."""
    return list_versions.current(connection, _VERSION)


def switched_since(connection: Connection, since: int) -> list[Ban]:
    """The bans that were switched after a version, without their audit."""
    query = select(BAN).where(BAN.c.version > since).order_by(BAN.c.md5)
    return [_ban(row) for row in connection.execute(query).mappings()]


def all_bans(database: Database) -> list[Ban]:
    """Every ban, switched off or not, by md5."""
    with database.reading() as connection:
        history: dict[str, list[Audit]] = {}
        for row in connection.execute(select(BAN_AUDIT).order_by(BAN_AUDIT.c.id)).mappings():
            history.setdefault(row["md5"], []).append(_audit(row))
        rows = connection.execute(select(BAN).order_by(BAN.c.md5)).mappings()
        return [_ban(row, history.get(row["md5"], ())) for row in rows]


def get(database: Database, md5: str) -> Ban:
    """Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, md5)


def add(database: Database, md5: str, sha256: str, text: str, by: Author, now_us: int) -> Ban:
    """Bans a program, also one whose ban was switched off. Raises ConflictError when it is
    banned already."""
    with database.writing() as connection:
        risen = list_versions.rise(connection, _VERSION)
        known = connection.execute(select(BAN.c.enabled).where(BAN.c.md5 == md5)).first()
        if known is not None and known.enabled:
            raise ConflictError(f"{md5} is banned already")
        values = {"text": _checked(text), "enabled": True, "version": risen}
        if sha256:
            values["sha256"] = sha256
        if known is None:
            connection.execute(insert(BAN).values(md5=md5, **values))
        _switch(connection, md5, values, by, now_us)
        return _get(connection, md5)


def change(
    database: Database, md5: str, *, enabled: bool | None, text: str | None, by: Author, now_us: int
) -> Ban:
    """Switches a ban or changes its reason; None leaves as it is. Raises NotFoundError."""
    with database.writing() as connection:
        known = _get(connection, md5)
        values: dict[str, object] = {}
        if text is not None and text != known.text:
            values["text"] = _checked(text)
        if enabled is not None and enabled != known.enabled:
            values |= {"enabled": enabled, "version": list_versions.rise(connection, _VERSION)}
        if values:
            _switch(connection, md5, values, by, now_us)
        return _get(connection, md5)


def count_blocks(database: Database, teller: Teller, blocks: Iterable[Block]) -> None:
    """Adds what a sensor kept from starting; programs that were never banned do not count, and
    neither does a list that was counted already."""
    with database.writing() as connection:
        if teller.number and not _is_new(connection, teller):
            return
        for block in sorted(blocks, key=lambda one: (one.md5, one.time_us)):
            is_newer = BAN.c.last_block_us <= block.time_us
            last = {
                "last_block_sensor_id": teller.sensor_id,
                "last_block_hostname": teller.hostname,
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


def _is_new(connection: Connection, teller: Teller) -> bool:
    """Whether a list of blocks is another one than the sensor's last; now it is the last."""
    changed = connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == teller.sensor_id, SENSOR.c.blocks_number != teller.number)
        .values(blocks_number=teller.number)
    )
    return bool(changed.rowcount)


def _switch(
    connection: Connection, md5: str, values: dict[str, object], by: Author, now_us: int
) -> None:
    told = {"user_id": by.user_id, "username": by.username, "time_us": now_us}
    connection.execute(update(BAN).where(BAN.c.md5 == md5).values(**values, **told))
    row = connection.execute(select(BAN.c.text, BAN.c.enabled).where(BAN.c.md5 == md5)).one()
    connection.execute(
        insert(BAN_AUDIT).values(md5=md5, text=row.text, enabled=row.enabled, **told)
    )


def _get(connection: Connection, md5: str) -> Ban:
    row = connection.execute(select(BAN).where(BAN.c.md5 == md5)).mappings().first()
    if row is None:
        raise NotFoundError(f"{md5[:40]!r} was never banned")
    query = select(BAN_AUDIT).where(BAN_AUDIT.c.md5 == md5).order_by(BAN_AUDIT.c.id)
    return _ban(row, [_audit(one) for one in connection.execute(query).mappings()])


def _checked(text: str) -> str:
    if len(text) > TEXT_CHARS_MAX:
        raise BadRequestError(f"text: at most {TEXT_CHARS_MAX} characters")
    return text


def _audit(row: RowMapping) -> Audit:
    return Audit(row["time_us"], row["user_id"], row["username"], row["text"], row["enabled"])


def _ban(row: RowMapping, audit: Iterable[Audit] = ()) -> Ban:
    names = (name for name in Ban.__slots__ if name != "audit")
    return Ban(**{name: row[name] for name in names}, audit=tuple(audit))

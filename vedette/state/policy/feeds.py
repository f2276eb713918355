"""Stored feeds: definition, synchronization schedule, and results.

Secrets are sealed (`state/db/sealing.py`) and never part of a `Feed`. They are dropped when the URL
changes to another server: otherwise anyone who may change a feed could redirect them there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import FEED_ERROR_CHARS_MAX, FEED_ERRORS_MAX
from vedette.model.findings.tag import YARA_FEED
from vedette.model.threat.feed import BrokenPart
from vedette.record.columns import from_row
from vedette.record.objects.feed import Feed, server_of
from vedette.state.db import list_versions
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database
from vedette.state.db.schema_feeds import FEED, FEED_ERROR
from vedette.state.db.sealing import Sealing
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import FEEDS

CHANGES: Final = 1
EVERYTHING: Final = 2
"""Extent of a synchronization: new and newer reports, or all reports including deletions."""

SECRETS: Final = ("password", "ssl_client_key")

_VERSION: Final = "indicator_version"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Decrypted secrets of a feed; "" for none."""

    password: str
    ssl_client_key: str


@dataclass(frozen=True, slots=True)
class SyncResult:
    """Result of a synchronization."""

    is_full: bool
    etag: str
    format: str
    reports_read: int
    reports_changed: int
    reports_deleted: int
    iocs_read: int
    errors: int
    kept_errors: Sequence[BrokenPart] = ()
    problem: str = ""
    """Problem of a document that was read completely."""


def all_feeds(database: Database) -> list[Feed]:
    """Returns all feeds, sorted by id."""
    with database.reading() as connection:
        return [_feed(row) for row in connection.execute(_QUERY.order_by(FEED.c.id)).mappings()]


def get(database: Database, feed_id: int) -> Feed:
    """Returns the feed with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, feed_id)


def named(database: Database, name: str) -> Feed:
    """Returns the feed with this name, case-insensitive. Raises NotFoundError."""
    with database.reading() as connection:
        condition = FEED.c.folded_name == name.lower()
        row = connection.execute(_QUERY.where(condition)).mappings().first()
    if row is None:
        raise NotFoundError(f"feed {name[:80]!r} not found")
    return _feed(row)


def names(connection: Connection) -> dict[int, str]:
    """Maps id to name for all feeds."""
    rows = connection.execute(select(FEED.c.id, FEED.c.name))
    return {row.id: row.name for row in rows}


def add(database: Database, members: Mapping[str, Any], sealing: Sealing, now_us: int) -> Feed:
    """Adds a feed with columns of `Feed` and secrets; its first synchronization is due at once.

    Raises ConflictError for a name that is taken, and above the quota (`FEEDS`).
    """
    with database.writing() as connection:
        check_room(connection, FEEDS)
        name = str(members["name"])
        _check_name(connection, name, 0)
        plain = {key: value for key, value in members.items() if key not in SECRETS}
        row = plain | {"folded_name": name.lower(), "created_us": now_us, "changed_us": now_us}
        feed_id = connection.execute(insert(FEED).values(row).returning(FEED.c.id)).scalar_one()
        secrets = {key: members.get(key) for key in SECRETS}
        _update(connection, feed_id, _sealed(sealing, feed_id, secrets))
        return _get(connection, feed_id)


def change(
    database: Database,
    feed_id: int,
    members: Mapping[str, Any],
    sealing: Sealing,
    now_us: int,
    check: Callable[[Feed], None] | None = None,
) -> Feed:
    """Changes the given columns and secrets of a feed; other values stay. If the URL changes to
    another server, secrets that are not given are dropped. `check` may raise to reject the change.
    Raises NotFoundError and ConflictError."""
    with database.writing() as connection:
        connection.execute(select(FEED.c.id).where(FEED.c.id == feed_id).with_for_update())
        known = _get(connection, feed_id)
        if check is not None:
            check(known)
        row = {key: value for key, value in members.items() if key not in SECRETS}
        if row.get("name", known.name) != known.name:
            _check_name(connection, str(row["name"]), feed_id)
            row["folded_name"] = str(row["name"]).lower()
        url = str(row.get("feed_url", known.feed_url))
        secrets = {key: members[key] for key in SECRETS if members.get(key) is not None}
        if url != known.feed_url:
            row |= {"etag": "", "next_sync_us": 0, "failures": 0}
            if server_of(url) != server_of(known.feed_url):
                secrets = dict.fromkeys(SECRETS, "") | secrets
        if row.get("enabled") and not known.enabled:
            row |= {"next_sync_us": 0, "failures": 0}
        if (
            row.get("enabled", known.enabled) != known.enabled
            or row.get("name", known.name) != known.name
        ):
            list_versions.rise(connection, _VERSION)
        row |= {"changed_us": now_us, **_sealed(sealing, feed_id, secrets)}
        _update(connection, feed_id, row)
        return _get(connection, feed_id)


def remove(
    database: Database, feed_id: int, within: Callable[[Connection], None] | None = None
) -> None:
    """Deletes a feed. `within` deletes dependent data in the same transaction. Raises
    NotFoundError."""
    with database.writing() as connection:
        _get(connection, feed_id)
        if within is not None:
            within(connection)
        connection.execute(delete(FEED).where(FEED.c.id == feed_id))
        list_versions.rise(connection, _VERSION)


def credentials(database: Database, feed_id: int, sealing: Sealing) -> Credentials:
    """Decrypts the secrets of a feed. Raises NotFoundError, and UnavailableError like
    `Sealing.open`."""
    with database.reading() as connection:
        columns = [FEED.c[f"{name}_sealed"] for name in SECRETS]
        row = connection.execute(select(*columns).where(FEED.c.id == feed_id)).first()
    if row is None:
        raise _unknown(feed_id)
    opened = (
        sealing.open(text, _purpose(feed_id, name)) for name, text in zip(SECRETS, row, strict=True)
    )
    return Credentials(*opened)


def has_secrets(database: Database, feed_id: int) -> dict[str, bool]:
    """Maps each secret's name to whether it is stored."""
    columns = [FEED.c[f"{name}_sealed"] for name in SECRETS]
    with database.reading() as connection:
        row = connection.execute(select(*columns).where(FEED.c.id == feed_id)).first()
    return dict(zip(SECRETS, map(bool, row or ("", "")), strict=True))


def request_sync(database: Database, feed_id: int, how: int, now_us: int) -> None:
    """Schedules an immediate synchronization, `CHANGES` or `EVERYTHING`.

    Raises NotFoundError, and ConflictError for a disabled feed.
    """
    with database.writing() as connection:
        feed = _get(connection, feed_id)
        if not feed.enabled:
            raise ConflictError(f"feed {feed.name} is disabled")
        is_full = how == EVERYTHING
        note(connection, Entry("run", "feed", feed.name, None, {"full_sync": is_full}))
        wanted = max(feed.sync_wanted, how)
        _update(connection, feed_id, {"sync_wanted": wanted, "sync_requested_us": now_us})


def due(database: Database, now_us: int) -> list[Feed]:
    """Returns the enabled feeds to synchronize now; explicitly requested ones first."""
    condition = FEED.c.enabled & ((FEED.c.sync_wanted > 0) | (FEED.c.next_sync_us <= now_us))
    query = _QUERY.where(condition).order_by(FEED.c.sync_wanted.desc(), FEED.c.next_sync_us)
    with database.reading() as connection:
        return [_feed(row) for row in connection.execute(query).mappings()]


def begin_sync(database: Database, feed_id: int, now_us: int) -> None:
    """Records that a synchronization has begun."""
    with database.writing() as connection:
        _update(connection, feed_id, {"sync_started_us": now_us})


def note_synced(
    database: Database,
    begun: Feed,
    result: SyncResult,
    *,
    now_us: int,
    next_us: int,
) -> None:
    """Records a completed synchronization. Keeps a request that arrived after it began."""
    with database.writing() as connection:
        values: dict[str, Any] = {
            "synced_us": now_us,
            "next_sync_us": next_us,
            "failures": 0,
            "last_error": result.problem[:FEED_ERROR_CHARS_MAX],
            "etag": result.etag,
            "format": result.format,
            "reports_read": result.reports_read,
            "reports_changed": result.reports_changed,
            "reports_deleted": result.reports_deleted,
            "iocs_read": result.iocs_read,
            "errors": result.errors,
        }
        if result.is_full:
            values["full_synced_us"] = now_us
        _update(connection, begun.id, values)
        _answer(connection, begun)
        _keep_errors(connection, begun.id, result.kept_errors)
        list_versions.rise(connection, _VERSION)


def note_failed(
    database: Database,
    begun: Feed,
    problem: str,
    kept: Sequence[BrokenPart],
    *,
    next_us: int,
) -> None:
    """Records a failed synchronization and the time of the retry. Stored reports stay."""
    with database.writing() as connection:
        values = {
            "failures": FEED.c.failures + 1,
            "last_error": problem[:FEED_ERROR_CHARS_MAX],
            "next_sync_us": next_us,
        }
        _update(connection, begun.id, values)
        _answer(connection, begun)
        _keep_errors(connection, begun.id, kept)
        list_versions.rise(connection, _VERSION)


def errors_of(database: Database, feed_id: int) -> list[BrokenPart]:
    """Returns the unreadable parts of the latest synchronization in document order, at most
    `FEED_ERRORS_MAX`. Raises NotFoundError."""
    with database.reading() as connection:
        _get(connection, feed_id)
        query = select(FEED_ERROR).where(FEED_ERROR.c.feed_id == feed_id)
        rows = connection.execute(query.order_by(FEED_ERROR.c.number)).mappings()
        return [
            BrokenPart(place=row["place"], problem=row["problem"], report_id=row["report_id"])
            for row in rows
        ]


def note_problem(database: Database, feed_id: int, report_id: str, problem: str) -> None:
    """Records a problem of a report among the errors of the latest synchronization, once. Ignores a
    deleted feed. The next synchronization clears it."""
    mine = FEED_ERROR.c.feed_id == feed_id
    row = {
        "place": "matching",
        "report_id": report_id[:FEED_ERROR_CHARS_MAX],
        "problem": problem[:FEED_ERROR_CHARS_MAX],
    }
    known = [FEED_ERROR.c[name] == value for name, value in row.items()]
    newest = select(func.max(FEED_ERROR.c.number)).where(mine)
    with database.writing() as connection:
        if connection.scalar(select(FEED.c.id).where(FEED.c.id == feed_id)) is None:
            return
        if connection.scalar(select(FEED_ERROR.c.number).where(mine, *known)) is not None:
            return
        number = connection.scalar(newest)
        number = 0 if number is None else number + 1
        if number < FEED_ERRORS_MAX:
            connection.execute(insert(FEED_ERROR).values(feed_id=feed_id, number=number, **row))
            _update(connection, feed_id, {"errors": FEED.c.errors + 1})


def indicator_version(database: Database) -> int:
    """Returns a version that increases whenever indicators, or their feeds, have changed."""
    with database.reading() as connection:
        return list_versions.current(connection, _VERSION)


_QUERY: Final = select(FEED)


def _get(connection: Connection, feed_id: int) -> Feed:
    row = connection.execute(_QUERY.where(FEED.c.id == feed_id)).mappings().first()
    if row is None:
        raise _unknown(feed_id)
    return _feed(row)


def _unknown(feed_id: int) -> NotFoundError:
    return NotFoundError(f"feed {feed_id} not found")


def _matching(feed: Feed) -> tuple[tuple[str, object], ...]:
    """Returns the members that affect matching and alerts, with their values."""
    return (("enabled", feed.enabled), ("name", feed.name), ("rating", feed.rating))


def _check_name(connection: Connection, name: str, own_id: int) -> None:
    if not (name.isascii() and name.isalnum()):
        raise BadRequestError(f"name: {name[:80]!r} must contain only letters and digits")
    if name.lower() == YARA_FEED:
        raise BadRequestError(f"name: {name!r} is reserved for YARA matches")
    taken = select(FEED.c.id).where(FEED.c.folded_name == name.lower(), FEED.c.id != own_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"feed {name[:80]!r} already exists")


def _update(connection: Connection, feed_id: int, values: Mapping[str, Any]) -> None:
    if values:
        connection.execute(update(FEED).where(FEED.c.id == feed_id).values(values))


def _answer(connection: Connection, begun: Feed) -> None:
    """Clears the request that a synchronization served, unless a newer request exists."""
    same = FEED.c.sync_requested_us == begun.sync_requested_us
    condition = (FEED.c.id == begun.id) & same
    connection.execute(update(FEED).where(condition).values(sync_wanted=0))


def _keep_errors(connection: Connection, feed_id: int, kept: Sequence[BrokenPart]) -> None:
    connection.execute(delete(FEED_ERROR).where(FEED_ERROR.c.feed_id == feed_id))
    rows = [
        {
            "feed_id": feed_id,
            "number": number,
            "place": one.place[:FEED_ERROR_CHARS_MAX],
            "report_id": one.report_id[:FEED_ERROR_CHARS_MAX],
            "problem": one.problem[:FEED_ERROR_CHARS_MAX],
        }
        for number, one in enumerate(kept[:FEED_ERRORS_MAX])
    ]
    if rows:
        connection.execute(insert(FEED_ERROR), rows)


def _sealed(sealing: Sealing, feed_id: int, secrets: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{name}_sealed": sealing.seal(text or "", _purpose(feed_id, name))
        for name, text in secrets.items()
    }


def _purpose(feed_id: int, name: str) -> str:
    return f"feed {feed_id} {name}"


def _feed(row: RowMapping) -> Feed:
    return from_row(Feed, row)

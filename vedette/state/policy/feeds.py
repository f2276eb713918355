"""Stored feeds: their record, when they are to be synchronised, and how that went.

Secrets are sealed (`state/db/sealing.py`), are never part of a `Feed`, and are dropped when the URL
leads to another server: whoever may change a feed could send them there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import FEED_ERROR_CHARS_MAX, FEED_ERRORS_MAX, FEEDS_MAX
from vedette.model.findings.tag import YARA_FEED
from vedette.model.threat.feed import BrokenPart
from vedette.state.db import list_versions
from vedette.state.db.audit_log import Entry, note
from vedette.state.db.database import Database
from vedette.state.db.schema_feeds import FEED, FEED_ERROR
from vedette.state.db.sealing import Sealing

CHANGES: Final = 1
EVERYTHING: Final = 2
"""How much a synchronisation takes: new and newer reports, or all with what was deleted."""

SECRETS: Final = ("password", "ssl_client_key")

_VERSION: Final = "indicator_version"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Feed:
    """A stored feed. Times in epoch microseconds, 0 for never."""

    id: int
    name: str
    display_name: str
    feed_url: str
    provider_url: str
    enabled: bool
    manually_added: bool
    summary: str | None
    tech_data: str | None
    category: str | None
    icon: str | None
    icon_small: str | None
    requires: str | None
    requires_what: str | None
    requires_who: str | None
    ssl_client_crt: str | None
    username: str | None
    position: int | None
    use_proxy: bool | None
    validate_server_cert: bool | None
    provider_rating: float | None
    local_rating: float | None
    sync_wanted: int
    sync_requested_us: int
    sync_started_us: int
    synced_us: int
    full_synced_us: int
    next_sync_us: int
    failures: int
    last_error: str
    etag: str
    format: str
    reports_read: int
    reports_changed: int
    reports_deleted: int
    iocs_read: int
    errors: int

    @property
    def rating(self) -> float | None:
        """What it is worth, 0 to 5: what somebody here says, else its provider."""
        return self.provider_rating if self.local_rating is None else self.local_rating


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets of a feed in clear, "" for none."""

    password: str
    ssl_client_key: str


@dataclass(frozen=True, slots=True)
class SyncResult:
    """How a synchronisation went."""

    is_full: bool
    etag: str
    format: str
    reports_read: int
    reports_changed: int
    reports_deleted: int
    iocs_read: int
    errors: int
    kept_errors: Sequence[BrokenPart] = ()


def all_feeds(database: Database) -> list[Feed]:
    """By id."""
    with database.reading() as connection:
        return [_feed(row) for row in connection.execute(_QUERY.order_by(FEED.c.id)).mappings()]


def get(database: Database, feed_id: int) -> Feed:
    """Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, feed_id)


def named(database: Database, name: str) -> Feed:
    """By name, in any case. Raises NotFoundError."""
    with database.reading() as connection:
        condition = FEED.c.folded_name == name.lower()
        row = connection.execute(_QUERY.where(condition)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no feed {name[:80]!r}")
    return _feed(row)


def names(connection: Connection) -> dict[int, str]:
    """Names of all feeds by id."""
    rows = connection.execute(select(FEED.c.id, FEED.c.name))
    return {row.id: row.name for row in rows}


def add(database: Database, members: Mapping[str, Any], sealing: Sealing, now_us: int) -> Feed:
    """Add a feed with columns of `Feed` and secrets; its first synchronisation is due at once.

    Raises ConflictError for a name that is taken, and above `FEEDS_MAX`.
    """
    with database.writing() as connection:
        if (connection.scalar(select(func.count()).select_from(FEED)) or 0) >= FEEDS_MAX:
            raise ConflictError(f"more than {FEEDS_MAX} feeds")
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
    """Change columns of a feed and its secrets; what is not given stays, but the secrets where the
    URL leads to another server. `check` refuses by raising. Raises NotFoundError and
    ConflictError."""
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
    """Raises NotFoundError. `within` removes what else belongs to the feed."""
    with database.writing() as connection:
        _get(connection, feed_id)
        if within is not None:
            within(connection)
        connection.execute(delete(FEED).where(FEED.c.id == feed_id))
        list_versions.rise(connection, _VERSION)


def credentials(database: Database, feed_id: int, sealing: Sealing) -> Credentials:
    """The secrets of a feed. Raises NotFoundError, and UnavailableError as `Sealing.open`."""
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
    """Which secrets are stored, by name."""
    columns = [FEED.c[f"{name}_sealed"] for name in SECRETS]
    with database.reading() as connection:
        row = connection.execute(select(*columns).where(FEED.c.id == feed_id)).first()
    return dict(zip(SECRETS, map(bool, row or ("", "")), strict=True))


def server_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port that a URL leads to."""
    split = urlsplit(url)
    try:
        port = split.port
    except ValueError:
        port = None
    return split.scheme, (split.hostname or "").lower(), port or _PORTS.get(split.scheme, 0)


def request_sync(database: Database, feed_id: int, how: int, now_us: int) -> None:
    """Have a feed synchronised soon, `CHANGES` or `EVERYTHING`.

    Raises NotFoundError, and ConflictError for a feed that is disabled.
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
    """Enabled feeds to synchronise now, those that were asked for first."""
    condition = FEED.c.enabled & ((FEED.c.sync_wanted > 0) | (FEED.c.next_sync_us <= now_us))
    query = _QUERY.where(condition).order_by(FEED.c.sync_wanted.desc(), FEED.c.next_sync_us)
    with database.reading() as connection:
        return [_feed(row) for row in connection.execute(query).mappings()]


def begin_sync(database: Database, feed_id: int, now_us: int) -> None:
    """Note that a synchronisation has begun."""
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
    """Note a synchronisation that reached its end. A request that came in since it began stays."""
    with database.writing() as connection:
        values: dict[str, Any] = {
            "synced_us": now_us,
            "next_sync_us": next_us,
            "failures": 0,
            "last_error": "",
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
    """Note a synchronisation that failed, and when to try again. What it stored stays."""
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
    """What the latest synchronisation could not read, in the order of the document; at most
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
    """Keep what is wrong with what was read, once, with the errors of the latest synchronisation;
    nothing for a feed that is gone. The next one forgets it."""
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
    """Rises whenever indicators, or the feeds that have them, have changed."""
    with database.reading() as connection:
        return list_versions.current(connection, _VERSION)


_COLUMNS: Final = tuple(Feed.__slots__)
_QUERY: Final = select(*(FEED.c[name] for name in _COLUMNS))


def _get(connection: Connection, feed_id: int) -> Feed:
    row = connection.execute(_QUERY.where(FEED.c.id == feed_id)).mappings().first()
    if row is None:
        raise _unknown(feed_id)
    return _feed(row)


def _unknown(feed_id: int) -> NotFoundError:
    return NotFoundError(f"there is no feed {feed_id}")


def _matching(feed: Feed) -> tuple[tuple[str, object], ...]:
    """Members that decide how indicators match and what alerts say, with their values."""
    return (("enabled", feed.enabled), ("name", feed.name), ("rating", feed.rating))


def _check_name(connection: Connection, name: str, own_id: int) -> None:
    if not (name.isascii() and name.isalnum()):
        raise BadRequestError(f"name: {name[:80]!r} is not of letters and digits only")
    if name.lower() == YARA_FEED:
        raise BadRequestError(f"name: {name!r} is kept for matches of YARA rules")
    taken = select(FEED.c.id).where(FEED.c.folded_name == name.lower(), FEED.c.id != own_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"there is a feed {name[:80]!r} already")


def _update(connection: Connection, feed_id: int, values: Mapping[str, Any]) -> None:
    if values:
        connection.execute(update(FEED).where(FEED.c.id == feed_id).values(values))


def _answer(connection: Connection, begun: Feed) -> None:
    """The request that a synchronisation began with is answered, unless another came since."""
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
    return Feed(**{name: row[name] for name in _COLUMNS})

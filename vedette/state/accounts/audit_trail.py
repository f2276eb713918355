"""Reads and verifies the audit log."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, RowMapping, func, select

from vedette.limits import FACET_VALUES_SHOWN, Limit
from vedette.state.db.audit_log import FIRST_HASH, Entry, chained, note
from vedette.state.db.database import Database
from vedette.state.db.schema_audit import AUDIT, AUDIT_HEAD

AUDIT_FACET_ENTRIES: Limit[int] = 100_000
"""Newest entries of the audit log that facets count; takes a tenth of a second in SQLite."""


_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Criteria of a search; "" and None match everything."""

    author: str = ""
    action: str = ""
    kind: str = ""
    target: str = ""
    """Part of the target's name; case-insensitive."""
    one: tuple[str, str] | None = None
    """Kind and full name of one object."""
    from_us: int | None = None
    to_us: int | None = None
    start: int = 0
    rows: int = 100


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored entry. It contains no values of secrets."""

    number: int
    time_us: int
    author_kind: str
    author: str
    address: str
    request_id: str
    action: str
    kind: str
    target: str
    before: Any
    after: Any
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry. Whoever stores its hash elsewhere detects any rewriting of the log."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a verification."""

    entries: int
    """Number of intact entries, counted from the first."""
    head: Head
    fault: str = ""
    """Defect of the next entry; "" if the log is intact."""


def search(database: Database, wanted: Search) -> tuple[int, list[AuditEntry]]:
    """Returns the number of matching entries and one page of them, newest first."""
    conditions = list(_conditions(wanted))
    count = select(func.count()).select_from(AUDIT).where(*conditions)
    page = (
        select(AUDIT)
        .where(*conditions)
        .order_by(AUDIT.c.number.desc())
        .offset(wanted.start)
        .limit(wanted.rows)
    )
    with database.reading() as connection:
        rows = connection.execute(page).mappings().all()
        return connection.scalar(count) or 0, [_entry(row) for row in rows]


def facets(database: Database, wanted: Search) -> dict[str, list[tuple[str, int]]]:
    """Returns authors, actions and kinds with their counts over the newest `AUDIT_FACET_ENTRIES`
    matching entries, most frequent first."""
    newest = (
        select(AUDIT.c.author, AUDIT.c.action, AUDIT.c.kind)
        .where(*_conditions(wanted))
        .order_by(AUDIT.c.number.desc())
        .limit(AUDIT_FACET_ENTRIES)
        .subquery()
    )
    found: dict[str, list[tuple[str, int]]] = {}
    with database.reading() as connection:
        for column in newest.c:
            query = (
                select(column, func.count().label("entries"))
                .group_by(column)
                .order_by(func.count().desc(), column)
                .limit(FACET_VALUES_SHOWN)
            )
            found[column.name] = [(row[0], row[1]) for row in connection.execute(query)]
    return found


def pages(database: Database, wanted: Search, last: int) -> Iterator[list[AuditEntry]]:
    """Yields pages of all matching entries up to number `last`, newest first. Ignores `start` and
    `rows` of the search."""
    conditions = list(_conditions(wanted))
    while True:
        query = (
            select(AUDIT)
            .where(*conditions, AUDIT.c.number <= last)
            .order_by(AUDIT.c.number.desc())
            .limit(_PAGE)
        )
        with database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        if not rows:
            return
        yield [_entry(row) for row in rows]
        last = rows[-1]["number"] - 1


def record(database: Database, entry: Entry) -> None:
    """Writes an entry for an act that changes no table, such as a download."""
    with database.writing() as connection:
        note(connection, entry)


def head(database: Database) -> Head:
    """Returns the newest entry; number 0 before the first entry, or if the head was removed."""
    return _head(database) or Head(0, FIRST_HASH)


def _head(database: Database) -> Head | None:
    with database.reading() as connection:
        row = connection.execute(select(AUDIT_HEAD)).first()
    return None if row is None else Head(row.number, row.hash)


def verify(database: Database, known: Head | None = None) -> Verdict:
    """Reads the whole log and checks numbers, hashes and head. `known` is an earlier head that was
    stored elsewhere; the log must contain it."""
    previous, whole = FIRST_HASH, 0
    latest = _head(database)
    if latest is None:
        return Verdict(0, Head(0, FIRST_HASH), "the head is missing")
    for row in _rows(database):
        if row["number"] > latest.number:  # written after the verification began
            break
        if row["number"] != whole + 1:
            return Verdict(whole, latest, _gap(row["number"], whole + 1))
        if row["hash"] != chained(previous, row):
            return Verdict(whole, latest, f"entry {whole + 1} or an earlier entry was changed")
        previous, whole = row["hash"], whole + 1
        if known is not None and known.number == whole and known.hash != previous:
            return Verdict(whole, latest, f"entry {whole} does not match the head kept elsewhere")
    if (whole, previous) != (latest.number, latest.hash):
        return Verdict(whole, latest, f"entries after {whole} are missing, up to {latest.number}")
    if known is not None and known.number > whole:
        return Verdict(whole, latest, f"entry {known.number}, kept elsewhere, is missing")
    return Verdict(whole, latest, _beyond(database))


def _gap(found: int, wanted: int) -> str:
    """Describes a gap or an extra entry where `wanted` is the expected number."""
    return f"entry {wanted} is missing" if found > wanted else f"entry {found} was put before it"


def _beyond(database: Database) -> str:
    """Returns the defect of entries after the head. Each transaction updates both, so no
    transaction wrote these."""
    with database.reading() as connection:
        head_number = select(AUDIT_HEAD.c.number).scalar_subquery()
        query = select(func.min(AUDIT.c.number)).where(AUDIT.c.number > head_number)
        number = connection.scalar(query)
    return "" if number is None else f"entry {number} was put after the head"


def _rows(database: Database) -> Iterator[RowMapping]:
    """Yields all entries in order, read page by page."""
    after: int | None = None
    while True:
        query = select(AUDIT).order_by(AUDIT.c.number).limit(_PAGE)
        if after is not None:
            query = query.where(AUDIT.c.number > after)
        with database.reading() as connection:
            rows = connection.execute(query).mappings().all()
        yield from rows
        if len(rows) < _PAGE:
            return
        after = rows[-1]["number"]


def _conditions(wanted: Search) -> Iterator[ColumnElement[bool]]:
    for column, value in (
        (AUDIT.c.author, wanted.author),
        (AUDIT.c.action, wanted.action),
        (AUDIT.c.kind, wanted.kind),
    ):
        if value:
            yield column == value
    if wanted.target:
        yield func.lower(AUDIT.c.target).contains(wanted.target.lower(), autoescape=True)
    if wanted.one is not None:
        yield (AUDIT.c.kind == wanted.one[0]) & (AUDIT.c.target == wanted.one[1])
    if wanted.from_us is not None:
        yield AUDIT.c.time_us >= wanted.from_us
    if wanted.to_us is not None:
        yield AUDIT.c.time_us < wanted.to_us


def _entry(row: RowMapping) -> AuditEntry:
    values = dict(row)
    for name in ("before", "after"):
        values[name] = orjson.loads(values[name]) if values[name] else None
    return AuditEntry(**values)

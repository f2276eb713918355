"""The audit log: every change of an audited table, in the transaction that makes the change.

A table is audited if its definition has `info={"audited": Audited(...)}`. This module observes
statements on such tables, so no caller can omit the log: it reads the affected rows before and
after the statement and turns differences in audited columns into entries. It never copies values of
secret columns into entries.

Entries are numbered without gaps and chained: each hash covers the entry's content and the hash of
the previous entry. `verify` (`state/accounts/audit_trail.py`) detects entries that are changed,
removed or inserted later, as long as a later hash is stored elsewhere. The transaction writes its
entries at its end, under a lock on the chain's head that lasts until commit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Literal

import orjson
from sqlalchemy import (
    Connection,
    Delete,
    Engine,
    Insert,
    RowMapping,
    Table,
    Update,
    event,
    select,
    update,
)
from sqlalchemy import insert as insert_into

from vedette.clock import SystemClock
from vedette.model.threat.feed import shown_url
from vedette.state.db.audited import Audited, given_key
from vedette.state.db.author import current_author
from vedette.state.db.schema_audit import AUDIT, AUDIT_HEAD

Action = Literal["create", "change", "delete", "read", "run"]

FIRST_HASH: Final = "0" * 64
SET, UNSET = "(set)", "(not set)"
"""Placeholders for the value of a secret."""
CHANGED = "(changed)"

_PENDING = "audit entries"
_BEFORE = "audited rows before"

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A change that has no number yet. `target` names the object within its kind."""

    action: Action
    kind: str
    target: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def note(connection: Connection, entry: Entry) -> None:
    """Adds an entry for an act that changes no table, e.g. the download of a file. It is written at
    the end of the transaction, which must be a writing one."""
    pending: list[Entry] = connection.info.setdefault(_PENDING, [])
    if pending and _completes(pending[-1], entry):
        pending[-1] = _completed(pending[-1], entry)
    else:
        pending.append(entry)


def complete(connection: Connection, kind: str, target: str, after: Mapping[str, Any]) -> None:
    """Extends the entry of the change that this transaction just made with facts that no table
    shows, e.g. an accepted warning. Does nothing if the change had no effect and therefore no
    entry."""
    pending: list[Entry] = connection.info.get(_PENDING, [])
    if pending and (pending[-1].kind, pending[-1].target) == (kind, target):
        pending[-1] = _completed(pending[-1], Entry("change", kind, target, None, after))


def observe(engine: Engine) -> None:
    """Observes all statements of an engine."""
    event.listen(engine, "before_execute", _before)
    event.listen(engine, "after_execute", _after)


def begin(connection: Connection) -> None:
    """Discards entries that a failed transaction left on the connection."""
    connection.info[_PENDING] = []
    connection.info[_BEFORE] = []


def write_pending(connection: Connection) -> None:
    """Numbers, chains and writes the entries of a transaction, as its last statements."""
    entries: list[Entry] = connection.info.pop(_PENDING, [])
    if not entries:
        return
    count = len(entries)
    query = update(AUDIT_HEAD).values(number=AUDIT_HEAD.c.number + count)
    head = connection.execute(query.returning(AUDIT_HEAD.c.number, AUDIT_HEAD.c.hash)).one()
    author, now_us, previous = current_author(), SystemClock().now_us(), head.hash
    rows = []
    for number, entry in enumerate(entries, head.number - count + 1):
        row = {
            "number": number,
            "time_us": now_us,
            "author_kind": author.kind,
            "author": author.name,
            "address": author.address,
            "request_id": author.request_id,
            "action": entry.action,
            "kind": entry.kind,
            "target": entry.target,
            "before": _text(entry.before),
            "after": _text(entry.after),
        }
        previous = row["hash"] = chained(previous, row)
        rows.append(row)
    connection.execute(insert_into(AUDIT), rows)
    connection.execute(update(AUDIT_HEAD).values(hash=previous))


def chained(previous: str, row: Mapping[str, Any] | RowMapping) -> str:
    """Returns the hash of an entry: SHA-256 over the previous hash and the entry's columns as JSON
    with sorted keys."""
    content = {str(name): value for name, value in row.items() if name != "hash"}
    data = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return sha256(previous.encode() + b"\n" + data).hexdigest()


def _before(
    connection: Connection,
    statement: Any,
    many: Sequence[Mapping[str, Any]],
    params: Mapping[str, Any],
    _options: Mapping[str, Any],
) -> None:
    audited = _audited(connection, statement)
    if audited is None or isinstance(statement, Insert):
        return
    if isinstance(statement, Update) and not _touches(statement, audited, many or [params]):
        return
    connection.info[_BEFORE].append(list(_rows(connection, statement, many or [params])))


def _after(
    connection: Connection,
    statement: Any,
    many: Sequence[Mapping[str, Any]],
    params: Mapping[str, Any],
    _options: Mapping[str, Any],
    result: Any,
) -> None:
    audited = _audited(connection, statement)
    if audited is None:
        return
    if isinstance(statement, Insert):
        # SQLite reports no row count with RETURNING. Otherwise a row count of 0 means that ON
        # CONFLICT DO NOTHING applied.
        if result.returns_rows or result.rowcount != 0:
            _note_created(connection, audited, statement.table, result)
        return
    if isinstance(statement, Update) and not _touches(statement, audited, many or [params]):
        return
    before = connection.info[_BEFORE].pop()
    table = statement.table
    for row in before:
        keys = [column == row[column.name] for column in table.primary_key]
        now = None
        if isinstance(statement, Update):
            now = connection.execute(select(table).where(*keys)).mappings().first()
        _note_changed(connection, audited, dict(row), None if now is None else dict(now))


def _audited(connection: Connection, statement: Any) -> Audited | None:
    """Returns the audit definition of a statement's table; None if it is not audited, in reading
    transactions, and for changes by sensors."""
    if not isinstance(statement, Insert | Update | Delete):
        return None
    table = statement.table
    audited = table.info.get("audited") if isinstance(table, Table) else None
    if not isinstance(audited, Audited) or _BEFORE not in connection.info:
        return None
    return None if current_author().kind == "sensor" else audited


def _touches(statement: Update, audited: Audited, many: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an update sets an audited column; most statements on busy tables do not."""
    if audited.columns is None:
        return True
    given = {getattr(one, "name", one) for one in statement._values or ()}
    given |= {name for params in many[:1] for name in params}
    return not given.isdisjoint(audited.columns)


def _rows(
    connection: Connection, statement: Update | Delete, many: Sequence[Mapping[str, Any]]
) -> Iterator[RowMapping]:
    query = select(statement.table)
    if statement.whereclause is not None:
        query = query.where(statement.whereclause)
    for params in many:
        yield from connection.execute(query, dict(params)).mappings()


def _note_created(connection: Connection, audited: Audited, table: Any, result: Any) -> None:
    known = {column.name for column in table.columns}
    rows = result.context.compiled_parameters
    given = given_key(connection, table, result) if len(rows) == 1 else {}
    for params in rows:
        row = {name: value for name, value in params.items() if name in known} | given
        after = {name: shown for name, shown in _shown(audited, row).items() if shown != UNSET}
        note(connection, Entry("create", audited.kind, audited.target(row), None, after))


def _note_changed(
    connection: Connection, audited: Audited, row: Values, now: Values | None
) -> None:
    target = audited.target(row)
    before = _shown(audited, row)
    existed = audited.exists(row)
    if now is None or not audited.exists(now):
        if not existed:
            return
        note(connection, Entry("delete", audited.kind, target, before, None))
        return
    after = _shown(audited, now)
    if not existed:
        note(connection, Entry("create", audited.kind, audited.target(now), None, after))
        return
    differing = {name for name in before if row[name] != now[name]}
    if not differing:
        return
    for name in differing & (audited.secrets | audited.urls):
        after[name] = CHANGED if before[name] == after[name] else after[name]
    note(
        connection,
        Entry(
            "change",
            audited.kind,
            target,
            {name: before[name] for name in sorted(differing)},
            {name: after[name] for name in sorted(differing)},
        ),
    )


def _shown(audited: Audited, row: Mapping[str, Any]) -> Values:
    """Returns the audited values of a row, with placeholders for secrets."""
    return {
        str(name): _shown_value(audited, name, value)
        for name, value in row.items()
        if (audited.columns is None or name in audited.columns) and name != audited.deleted
    }


def _shown_value(audited: Audited, name: str, value: Any) -> Any:
    if name in audited.secrets:
        return SET if value else UNSET
    return shown_url(value) if name in audited.urls and value else _plain(value)


def _completes(last: Entry, entry: Entry) -> bool:
    """Whether a change only completes an object that the same transaction just created."""
    same = (last.kind, last.target) == (entry.kind, entry.target)
    return same and (last.action, entry.action) == ("create", "change")


def _completed(last: Entry, entry: Entry) -> Entry:
    return replace(last, after={**(last.after or {}), **(entry.after or {})})


def _plain(value: Any) -> Any:
    return f"({len(value)} bytes)" if isinstance(value, bytes) else value


def _text(values: Mapping[str, Any] | None) -> str:
    if values is None:
        return ""
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS, default=str).decode()

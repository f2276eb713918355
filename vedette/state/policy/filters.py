"""Stored ingress filters.

`version` rises with every change, of options of sensor groups too that stand for filters
(`model/group_filters.py`): servers recompile the filters and sensors fetch theirs when it differs
from the version they have.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette import limits
from vedette.errors import ConflictError, NotFoundError
from vedette.model.group_filters import group_filters
from vedette.model.ingress_filter import IngressFilter
from vedette.state.db import audit_log, list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, INGRESS_FILTER
from vedette.state.db.schema_audit import AUDIT
from vedette.state.policy import filter_counts
from vedette.state.policy.group_options import options_of

Accepted = Mapping[str, Sequence[Mapping[str, str]]]
"""By the id of a filter: the detections that go blind with it, as who saved it accepted. They are
in the audit log and nowhere else."""

_VERSION = "ingress_filter_version"
_AUDITED = "ingress filter"
_NO_MEANING = frozenset(
    (
        *("name", "description", "version", "internal", "enabled", "track_metrics", "expires_us"),
        *("filter_on_sensor", "filter_on_server"),
    )
)
"""Members of a filter by whose change nothing else goes blind, or sees again."""
_COLUMNS = ("id", "priority", "create_us", "modify_us", "create_user_id", "modify_user_id")
_ENDS = '"expires_us":'
_BODY = tuple(one.name for one in fields(IngressFilter) if one.name not in _COLUMNS)


def version(database: Database) -> int:
    """The current version."""
    with database.reading() as connection:
        return list_versions.current(connection, _VERSION)


def load(database: Database) -> tuple[int, list[IngressFilter]]:
    """The version with all its filters, the highest priority first."""
    with database.reading() as connection:
        found = list_versions.current(connection, _VERSION)
        return found, [_filter(row) for row in connection.execute(_QUERY).mappings()]


def in_force(database: Database) -> tuple[int, list[IngressFilter]]:
    """The version with all its filters and those that options of sensor groups stand for."""
    with database.reading() as connection:
        found = list_versions.current(connection, _VERSION)
        filters = [_filter(row) for row in connection.execute(_QUERY).mappings()]
        for group_id, text in connection.execute(_GROUPS):
            filters += group_filters(group_id, options_of(text))
        return found, filters


def changed_by_options(connection: Connection) -> None:
    """Note in this transaction that options of a group stand for other filters than before."""
    list_versions.rise(connection, _VERSION)


def get(database: Database, filter_id: str) -> IngressFilter:
    """Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, filter_id)


def add(
    database: Database,
    new: Sequence[IngressFilter],
    user_id: int,
    now_us: int,
    accepted: Accepted | None = None,
) -> None:
    """Add filters, all or none. Raises ConflictError for an id that is taken or given twice, and
    above `INGRESS_FILTERS_MAX`."""
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)
        for one in new:
            if connection.scalar(_ID.where(INGRESS_FILTER.c.id == one.id)) is not None:
                raise ConflictError(f"there is an ingress filter {one.id!r} already")
            made = replace(
                one,
                create_us=now_us,
                modify_us=now_us,
                create_user_id=user_id,
                modify_user_id=user_id,
            )
            connection.execute(insert(INGRESS_FILTER).values(_row(made)))
            _note_accepted(connection, one.id, accepted)
        count = connection.scalar(select(func.count()).select_from(INGRESS_FILTER)) or 0
        if count > limits.INGRESS_FILTERS_MAX:
            raise ConflictError(f"more than {limits.INGRESS_FILTERS_MAX} ingress filters")


def change(
    database: Database,
    changes: Mapping[str, Mapping[str, Any]],
    user_id: int,
    now_us: int,
    checks: Mapping[str, Callable[[IngressFilter], None]] | None = None,
    accepted: Accepted | None = None,
) -> list[IngressFilter]:
    """Changes filters by id, all of them or none; `changes` hold members of `IngressFilter`.
    `checks`, by id, refuse by raising.

    Raises NotFoundError for one that there is not.
    """
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)
        changed = []
        for filter_id, members in changes.items():
            known = _get(connection, filter_id)
            if checks and filter_id in checks:
                checks[filter_id](known)
            one = replace(known, **members, modify_us=now_us, modify_user_id=user_id)
            condition = INGRESS_FILTER.c.id == filter_id
            connection.execute(update(INGRESS_FILTER).where(condition).values(_row(one)))
            _note_accepted(connection, filter_id, accepted)
            changed.append(one)
        return changed


def blind_by(database: Database, filter_ids: Sequence[str]) -> dict[str, int]:
    """How many detections go blind with each filter, by what was accepted when it came to mean what
    it means. Of the newest `FILTER_AUDIT_ENTRIES_MAX` entries of the audit log about them."""
    found: dict[str, int] = {}
    query = (
        select(AUDIT.c.target, AUDIT.c.before, AUDIT.c.after)
        .where(AUDIT.c.target.in_(filter_ids), AUDIT.c.kind == _AUDITED)
        .order_by(AUDIT.c.number.desc())
        .limit(limits.FILTER_AUDIT_ENTRIES_MAX)
    )
    with database.reading() as connection:
        for filter_id, before, after in connection.execute(query):
            if filter_id in found or not after:
                continue
            now = json.loads(after)
            if "accepted_blind" in now or _meaning(now) != _meaning(json.loads(before or "{}")):
                found[filter_id] = len(now.get("accepted_blind", ()))
    return found


def _meaning(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a filter drops, of an entry of the audit log."""
    body = json.loads(entry.get("body", "{}"))
    return {name: value for name, value in body.items() if name not in _NO_MEANING}


def remove(database: Database, filter_ids: Sequence[str]) -> None:
    """Deletes filters, all of them or none. Raises NotFoundError."""
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)
        for filter_id in filter_ids:
            condition = INGRESS_FILTER.c.id == filter_id
            if not connection.execute(delete(INGRESS_FILTER).where(condition)).rowcount:
                raise _unknown(filter_id)
            filter_counts.forget(connection, filter_id)


def end_expired(database: Database, now_us: int) -> int:
    """Switches filters off whose time has come; returns how many. Their end is over then, so that
    whoever switches one on again does so until they say otherwise."""
    with database.reading() as connection:
        if not _expired(connection, now_us):
            return 0
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)  # first, as whoever changes one does
        due = _expired(connection, now_us)
        for known in due:
            one = replace(known, enabled=False, expires_us=0, modify_us=now_us, modify_user_id=0)
            condition = INGRESS_FILTER.c.id == one.id
            connection.execute(update(INGRESS_FILTER).where(condition).values(_row(one)))
    return len(due)


def _expired(connection: Connection, now_us: int) -> list[IngressFilter]:
    query = _QUERY.where(INGRESS_FILTER.c.body.contains(_ENDS))
    found = [_filter(row) for row in connection.execute(query).mappings()]
    return [one for one in found if 0 < one.expires_us <= now_us]


_QUERY = select(INGRESS_FILTER).order_by(INGRESS_FILTER.c.priority.desc(), INGRESS_FILTER.c.id)
_ID = select(INGRESS_FILTER.c.id)
_GROUPS = select(GROUP.c.id, GROUP.c.options).order_by(GROUP.c.id)


def _get(connection: Connection, filter_id: str) -> IngressFilter:
    query = select(INGRESS_FILTER).where(INGRESS_FILTER.c.id == filter_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise _unknown(filter_id)
    return _filter(row)


def _note_accepted(connection: Connection, filter_id: str, accepted: Accepted | None) -> None:
    if accepted and accepted.get(filter_id):
        named = {"accepted_blind": accepted[filter_id]}
        audit_log.complete(connection, _AUDITED, filter_id, named)


def _unknown(filter_id: str) -> NotFoundError:
    return NotFoundError(f"there is no ingress filter {filter_id[:80]!r}")


def _row(one: IngressFilter) -> dict[str, Any]:
    members = asdict(one)
    row = {name: members[name] for name in _COLUMNS}
    # An end stands in the body of filters alone that have one (`_expired`).
    body = {name: members[name] for name in _BODY if name != "expires_us" or one.expires_us}
    return row | {"body": json.dumps(body)}


def _filter(row: RowMapping) -> IngressFilter:
    members = {name: row[name] for name in _COLUMNS}
    body = json.loads(row["body"])
    known = {name: _value(body[name]) for name in _BODY if name in body}
    return IngressFilter(**members, **known)


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value

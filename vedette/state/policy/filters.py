"""Stored ingress filters.

`version` increases with every change of a filter, and of a group's options from which filters are
derived (`record/group_filters.py`): servers then recompile the filters, and sensors fetch theirs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.limits import Limit
from vedette.record.columns import from_split_row, split_row
from vedette.record.group_filters import group_filters
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.state.db import audit_log, list_versions
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, INGRESS_FILTER
from vedette.state.db.schema_audit import AUDIT
from vedette.state.policy import filter_counts
from vedette.state.policy.group_options import options_of
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import INGRESS_FILTERS

FILTER_AUDIT_ENTRIES_MAX: Limit[int] = 5_000
"""Maximum audit entries that the list of ingress filters reads to count the detections that each
filter blinds."""


Accepted = Mapping[str, Sequence[Mapping[str, str]]]
"""Maps filter id to the blinded detections that the user who saved the filter accepted. Only the
audit log has them."""

_VERSION = "ingress_filter_version"
_AUDITED = "ingress filter"
_NO_MEANING = frozenset(
    (
        "name",
        "description",
        "version",
        "internal",
        "enabled",
        "track_metrics",
        "expires_us",
        "filter_on_sensor",
        "filter_on_server",
    )
)
"""Members of a filter whose change does not affect which detections it blinds."""
_COLUMNS = ("id", "priority", "create_us", "modify_us", "create_user_id", "modify_user_id")
_ENDS = '"expires_us":'


def version(database: Database) -> int:
    """Returns the current version of the list."""
    with database.reading() as connection:
        return list_versions.current(connection, _VERSION)


def load(database: Database) -> tuple[int, list[IngressFilter]]:
    """Returns the version and all filters, the highest priority first."""
    with database.reading() as connection:
        found = list_versions.current(connection, _VERSION)
        return found, [_filter(row) for row in connection.execute(_QUERY).mappings()]


def in_force(database: Database) -> tuple[int, list[IngressFilter]]:
    """Returns the version and all filters, including those derived from options of sensor
    groups."""
    with database.reading() as connection:
        found = list_versions.current(connection, _VERSION)
        filters = [_filter(row) for row in connection.execute(_QUERY).mappings()]
        for group_id, text in connection.execute(_GROUPS):
            filters += group_filters(group_id, options_of(text))
        return found, filters


def changed_by_options(connection: Connection) -> None:
    """Increases the version in this transaction, because a group's options changed its derived
    filters."""
    list_versions.rise(connection, _VERSION)


def get(database: Database, filter_id: str) -> IngressFilter:
    """Returns the filter with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return _get(connection, filter_id)


def add(
    database: Database,
    new: Sequence[IngressFilter],
    user_id: int,
    now_us: int,
    accepted: Accepted | None = None,
) -> None:
    """Adds filters, all or none. Raises ConflictError for a duplicate id, and above
    `INGRESS_FILTERS_MAX`."""
    with database.writing() as connection:
        check_room(connection, INGRESS_FILTERS, adding=len(new))
        list_versions.rise(connection, _VERSION)
        for one in new:
            if connection.scalar(_ID.where(INGRESS_FILTER.c.id == one.id)) is not None:
                raise ConflictError(f"ingress filter {one.id!r} already exists")
            made = replace(
                one,
                create_us=now_us,
                modify_us=now_us,
                create_user_id=user_id,
                modify_user_id=user_id,
            )
            connection.execute(insert(INGRESS_FILTER).values(_row(made)))
            _note_accepted(connection, one.id, accepted)


def change(
    database: Database,
    changes: Mapping[str, Mapping[str, Any]],
    user_id: int,
    now_us: int,
    checks: Mapping[str, Callable[[IngressFilter], None]] | None = None,
    accepted: Accepted | None = None,
) -> list[IngressFilter]:
    """Changes filters by id, all or none. `changes` maps id to attributes of `IngressFilter`.
    `checks` maps id to a function that may raise to reject the change. Raises NotFoundError."""
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)
        changed = []
        for filter_id, values in changes.items():
            known = _get(connection, filter_id)
            if checks and filter_id in checks:
                checks[filter_id](known)
            one = replace(known, **values, modify_us=now_us, modify_user_id=user_id)
            condition = INGRESS_FILTER.c.id == filter_id
            connection.execute(update(INGRESS_FILTER).where(condition).values(_row(one)))
            _note_accepted(connection, filter_id, accepted)
            changed.append(one)
        return changed


def blind_by(database: Database, filter_ids: Sequence[str]) -> dict[str, int]:
    """Maps filter id to the number of detections that it blinds, as accepted at the last change of
    its meaning. Reads the newest `FILTER_AUDIT_ENTRIES_MAX` entries of the audit log about these
    filters."""
    found: dict[str, int] = {}
    query = (
        select(AUDIT.c.target, AUDIT.c.before, AUDIT.c.after)
        .where(AUDIT.c.target.in_(filter_ids), AUDIT.c.kind == _AUDITED)
        .order_by(AUDIT.c.number.desc())
        .limit(FILTER_AUDIT_ENTRIES_MAX)
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
    """Members of an audit entry that determine which events the filter drops."""
    body = json.loads(entry.get("body", "{}"))
    return {name: value for name, value in body.items() if name not in _NO_MEANING}


def remove(database: Database, filter_ids: Sequence[str]) -> None:
    """Deletes filters, all or none. Raises NotFoundError."""
    with database.writing() as connection:
        list_versions.rise(connection, _VERSION)
        for filter_id in filter_ids:
            condition = INGRESS_FILTER.c.id == filter_id
            if not connection.execute(delete(INGRESS_FILTER).where(condition)).rowcount:
                raise _unknown(filter_id)
            filter_counts.forget(connection, filter_id)


def end_expired(database: Database, now_us: int) -> int:
    """Disables expired filters and clears their expiry, so that a filter that is enabled again does
    not expire. Returns their number."""
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
    return NotFoundError(f"ingress filter {filter_id[:80]!r} not found")


def _row(one: IngressFilter) -> dict[str, Any]:
    # Only filters with an expiry have it in the body (`_expired`).
    return split_row(one, _COLUMNS, *(() if one.expires_us else ("expires_us",)))


def _filter(row: RowMapping) -> IngressFilter:
    return from_split_row(IngressFilter, row, _COLUMNS)

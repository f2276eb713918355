"""Stored policies of automatic responses. A new server has none, and therefore responds to
nothing."""

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, delete, insert, select, update

from vedette.errors import NotFoundError
from vedette.record.columns import from_split_row, split_row
from vedette.record.objects.response_policy import ResponsePolicy
from vedette.state.db.schema_actions import RESPONSE_POLICY
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import RESPONSE_POLICIES

_COLUMNS = ("id", "name", "enabled", "changed_us", "username")


def all_policies(connection: Connection) -> list[ResponsePolicy]:
    """Returns all policies, sorted by id."""
    rows = connection.execute(select(RESPONSE_POLICY).order_by(RESPONSE_POLICY.c.id)).mappings()
    return [_policy(row) for row in rows]


def get(connection: Connection, policy_id: int) -> ResponsePolicy:
    """Returns the policy with this id. Raises NotFoundError."""
    return _get(connection, policy_id, select(RESPONSE_POLICY))


def locked(connection: Connection, policy_id: int) -> ResponsePolicy:
    """Like `get`, with a row lock until the transaction ends."""
    return _get(connection, policy_id, select(RESPONSE_POLICY).with_for_update())


def _get(connection: Connection, policy_id: int, query: Select[tuple[Any, ...]]) -> ResponsePolicy:
    row = connection.execute(query.where(RESPONSE_POLICY.c.id == policy_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"response policy {policy_id} not found")
    return _policy(row)


def add(connection: Connection, new: ResponsePolicy, by: str, now_us: int) -> ResponsePolicy:
    """Adds a policy. Raises ConflictError for a name that is taken, and above the quota
    (`RESPONSE_POLICIES`)."""
    check_room(connection, RESPONSE_POLICIES)
    made = replace(new, changed_us=now_us, username=by)
    statement = insert(RESPONSE_POLICY).values(_row(made)).returning(RESPONSE_POLICY.c.id)
    return replace(made, id=connection.execute(statement).scalar_one())


def change(connection: Connection, changed: ResponsePolicy, by: str, now_us: int) -> ResponsePolicy:
    """Replaces the policy with the same id. Raises NotFoundError, ConflictError."""
    made = replace(changed, changed_us=now_us, username=by)
    condition = RESPONSE_POLICY.c.id == changed.id
    if not connection.execute(update(RESPONSE_POLICY).where(condition).values(_row(made))).rowcount:
        raise NotFoundError(f"response policy {changed.id} not found")
    return made


def remove(connection: Connection, policy_id: int) -> None:
    """Deletes a policy. Its responses stay in effect and end as scheduled. Raises NotFoundError."""
    condition = RESPONSE_POLICY.c.id == policy_id
    if not connection.execute(delete(RESPONSE_POLICY).where(condition)).rowcount:
        raise NotFoundError(f"response policy {policy_id} not found")


def _row(one: ResponsePolicy) -> dict[str, Any]:
    return split_row(one, _COLUMNS, "id")


def _policy(row: RowMapping) -> ResponsePolicy:
    return from_split_row(ResponsePolicy, row, _COLUMNS)

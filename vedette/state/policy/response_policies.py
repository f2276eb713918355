"""Stored policies of response by rule. There are none, and so no response, until somebody adds
one."""

from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from vedette.errors import ConflictError, NotFoundError
from vedette.limits import RESPONSE_POLICIES_MAX
from vedette.model.findings.response_policy import ResponsePolicy
from vedette.state.db.schema_actions import RESPONSE_POLICY

_COLUMNS = ("id", "name", "enabled", "changed_us", "username")


def all_policies(connection: Connection) -> list[ResponsePolicy]:
    """By id."""
    rows = connection.execute(select(RESPONSE_POLICY).order_by(RESPONSE_POLICY.c.id)).mappings()
    return [_policy(row) for row in rows]


def get(connection: Connection, policy_id: int) -> ResponsePolicy:
    """Raises NotFoundError."""
    query = select(RESPONSE_POLICY).where(RESPONSE_POLICY.c.id == policy_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no response policy {policy_id}")
    return _policy(row)


def add(connection: Connection, new: ResponsePolicy, by: str, now_us: int) -> ResponsePolicy:
    """Raises ConflictError for a name that is taken, and above `RESPONSE_POLICIES_MAX`."""
    count = connection.scalar(select(func.count()).select_from(RESPONSE_POLICY)) or 0
    if count >= RESPONSE_POLICIES_MAX:
        raise ConflictError(f"there are {RESPONSE_POLICIES_MAX} response policies already")
    made = replace(new, changed_us=now_us, username=by)
    statement = insert(RESPONSE_POLICY).values(_row(made)).returning(RESPONSE_POLICY.c.id)
    return replace(made, id=connection.execute(statement).scalar_one())


def change(connection: Connection, changed: ResponsePolicy, by: str, now_us: int) -> ResponsePolicy:
    """Store a policy in the place of the one with its id. Raises NotFoundError, ConflictError."""
    made = replace(changed, changed_us=now_us, username=by)
    condition = RESPONSE_POLICY.c.id == changed.id
    if not connection.execute(update(RESPONSE_POLICY).where(condition).values(_row(made))).rowcount:
        raise NotFoundError(f"there is no response policy {changed.id}")
    return made


def remove(connection: Connection, policy_id: int) -> None:
    """What it did stays done, and ends when it would have. Raises NotFoundError."""
    condition = RESPONSE_POLICY.c.id == policy_id
    if not connection.execute(delete(RESPONSE_POLICY).where(condition)).rowcount:
        raise NotFoundError(f"there is no response policy {policy_id}")


def _row(one: ResponsePolicy) -> dict[str, Any]:
    values = asdict(one)
    body = {name: value for name, value in values.items() if name not in _COLUMNS}
    row = {name: values[name] for name in _COLUMNS if name != "id"}
    return row | {"body": orjson.dumps(body).decode()}


def _policy(row: RowMapping) -> ResponsePolicy:
    body: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in orjson.loads(row["body"]).items()
    }
    return ResponsePolicy(**{name: row[name] for name in _COLUMNS} | body)

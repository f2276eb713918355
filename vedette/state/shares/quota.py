"""Quotas: limits on stored objects, for the server and per owner.

A `Quota` describes the objects of a table that count together; `check_room` rejects an addition
that would exceed it. Every limit on stored objects is a quota (`quota_list.py`), so that a
server-wide limit comes with a share per owner and no caller can use up what all share. Global
administrators have no share; only the server-wide limit applies to them.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Integer, Table, func, select

from vedette.errors import CallerError, ConflictError
from vedette.state.db.schema import USER


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit on the objects of a table that count together."""

    what: str
    """Plural noun of the objects, for messages."""
    table: Table
    most: int | None = None
    """Maximum objects of the server, or of one place if `check_room` gets a condition."""
    share: int | None = None
    """Maximum objects of one owner."""
    owner: Column[Any] | None = None
    """Column of the owner: id or name of a user."""
    counted: ColumnElement[bool] | None = None
    """Condition on the rows that count; None for all."""
    error: type[CallerError] = ConflictError
    reason: str = "quota"

    def __post_init__(self) -> None:
        assert (self.share is None) is (self.owner is None), self.what


def check_room(
    connection: Connection,
    quota: Quota,
    owner: int | str | None = None,
    *conditions: ColumnElement[bool],
    adding: int = 1,
) -> None:
    """Raises the quota's error, with reason `quota`, if `adding` more objects would exceed it.

    `owner` is the user who adds them; None or 0 for the server. `conditions` select the place that
    the quota applies to, e.g. one alert.
    """
    if quota.most is not None and _count(connection, quota, *conditions) + adding > quota.most:
        raise quota.error(f"limit of {quota.most:,} {quota.what} reached", reason=quota.reason)
    if quota.share is None or quota.owner is None or not owner:
        return
    if _is_global_admin(connection, quota.owner, owner):
        return
    own = _count(connection, quota, quota.owner == owner, *conditions)
    if own + adding > quota.share:
        raise quota.error(
            f"limit of {quota.share:,} {quota.what} per user reached; end some first",
            reason=quota.reason,
        )


def _count(connection: Connection, quota: Quota, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(quota.table).where(*conditions)
    if quota.counted is not None:
        query = query.where(quota.counted)
    return connection.scalar(query) or 0


def _is_global_admin(connection: Connection, column: Column[Any], owner: int | str) -> bool:
    key = USER.c.id if isinstance(column.type, Integer) else USER.c.username
    return bool(connection.scalar(select(USER.c.global_admin).where(key == owner)))

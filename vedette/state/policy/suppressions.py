"""Suppression rules: queries over the fields of alerts. Until a rule expires, matching detections
raise no alerts and send no messages; they are only counted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, delete, insert, or_, select, update

from vedette.errors import NotFoundError
from vedette.record.columns import from_row, row_of
from vedette.record.objects.suppression import Suppression
from vedette.state.db.schema_alerts import SUPPRESSION
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import SUPPRESSIONS


def all_rules(connection: Connection) -> list[Suppression]:
    """Returns all rules, in force or not, sorted by id."""
    rows = connection.execute(select(SUPPRESSION).order_by(SUPPRESSION.c.id)).mappings()
    return [_rule(row) for row in rows]


def rules_in_force(connection: Connection, now_us: int) -> list[Suppression]:
    """Returns the enabled rules that have not expired, sorted by id."""
    unexpired = or_(SUPPRESSION.c.expires_us == 0, SUPPRESSION.c.expires_us > now_us)
    query = select(SUPPRESSION).where(SUPPRESSION.c.enabled, unexpired).order_by(SUPPRESSION.c.id)
    return [_rule(row) for row in connection.execute(query).mappings()]


def get(connection: Connection, rule_id: int) -> Suppression:
    """Returns the suppression with this id. Raises NotFoundError."""
    return _get(connection, rule_id, select(SUPPRESSION))


def locked(connection: Connection, rule_id: int) -> Suppression:
    """Like `get`, with a row lock until the transaction ends."""
    return _get(connection, rule_id, select(SUPPRESSION).with_for_update())


def _get(connection: Connection, rule_id: int, query: Select[tuple[Any, ...]]) -> Suppression:
    row = connection.execute(query.where(SUPPRESSION.c.id == rule_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"suppression {rule_id} not found")
    return _rule(row)


def add(connection: Connection, new: Suppression) -> Suppression:
    """Adds a rule and returns it with its id. Raises ConflictError above `SUPPRESSIONS_MAX`
    rules."""
    check_room(connection, SUPPRESSIONS)
    statement = insert(SUPPRESSION).values(row_of(new, "id")).returning(SUPPRESSION.c.id)
    return replace(new, id=connection.execute(statement).scalar_one())


def change(connection: Connection, changed: Suppression) -> Suppression:
    """Replaces the rule with the same id, except its hits, which may increase concurrently. Raises
    NotFoundError."""
    values = row_of(changed, "id", "hits", "last_hit_us")
    connection.execute(update(SUPPRESSION).where(SUPPRESSION.c.id == changed.id).values(values))
    return get(connection, changed.id)


def remove(connection: Connection, rule_id: int) -> None:
    """Deletes a rule. Raises NotFoundError."""
    get(connection, rule_id)
    connection.execute(delete(SUPPRESSION).where(SUPPRESSION.c.id == rule_id))


def count_hits(connection: Connection, hits: Mapping[int, int], now_us: int) -> None:
    """Adds numbers of suppressed detections, by rule id."""
    for rule_id, count in sorted(hits.items()):
        connection.execute(
            update(SUPPRESSION)
            .where(SUPPRESSION.c.id == rule_id)
            .values(hits=SUPPRESSION.c.hits + count, last_hit_us=now_us)
        )


def _rule(row: RowMapping) -> Suppression:
    return from_row(Suppression, row)

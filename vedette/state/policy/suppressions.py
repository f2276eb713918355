"""Suppression rules: queries over the fields of alerts; what they match makes no alert and no
message until they expire, and is counted."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, delete, func, insert, or_, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import (
    ALERT_NOTES_CHARS_MAX,
    STATE_NAME_CHARS_MAX,
    SUPPRESSION_QUERY_CHARS_MAX,
    SUPPRESSIONS_MAX,
)
from vedette.state.db.schema_alerts import SUPPRESSION


@dataclass(frozen=True, slots=True)
class Suppression:
    """A stored rule. Times in epoch microseconds; user and `changed_us` of the latest change."""

    id: int
    name: str
    query: str
    reason: str
    enabled: bool
    created_us: int
    changed_us: int
    expires_us: int
    """0: never."""
    user_id: int
    username: str
    hits: int
    """Detections that it kept from becoming alerts."""
    last_hit_us: int

    def holds(self, now_us: int) -> bool:
        """Whether it is in force."""
        return self.enabled and not 0 < self.expires_us <= now_us


@dataclass(frozen=True, slots=True)
class SuppressionChange:
    """What to set of a rule, and by whom; None leaves as it is. The query has been checked."""

    user_id: int
    username: str
    time_us: int
    name: str | None = None
    query: str | None = None
    reason: str | None = None
    enabled: bool | None = None
    expires_us: int | None = None

    def values(self) -> dict[str, object]:
        """Columns to write. Raises BadRequestError for texts that are too long."""
        for name, text, most in (
            ("name", self.name, STATE_NAME_CHARS_MAX),
            ("query", self.query, SUPPRESSION_QUERY_CHARS_MAX),
            ("reason", self.reason, ALERT_NOTES_CHARS_MAX),
        ):
            if text is not None and len(text) > most:
                raise BadRequestError(f"{name}: at most {most:,} characters")
        given = {
            "name": self.name,
            "query": self.query,
            "reason": self.reason,
            "enabled": self.enabled,
            "expires_us": self.expires_us,
        }
        author = {
            "user_id": self.user_id,
            "username": self.username,
            "changed_us": self.time_us,
        }
        return {name: value for name, value in given.items() if value is not None} | author


def all_rules(connection: Connection) -> list[Suppression]:
    """Every rule, also those that are not in force, by id."""
    rows = connection.execute(select(SUPPRESSION).order_by(SUPPRESSION.c.id)).mappings()
    return [_rule(row) for row in rows]


def rules_in_force(connection: Connection, now_us: int) -> list[Suppression]:
    """The enabled rules that have not expired, by id."""
    unexpired = or_(SUPPRESSION.c.expires_us == 0, SUPPRESSION.c.expires_us > now_us)
    query = select(SUPPRESSION).where(SUPPRESSION.c.enabled, unexpired).order_by(SUPPRESSION.c.id)
    return [_rule(row) for row in connection.execute(query).mappings()]


def get(connection: Connection, rule_id: int) -> Suppression:
    """Raises NotFoundError."""
    query = select(SUPPRESSION).where(SUPPRESSION.c.id == rule_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no suppression {rule_id}")
    return _rule(row)


def add(connection: Connection, rule: SuppressionChange) -> Suppression:
    """Raises ConflictError when there are `SUPPRESSIONS_MAX` rules already."""
    if (connection.scalar(select(func.count()).select_from(SUPPRESSION)) or 0) >= SUPPRESSIONS_MAX:
        raise ConflictError(f"there are {SUPPRESSIONS_MAX} suppressions; delete expired ones")
    values = {"enabled": True, "created_us": rule.time_us} | rule.values()
    key = connection.execute(insert(SUPPRESSION).values(values)).inserted_primary_key
    return get(connection, int(key[0]) if key else 0)


def change(connection: Connection, rule_id: int, wanted: SuppressionChange) -> Suppression:
    """Raises NotFoundError."""
    connection.execute(
        update(SUPPRESSION).where(SUPPRESSION.c.id == rule_id).values(wanted.values())
    )
    return get(connection, rule_id)


def remove(connection: Connection, rule_id: int) -> None:
    """Raises NotFoundError."""
    get(connection, rule_id)
    connection.execute(delete(SUPPRESSION).where(SUPPRESSION.c.id == rule_id))


def count_hits(connection: Connection, hits: Mapping[int, int], now_us: int) -> None:
    """Adds detections that made no alert, by rule."""
    for rule_id, count in sorted(hits.items()):
        connection.execute(
            update(SUPPRESSION)
            .where(SUPPRESSION.c.id == rule_id)
            .values(hits=SUPPRESSION.c.hits + count, last_hit_us=now_us)
        )


def _rule(row: RowMapping) -> Suppression:
    return Suppression(**row)

"""Intermediate state of correlation rules: one JSON document per group of hits.

The state is saved in the transaction that saves the watermark of the hits, so it always reflects
exactly those hits.
"""

from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, and_, delete, func, select, update

from vedette import limits
from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_rules import CORRELATION_STATE

CORRELATION_GROUPS_MAX: Limit[int] = 100_000
"""Groups that one correlation rule retains; the oldest are evicted first."""

CORRELATION_LATE_US: Limit[int] = 24 * 3600 * 1_000_000
"""Time (us) for which a group outlives its span: events of hosts that were offline arrive late."""


Group = tuple[str, str]
"""(correlation id, digest of the group's values)."""

_ROW = CORRELATION_STATE.c


def load(database: Database, groups: Collection[Group]) -> dict[Group, str]:
    """Returns the stored state of these groups as JSON; groups without state are missing."""
    by_rule: dict[str, list[str]] = {}
    for rule_id, key in sorted(groups):
        by_rule.setdefault(rule_id, []).append(key)
    found: dict[Group, str] = {}
    with database.reading() as connection:
        for rule_id, keys in by_rule.items():
            for at in range(0, len(keys), limits.SIGMA_IDS_A_QUERY):
                some = keys[at : at + limits.SIGMA_IDS_A_QUERY]
                query = select(_ROW.group_key, _ROW.body).where(
                    _ROW.rule_id == rule_id, _ROW.group_key.in_(some)
                )
                found |= {(rule_id, key): body for key, body in connection.execute(query)}
    return found


def save(connection: Connection, states: Mapping[Group, str], now_us: int) -> None:
    """Stores the state of groups; an empty state deletes the row."""
    for (rule_id, key), body in sorted(states.items()):
        is_it = and_(_ROW.rule_id == rule_id, _ROW.group_key == key)
        if not body:
            connection.execute(delete(CORRELATION_STATE).where(is_it))
            continue
        values = {"body": body, "changed_us": now_us}
        new = {"rule_id": rule_id, "group_key": key, **values}
        connection.execute(insert_new(connection, CORRELATION_STATE), new)
        connection.execute(update(CORRELATION_STATE).where(is_it).values(**values))


def forget(database: Database, spans_us: Mapping[str, int], now_us: int) -> None:
    """Deletes groups without changes for more than twice the rule's span plus
    `CORRELATION_LATE_US`, groups of removed rules, and the oldest beyond `CORRELATION_GROUPS_MAX`
    of a rule. `spans_us` maps the active rules to their spans."""
    with database.writing() as connection:
        known = select(_ROW.rule_id).distinct()
        for rule_id in list(connection.scalars(known)):
            span_us = spans_us.get(rule_id)
            is_rule = _ROW.rule_id == rule_id
            if span_us is None:
                connection.execute(delete(CORRELATION_STATE).where(is_rule))
                continue
            before_us = now_us - 2 * span_us - CORRELATION_LATE_US
            old = and_(is_rule, _ROW.changed_us < before_us)
            connection.execute(delete(CORRELATION_STATE).where(old))
            _bound(connection, rule_id)


def count(database: Database, rule_ids: Iterable[str]) -> int:
    """Returns the number of stored groups of some rules."""
    query = select(func.count()).where(_ROW.rule_id.in_(list(rule_ids)))
    with database.reading() as connection:
        return int(connection.scalar(query) or 0)


def _bound(connection: Connection, rule_id: str) -> None:
    is_rule = _ROW.rule_id == rule_id
    newest = select(_ROW.changed_us).where(is_rule).order_by(_ROW.changed_us.desc())
    edge_us = connection.scalar(newest.offset(CORRELATION_GROUPS_MAX).limit(1))
    if edge_us is not None:
        old = and_(is_rule, _ROW.changed_us <= edge_us)
        connection.execute(delete(CORRELATION_STATE).where(old))

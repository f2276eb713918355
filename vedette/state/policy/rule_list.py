"""Sigma rules in the form that lists and text filters need."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from vedette import limits
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_RULE
from vedette.state.policy.rules import Wanted, condition_of, in_force_within, named
from vedette.state.policy.sigma.correlation_rules import blocked_rules
from vedette.state.policy.sigma_rule import RuleState, SigmaRule, state_of

_ROW = SIGMA_RULE.c


@dataclass(frozen=True, slots=True)
class ListedRule:
    """Rule fields for filtering lists, without the text."""

    id: str
    kind: str
    level: str
    state: RuleState
    generation: int


def listed(database: Database, wanted: Wanted) -> list[ListedRule]:
    """Returns all rules that match, sorted by title and id."""
    columns = (_ROW.id, _ROW.kind, _ROW.level, _ROW.generation, _ROW.enabled, _ROW.stopped_us)
    with database.reading() as connection:
        in_force = in_force_within(connection).generation
        blocked = blocked_rules(connection)
        condition = condition_of(wanted, in_force, blocked)
        query = select(*columns, _ROW.problem_reason).where(condition)
        rows = connection.execute(query.order_by(_ROW.title, _ROW.id))
        return [
            ListedRule(
                row.id,
                row.kind,
                row.level,
                state_of(
                    row.problem_reason,
                    is_enabled=row.enabled,
                    is_stopped=row.stopped_us > 0,
                    is_in_force=row.generation <= in_force,
                    is_blocked=row.id in blocked,
                ),
                row.generation,
            )
            for row in rows
        ]


def texts(database: Database, ids: Sequence[str]) -> dict[str, str]:
    """Maps id to text for some rules."""
    found: dict[str, str] = {}
    with database.reading() as connection:
        for at in range(0, len(ids), limits.SIGMA_IDS_A_QUERY):
            some = ids[at : at + limits.SIGMA_IDS_A_QUERY]
            rows = connection.execute(select(_ROW.id, _ROW.text).where(_ROW.id.in_(some)))
            found |= {row.id: row.text for row in rows}
    return found


def ordered(database: Database, ids: Sequence[str]) -> list[SigmaRule]:
    """Returns the rules in the order of `ids`; skips unknown ids."""
    known = named(database, ids)
    return [known[one] for one in ids if one in known]

"""Sigma rules for lists that narrow them by what their texts say, too."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from vedette import limits
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_RULE
from vedette.state.policy.rules import Wanted, condition_of, in_force_within, named
from vedette.state.policy.sigma_rule import RuleState, SigmaRule, state_of

_ROW = SIGMA_RULE.c


@dataclass(frozen=True, slots=True)
class ListedRule:
    """What lists narrow rules by, without their texts."""

    id: str
    kind: str
    level: str
    state: RuleState
    generation: int


def listed(database: Database, wanted: Wanted) -> list[ListedRule]:
    """All that were asked for, by title and id."""
    columns = (_ROW.id, _ROW.kind, _ROW.level, _ROW.generation, _ROW.enabled, _ROW.stopped_us)
    with database.reading() as connection:
        in_force = in_force_within(connection).generation
        query = select(*columns, _ROW.problem_reason).where(condition_of(wanted, in_force))
        rows = connection.execute(query.order_by(_ROW.title, _ROW.id))
        return [
            ListedRule(
                *(row.id, row.kind, row.level),
                state_of(
                    row.problem_reason,
                    is_enabled=row.enabled,
                    is_stopped=row.stopped_us > 0,
                    is_in_force=row.generation <= in_force,
                ),
                row.generation,
            )
            for row in rows
        ]


def texts(database: Database, ids: Sequence[str]) -> dict[str, str]:
    """The texts of rules, by id."""
    found: dict[str, str] = {}
    with database.reading() as connection:
        for at in range(0, len(ids), limits.SIGMA_IDS_A_QUERY):
            some = ids[at : at + limits.SIGMA_IDS_A_QUERY]
            rows = connection.execute(select(_ROW.id, _ROW.text).where(_ROW.id.in_(some)))
            found |= {row.id: row.text for row in rows}
    return found


def ordered(database: Database, ids: Sequence[str]) -> list[SigmaRule]:
    """Some rules, in the order of their ids as given."""
    known = named(database, ids)
    return [known[one] for one in ids if one in known]

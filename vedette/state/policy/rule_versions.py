"""Earlier texts of Sigma rules."""

from dataclasses import fields

from sqlalchemy import Connection, RowMapping, delete, insert, select

from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_VERSION
from vedette.state.policy.sigma_rule import EarlierText

SIGMA_VERSIONS_KEPT: Limit[int] = 20
"""Earlier texts retained per rule; a rule set changes each rule a few times a year."""


_ROW = SIGMA_VERSION.c
_MEMBERS = tuple(one.name for one in fields(EarlierText))


def earlier(database: Database, rule_id: str) -> list[EarlierText]:
    """Returns up to `SIGMA_VERSIONS_KEPT` earlier texts, newest first, without the present one."""
    query = select(SIGMA_VERSION).where(_ROW.rule_id == rule_id).order_by(_ROW.revision.desc())
    with database.reading() as connection:
        found = connection.execute(query).mappings()
        return [EarlierText(**{name: one[name] for name in _MEMBERS}) for one in found]


def keep(connection: Connection, known: RowMapping, text: str) -> None:
    """Stores the current text of a rule if `text` differs."""
    if known["text"] == text:
        return
    values = {name: known[name] for name in _MEMBERS}
    connection.execute(insert(SIGMA_VERSION).values(rule_id=known["id"], **values))
    old = known["revision"] - SIGMA_VERSIONS_KEPT
    is_old = (_ROW.rule_id == known["id"]) & (_ROW.revision <= old)
    connection.execute(delete(SIGMA_VERSION).where(is_old))

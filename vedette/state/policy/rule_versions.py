"""What Sigma rules said before their latest change."""

from dataclasses import fields

from sqlalchemy import Connection, RowMapping, delete, insert, select

from vedette import limits
from vedette.state.db.database import Database
from vedette.state.db.schema_rules import SIGMA_VERSION
from vedette.state.policy.sigma_rule import EarlierText

_ROW = SIGMA_VERSION.c
_MEMBERS = tuple(one.name for one in fields(EarlierText))


def earlier(database: Database, rule_id: str) -> list[EarlierText]:
    """The last `SIGMA_VERSIONS_KEPT`, the newest first, without the present one."""
    query = select(SIGMA_VERSION).where(_ROW.rule_id == rule_id).order_by(_ROW.revision.desc())
    with database.reading() as connection:
        found = connection.execute(query).mappings()
        return [EarlierText(**{name: one[name] for name in _MEMBERS}) for one in found]


def keep(connection: Connection, known: RowMapping, text: str) -> None:
    """Keeps what the row of a rule says, if another text is to take its place."""
    if known["text"] == text:
        return
    values = {name: known[name] for name in _MEMBERS}
    connection.execute(insert(SIGMA_VERSION).values(rule_id=known["id"], **values))
    old = known["revision"] - limits.SIGMA_VERSIONS_KEPT
    is_old = (_ROW.rule_id == known["id"]) & (_ROW.revision <= old)
    connection.execute(delete(SIGMA_VERSION).where(is_old))

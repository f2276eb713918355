"""Which titles or hosts of alerts meet a test: few, since titles are those of rules, watchlists and
reports, and a host has many alerts.

A search for words of a title, or for a host by a part of its name, tests each of the few texts once
and then looks for equal ones, which the dictionaries of the column answer; else it tests the text
of every alert.
"""

from vedette.limits import ALERT_TEXTS_MATCHED_MAX, ALERT_TEXTS_MAX
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import quoted


def texts_where(
    engine: Engine, column: str, where: Condition, deadline_s: float | None
) -> list[str] | None:
    """The texts of a column of all alerts for which a condition on nothing but it is true; None
    where there are too many. Raises UnavailableError (`reason` "deadline")."""
    tested = where.before or where.sql
    name = quoted(column)
    found, count = engine.query(
        f"SELECT groupArrayIf({ALERT_TEXTS_MATCHED_MAX + 1:d})({name}, {tested}), count() "
        f"FROM (SELECT DISTINCT {name} FROM alert LIMIT {ALERT_TEXTS_MAX + 1:d})",
        where.params,
        deadline_s=deadline_s,
    ).rows[0]
    if count > ALERT_TEXTS_MAX or len(found) > ALERT_TEXTS_MATCHED_MAX:
        return None
    return sorted(found)

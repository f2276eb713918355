"""Which titles of alerts meet a test: few, since titles are those of rules, watchlists and reports.

A search for words of a title tests each of the few titles once and then looks for equal ones,
which the dictionaries of the column answer; else it tests the text of every alert.
"""

from vedette.limits import ALERT_TITLES_MATCHED_MAX, ALERT_TITLES_MAX
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine


def titles_where(engine: Engine, where: Condition, deadline_s: float | None) -> list[str] | None:
    """The titles of all alerts for which a condition on nothing but them is true; None where there
    are too many. Raises UnavailableError (`reason` "deadline")."""
    tested = where.before or where.sql
    found, count = engine.query(
        f"SELECT groupArrayIf({ALERT_TITLES_MATCHED_MAX + 1:d})(title, {tested}), count() "
        f"FROM (SELECT DISTINCT title FROM alert LIMIT {ALERT_TITLES_MAX + 1:d})",
        where.params,
        deadline_s=deadline_s,
    ).rows[0]
    if count > ALERT_TITLES_MAX or len(found) > ALERT_TITLES_MATCHED_MAX:
        return None
    return sorted(found)

"""Finds the titles or hosts of alerts that match a test. They are few: titles come from rules,
watchlists and reports, and a host has many alerts.

A search for words of a title, or for a part of a host name, tests each of the few texts once and
then looks for equal ones, which the dictionaries of the column answer. Otherwise it would test the
text of every alert.
"""

from vedette.limits import Limit
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import quoted

ALERT_TEXTS_MAX: Limit[int] = 20_000
"""Distinct titles, or hosts, that a search for words of a title or a host name tests before it
reads alerts: 10 ms. If there are more, the search tests the texts of all alerts."""

ALERT_TEXTS_MATCHED_MAX: Limit[int] = 1_000
"""Matching titles or hosts that such a search then looks for; a test that matches more is as slow
as testing all alerts."""


def texts_where(
    engine: Engine, column: str, where: Condition, deadline_s: float | None
) -> list[str] | None:
    """Returns the texts of a column of all alerts that meet a condition on this column alone; None
    if there are too many. Raises UnavailableError (`reason` "deadline")."""
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

"""Alert counts per rule, watchlist or feed, and the share of closed alerts that were false
positives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from vedette import limits
from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.model.findings.alert import CLOSED
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.read.detection.alert_groups import AlertGroup
from vedette.web.http.services import Services
from vedette.web.page.query_terms import phrase

ALERT_OUTCOME_S: Limit[int] = 3
"""Seconds to count alerts for a list; after a timeout the list is shown without counts."""


Kind = Literal["rule", "watchlist", "feed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Alerts of the last `ALERT_OUTCOME_DAYS` days within the reader's scope."""

    days: Sequence[int] = (0,) * limits.ALERT_TREND_DAYS
    """Alerts per day of the trend, newest last."""
    closed: int = 0
    false: int = 0
    """Closed alerts with the status False Positive."""

    @property
    def false_share(self) -> int | None:
        """Percentage of closed alerts that were false positives; None if no alert is closed."""
        return round(100 * self.false / self.closed) if self.closed else None


NONE: Final = Outcome()
"""Outcome of a source without alerts."""

Outcomes = Mapping[str, Outcome] | None
"""Outcomes by source id, without sources that have no alert; None after a timeout."""


def outcomes_of(
    engine: BoundedEngine, here: Services, scope: Scope, kind: Kind, ids: Sequence[str]
) -> Outcomes:
    """Counts the alerts of the given sources, which are all of the same kind."""
    query = f"source:{kind} created_time:[-{limits.ALERT_OUTCOME_DAYS}d TO *]"
    if len(ids) <= limits.PAGE_ROWS:
        query += f" ({' OR '.join(phrase('source_id', one) for one in ids)})"
    newest = (Sort("newest", is_descending=True),)
    wanted = SearchRequest((("q", query),), limits.ALERT_GROUP_VALUES_MAX, 0, newest)
    quick = replace(here.settings, search_deadline_s=ALERT_OUTCOME_S)
    if not ids:
        return {}
    try:
        found = alert_search.groups(engine, scope, wanted, "source", quick, here.clock.now_us())
    except UnavailableError:
        return None
    return {one.values["source_id"]: _outcome(one) for one in found.groups}


def _outcome(group: AlertGroup) -> Outcome:
    closed = sum(count for status, count in group.statuses.items() if status in CLOSED)
    return Outcome(group.trend, closed, group.statuses.get("False Positive", 0))

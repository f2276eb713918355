"""What became of the alerts of rules, watchlists and feeds: how many there are, and how many of
those that were closed were false."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from vedette import limits
from vedette.api.services import Services
from vedette.console.query_terms import phrase
from vedette.errors import UnavailableError
from vedette.model.findings.alert import CLOSED
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.read.detection.alert_groups import AlertGroup

Kind = Literal["rule", "watchlist", "feed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Alerts of `ALERT_OUTCOME_DAYS`, within what the reader sees."""

    days: Sequence[int] = (0,) * limits.ALERT_TREND_DAYS
    """Alerts of each of the last days, the newest last."""
    closed: int = 0
    false: int = 0
    """Of the closed ones, those that were closed as False Positive."""

    @property
    def false_share(self) -> int | None:
        """In percent of the closed ones; None where none is closed."""
        return round(100 * self.false / self.closed) if self.closed else None


NONE: Final = Outcome()
"""Of a source without an alert."""

Outcomes = Mapping[str, Outcome] | None
"""By the id of the source, without those that have no alert; None where it took too long."""


def outcomes_of(
    engine: BoundedEngine, here: Services, scope: Scope, kind: Kind, ids: Sequence[str]
) -> Outcomes:
    """Of these sources of one kind."""
    query = f"source:{kind} created_time:[-{limits.ALERT_OUTCOME_DAYS}d TO *]"
    if len(ids) <= limits.PAGE_ROWS:
        query += f" ({' OR '.join(phrase('source_id', one) for one in ids)})"
    newest = (Sort("newest", is_descending=True),)
    wanted = SearchRequest((("q", query),), limits.ALERT_GROUP_VALUES_MAX, 0, newest)
    quick = replace(here.settings, search_deadline_s=limits.ALERT_OUTCOME_S)
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

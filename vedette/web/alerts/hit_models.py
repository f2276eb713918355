"""Rule hits as JSON (docs/alerts.md#rule-hits)."""

from typing import Any

from vedette.model.hit_fields import HitOutcome
from vedette.record.answers import Answer
from vedette.search.document_search import Results
from vedette.web.json.wire_values import instant
from vedette.web.processes.models import Body
from vedette.web.processes.search_results_json import document_results_body


class Hit(Answer):
    """Hits of one rule in one request or import: on a process, or in a record without a process."""

    rule_id: str
    rule_name: str
    level: str
    hostname: str
    sensor_id: int
    username: str
    process_name: str
    process_id: str
    segment_id: int
    md5: str
    time: str
    last_time: str
    committed: str
    count: int
    alert_id: str
    outcome: HitOutcome | None
    matched: dict[str, str]
    event: dict[str, str]


class FacetCount(Answer):
    """A value of a facet with its hits."""

    name: str
    value: int
    percent: float
    ratio: str


class MatchedText(Answer):
    """A value that the query matches, with the ids of the alerts of the hits that have it."""

    name: str
    ids: list[str]


class HitSearch(Answer):
    """One page of rule hits."""

    terms: list[str]
    results: list[Hit]
    elapsed: float
    comprehensive_search: bool
    incomplete_results: bool
    total_results: int
    start: int
    filtered: int
    highlights: list[MatchedText]
    facets: dict[str, list[FacetCount]]


def hit_results_body(found: Results) -> Body:
    """The answer to a search of rule hits."""
    return document_results_body(found, [_hit_body(row) for row in found.rows])


def _hit_body(row: dict[str, Any]) -> Body:
    return {
        **{name: row[name] for name in Hit.model_fields},
        **{name: instant(row[name]) for name in ("time", "last_time", "committed")},
        "outcome": row["outcome"] or None,
        "matched": dict(row["matched"]),
        "event": dict(row["event"]),
    }

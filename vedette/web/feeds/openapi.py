"""Response schemas of feeds and threat reports."""

from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    SECONDS,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
    reference,
)

_REPORT: Final[dict[str, Schema]] = {
    **alike(("_internal_id", "id", "report_id", "feed_name", "title", "description", "link"), TEXT),
    "feed_category": nullable(TEXT),
    **alike(("feed_id", "score", "report_score", "timestamp", "ioc_count"), INTEGER),
    **alike(("create_time", "update_time", "last_update"), nullable(TIME)),
    **alike(("is_ignored", "is_deleted", "has_query"), FLAG),
    "tags": listing(TEXT),
    "iocs": OBJECT,
}

FEEDS: Final[dict[str, Schema]] = {
    "FeedTrial": record(
        {
            **alike(("name", "display_name", "format"), TEXT),
            **alike(("reports", "error_count"), INTEGER),
            "indicators": mapping(INTEGER),
            "titles": listing(TEXT),
            "errors": listing(reference("FeedError")),
            "complete": FLAG,
        }
    ),
    "FeedError": record({**alike(("place", "problem"), TEXT), "report_id": nullable(TEXT)}),
    "Accepted": record({"result": {"const": True}}),
    "ThreatReport": record(_REPORT),
    "ReportMatch": record({"ioc": TEXT, **alike(("segments", "hosts"), INTEGER), "last": TIME}),
    "ThreatReportSearch": record(
        {
            "terms": listing(TEXT),
            "results": listing(reference("ThreatReport")),
            **alike(("total_results", "start", "filtered"), INTEGER),
            "highlights": listing(record({"name": TEXT, "ids": listing(TEXT)})),
            "facets": mapping(listing(reference("FacetValue"))),
            **alike(("comprehensive_search", "incomplete_results"), FLAG),
            "elapsed": SECONDS,
        }
    ),
    "ChangedReports": record(
        _REPORT
        | {
            "result": {"const": "success"},
            **alike(("updated", "unchanged"), INTEGER),
            "not_found": mapping(listing(TEXT)),
        },
        tuple(_REPORT),
    ),
}
"""Maps component name to schema."""

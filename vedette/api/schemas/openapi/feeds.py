"""Answers about feeds and threat reports."""

from typing import Final

from vedette.api.schemas.openapi.terms import (
    FLAG,
    INTEGER,
    NUMBER,
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

_FEED: Final[dict[str, Schema]] = {
    **alike(("id", "report_count", "ioc_count", "failures", "error_count"), INTEGER),
    **alike(("name", "display_name", "feed_url", "provider_url"), TEXT),
    **alike(("enabled", "manually_added", "sync_requested"), FLAG),
    **alike(("has_password", "has_ssl_client_key"), FLAG),
    **alike(("use_proxy", "validate_server_cert"), nullable(FLAG)),
    **alike(
        (
            *("summary", "tech_data", "category", "icon", "icon_small", "format", "last_error"),
            *("requires", "requires_what", "requires_who", "ssl_client_crt", "username"),
        ),
        nullable(TEXT),
    ),
    **alike(("password", "ssl_client_key"), {"type": "null"}),
    "order": nullable(INTEGER),
    **alike(("provider_rating", "local_rating"), nullable(NUMBER)),
    **alike(("last_sync", "last_full_sync", "last_sync_started", "next_sync"), nullable(TIME)),
}
_ERRORS: Final[dict[str, Schema]] = {"errors": listing(reference("FeedError"))}
_REPORT: Final[dict[str, Schema]] = {
    **alike(("_internal_id", "id", "report_id", "feed_name", "title", "description", "link"), TEXT),
    "feed_category": nullable(TEXT),
    **alike(("feed_id", "score", "report_score", "timestamp", "ioc_count"), INTEGER),
    **alike(("create_time", "update_time", "last_update"), TIME),
    **alike(("is_ignored", "is_deleted", "has_query"), FLAG),
    "tags": listing(TEXT),
    "iocs": OBJECT,
}

FEEDS: Final[dict[str, Schema]] = {
    "Feed": record(_FEED),
    "FeedWithErrors": record(_FEED | _ERRORS),
    "ChangedFeed": record(_FEED | _ERRORS | {"result": {"const": "success"}}),
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
        _REPORT | {"result": {"const": "success"}, "updated": INTEGER}, tuple(_REPORT)
    ),
}
"""Component name -> schema."""

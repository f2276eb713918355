"""Catalogue of the search fields of threat reports (docs/query-objects.md#threat-reports). Columns
are defined in `report_columns.py`."""

from vedette.model.field import Field, catalogue
from vedette.model.threat.report_columns import REPORT_ADDRESSES, REPORT_TEXTS

REPORT_LISTS: frozenset[str] = frozenset((*REPORT_TEXTS, *REPORT_ADDRESSES))
"""Multi-valued columns of a report. A query value matches if it matches any element."""

REPORT = catalogue(
    (
        Field("title", "text", ("title",), True),
        Field("description", "text", ("description",), True),
        Field("tags", "text", ("tags",), True),
        Field("feed_category", "text", ("feed_category",), True),
        Field("feed_name", "keyword", ("feed_name",), True),
        Field("feed_id", "integer", ("feed_id",)),
        Field("report_id", "keyword", ("report_id",), aliases=("id",)),
        Field("domain", "domain", ("domain",), True),
        Field("ipaddr", "ipv4", ("ipaddr", "ipv6addr")),
        Field("ipv6addr", "ipv6", ("ipv6addr", "ipaddr")),
        Field("md5", "md5", ("md5",), True),
        Field("sha256", "sha256", ("sha256",), True),
        Field("ja3", "md5", ("ja3",)),
        Field("ja3s", "md5", ("ja3s",)),
        Field("query", "text", ("query",)),
        Field("link", "text", ("link",)),
        Field("score", "integer", ("score",), aliases=("report_score",)),
        Field("has_query", "bool", ("has_query",)),
        Field("is_ignored", "bool", ("is_ignored",)),
        Field("is_deleted", "bool", ("is_deleted",)),
        Field("create_time", "time", ("create_time",)),
        Field("update_time", "time", ("update_time",), aliases=("timestamp", "last_update")),
    ),
    has_tags=False,
    always=("feed_id", "report_id", "feed_name", "create_time", "update_time"),
)
"""Fields of threat-report search."""

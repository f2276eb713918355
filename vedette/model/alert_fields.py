"""Catalogue of the search fields of alerts (docs/query-objects.md#alerts). Columns are defined in
`findings/alert.py`."""

from vedette.model.field import Field, catalogue
from vedette.model.findings.alert import ALERT_TEXTS, DECIMALS, EVENT_COUNTS

ALERT_LISTS: frozenset[str] = frozenset(ALERT_TEXTS)
"""Multi-valued columns of an alert. A query value matches if it matches any element."""

ALERT = catalogue(
    (
        *(Field(name, "decimal", (name,)) for name in DECIMALS),
        Field("alert_type", "keyword", ("alert_type",)),
        Field("assigned_to", "keyword", ("assigned_to",), True),
        Field("feed_name", "keyword", ("feed_name",), True, aliases=("feedname",)),
        Field("hostname", "hostname", ("hostname",), True),
        Field("ioc_value", "keyword", ("ioc_value",), True),
        Field("watchlist_name", "keyword", ("watchlist_name",), True),
        Field("username", "account", ("username",), True),
        Field("process_name", "name", ("process_name",), True, paths=("process_path",)),
        Field("parent_name", "keyword", ("parent_name",)),
        Field("group", "keyword", ("group",)),
        Field("status", "keyword", ("status",)),
        Field("os_type", "keyword", ("os_type",)),
        Field("ioc_type", "keyword", ("ioc_type",)),
        Field("unique_id", "alert_id", ("id",), aliases=("id",)),
        Field("process_id", "process_id", ("process_id",)),
        Field("process_unique_id", "alert_id", ("process_unique_id",)),
        Field("link", "keyword", ("link",)),
        Field("report_id", "keyword", ("report_id",), aliases=("report",)),
        Field("source", "keyword", ("source_kind",)),
        Field("source_id", "keyword", ("source_id",), aliases=("rule_id",)),
        Field("level", "keyword", ("level",)),
        Field("tags", "keyword", ("tags",), aliases=("tag",)),
        Field("techniques", "keyword", ("techniques",), aliases=("technique",)),
        Field("md5", "md5", ("md5",), True),
        Field("sha256", "sha256", ("sha256",), True),
        Field("observed_filename", "keyword", ("observed_filename",), True),
        Field("process_path", "path", ("process_path",), True),
        # For alerts without a watchlist, the API shows the id of the rule or report in this field.
        Field("watchlist_id", "integer", ("watchlist_id",), True, texts=("source_id", "report_id")),
        Field("feed_id", "integer", ("feed_id",)),
        Field("sensor_id", "integer", ("sensor_id",)),
        Field("segment_id", "integer", ("segment_id",)),
        Field("total_hosts", "integer", ("total_hosts",)),
        *(Field(name, "count", (name,)) for name in EVENT_COUNTS),
        Field("count", "count", ("count",)),
        Field("created_time", "time", ("created_time",), aliases=("create_time",)),
        Field("resolved_time", "time", ("resolved_time",)),
        Field("updated_time", "time", ("updated_time",)),
        Field("first_event_time", "time", ("first_event_time",)),
        Field("last_event_time", "time", ("last_event_time",)),
        Field("report_ignored", "bool", ("report_ignored",), aliases=("is_ignored",)),
        Field("title", "text", ("title",), True),
        Field("description", "text", ("description",), True),
        Field("cmdline", "text", ("cmdline",)),
        Field("notes", "text", ("notes",)),
        Field("comms_ip", "address", ("comms_ip",)),
        Field("interface_ip", "address", ("interface_ip",)),
    ),
    has_tags=False,
    always=("id", "created_time", "updated_time", "alert_type", "status", *DECIMALS),
)
"""Fields of alert search."""

"""Success responses of the routes for `/openapi.json`: status, media type and schema.

Routes return bytes, so the framework cannot derive them. Routes not listed here return a JSON
object with status 200.
"""

from collections.abc import Mapping
from typing import Final

from vedette.web.accounts.cloud_openapi import IDENTITY, IDENTITY_MANY, IDENTITY_ONE
from vedette.web.accounts.openapi import ACCOUNTS
from vedette.web.alerts.cloud_alerts_openapi import (
    CLOUD_ALERTS,
    CLOUD_ALERTS_ONE,
    CLOUD_FILES,
    CLOUD_MANY,
)
from vedette.web.alerts.openapi import ALERTS
from vedette.web.feeds.openapi import FEEDS
from vedette.web.fleet.openapi import FLEET
from vedette.web.forwarding.openapi import FORWARDERS, FORWARDERS_ONE
from vedette.web.json.terms import OBJECT, TEXT, Schema, listing, reference
from vedette.web.logs.openapi import LOGS
from vedette.web.notify.openapi import NOTIFY
from vedette.web.policy.openapi import POLICY
from vedette.web.processes.openapi import SEARCH
from vedette.web.server.completeness_openapi import COMPLETENESS
from vedette.web.server.console_openapi import CONSOLE
from vedette.web.server.openapi_request_bodies import BYTES, Route
from vedette.web.telemetry.openapi import TELEMETRY

COMPONENTS: Final[Mapping[str, Schema]] = {
    **FEEDS,
    **SEARCH,
    **FLEET,
    **POLICY,
    **TELEMETRY,
    **ACCOUNTS,
    **ALERTS,
    **LOGS,
    **NOTIFY,
    **COMPLETENESS,
    **CONSOLE,
    **IDENTITY,
    **CLOUD_ALERTS,
    **FORWARDERS,
}
"""All schemas of the document, by name."""

_BANS: Final = tuple(
    f"/api/v1/banning/{one}" for one in ("bannedlist", "blacklist", "restrictedlist")
)
_FILTERS: Final = ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
_GROUPS: Final = ("/api/group", "/api/v1/group", "/api/v3/group")
_ALERTS: Final = ("/api/v1/alert", "/api/v2/alert")
_SUPPRESSIONS: Final = "/api/v1/alert/suppression"
_SITES: Final = ("/api/site", "/api/v1/site")
_BASES: Final = ("/api", "/api/v1")
_APPROVED: Final = ("/approvedlist", "/api/v1/approvedlist", "/api/v1/whitelist")
_SENSOR: Final = "/api/v1/sensor/{sensor_id}"
_PROCESS: Final = "/api/v1/process/{process_id}"
_ANALYSIS: Final = "/api/v6/process"
_STREAM: Final = f"{_ANALYSIS}/stream"
_ACTED: Final = tuple(f"/api/v1/{kind}/{{source_id}}" for kind in ("watchlist", "feed", "sigma"))
_APP_CONTROL: Final = "/api/v1/settings/global/platformserver"
_POLICIES: Final = "/api/v1/response_policy"
_FEEDS: Final = "/api/v1/feed"
_REQUEST_METHODS: Final = ("GET", "POST", "DELETE")
_PARTITIONS: Final = "/api/v1/storage/events"


def _under(paths: tuple[str, ...], *routes: tuple[str, str, str]) -> dict[Route, str]:
    """Returns the routes under each of several base paths."""
    return {(method, base + rest): name for base in paths for method, rest, name in routes}


_ONE: Final[Mapping[Route, str]] = {
    ("GET", "/api/v1/process"): "ProcessSearch",
    ("POST", "/api/v1/process"): "ProcessSearch",
    ("GET", f"{_PROCESS}/{{segment_id}}"): "ProcessSummary",
    ("GET", "/api/v2/process/{process_id}/{segment_id}"): "Process",
    ("GET", "/api/v{version}/process/{process_id}/{segment_id}/event"): "ProcessEvents",
    ("GET", f"{_PROCESS}/{{segment_id}}/preview"): "ProcessPreview",
    ("GET", f"{_PROCESS}/{{segment_id}}/threat_intel_hits"): "FeedHits",
    ("GET", f"{_PROCESS}/segment"): "Segments",
    ("GET", f"{_PROCESS}/tree"): "ProcessTree",
    ("GET", f"{_PROCESS}/timeline"): "Timeline",
    ("GET", "/api/v1/process/host/count"): "Frequency",
    ("GET", "/api/v1/query/explain"): "Explanation",
    ("GET", "/api/v1/log"): "LogSearch",
    ("POST", "/api/v1/log"): "LogSearch",
    ("GET", "/api/v1/log/explain"): "LogExplanation",
    ("GET", f"{_PROCESS}/logon"): "ProcessLogon",
    ("POST", _STREAM): "EventStream",
    ("GET", f"{_STREAM}/{{stream_id}}"): "EventStream",
    ("PATCH", f"{_STREAM}/{{stream_id}}"): "EventStream",
    ("POST", f"{_STREAM}/{{stream_id}}"): "Success",
    ("GET", f"{_ANALYSIS}/suppression_status"): "Suppression",
    ("GET", f"{_ANALYSIS}/{{process_id}}/{{segment_id}}/bulk"): "EventFacets",
    ("GET", f"{_ANALYSIS}/{{process_id}}/{{segment_id}}/verify"): "SegmentId",
    ("GET", f"{_ANALYSIS}/{{process_id}}/metadata"): "ProcessMetadata",
    ("GET", "/api/v1/binary"): "BinarySearch",
    ("POST", "/api/v1/binary"): "BinarySearch",
    ("GET", "/api/v1/binary/{md5}/summary"): "BinarySummary",
    ("GET", "/api/v1/binary/{md5}/usage"): "BinaryUsage",
    ("GET", "/api/v1/yara"): "YaraRules",
    ("GET", "/api/v1/yara/{name}"): "YaraText",
    ("PUT", "/api/v1/yara/{name}"): "YaraRule",
    ("DELETE", "/api/v1/yara/{name}"): "Success",
    ("POST", "/api/v1/binary/file"): "AddedBinary",
    **{(method, "/api/v1/binary/{md5}/request"): "BinaryRequest" for method in _REQUEST_METHODS},
    **_under(
        _ALERTS,
        ("GET", "", "AlertSearch"),
        ("GET", "/group", "AlertGroups"),
        ("GET", "/{alert_id}", "WholeAlert"),
        ("POST", "/{alert_id}", "ChangedAlert"),
    ),
    ("POST", "/api/v2/alert"): "AlertSearch",
    ("POST", "/api/v2/alert/group"): "AlertGroups",
    ("POST", "/api/v1/alerts"): "ChangedAlerts",
    ("POST", "/api/v1/undo/{action_id}"): "UndoneChange",
    ("GET", "/api/v1/alert/{alert_id}/history"): "AlertHistory",
    ("POST", "/api/v1/alert/{alert_id}/note"): "ChangedAlert",
    ("POST", f"{_SUPPRESSIONS}/preview"): "AlertSuppressionPreview",
    ("DELETE", f"{_SUPPRESSIONS}/{{suppression_id}}"): "Success",
    ("GET", f"{_SENSOR}/risk"): "HostRisk",
    ("GET", _SENSOR): "Sensor",
    ("GET", f"{_SENSOR}/enrolment"): "SensorEnrolment",
    ("POST", f"{_SENSOR}/enrolment"): "SensorEnrolment",
    ("GET", "/api/v2/sensor"): "SensorPage",
    ("PUT", "/api/v1/sensor"): "ChangedSensors",
    ("GET", "/api/v1/sensor/statistics"): "SensorStatistics",
    ("GET", "/api/v1/sigma"): "SigmaRules",
    ("POST", "/api/v1/sigma"): "ImportedRules",
    ("PUT", "/api/v1/sigma"): "Success",
    ("POST", "/api/v1/sigma/test"): "RuleTrial",
    ("GET", "/api/v1/sigma/placeholder"): "SigmaPlaceholders",
    ("PUT", "/api/v1/sigma/placeholder/{name}"): "CompiledRules",
    ("DELETE", "/api/v1/sigma/placeholder/{name}"): "CompiledRules",
    ("GET", "/api/v1/sigma/{rule_id}/versions"): "SigmaVersions",
    ("GET", "/api/v1/sigma/{rule_id}"): "SigmaRule",
    ("PUT", "/api/v1/sigma/{rule_id}"): "Success",
    ("DELETE", "/api/v1/sigma/{rule_id}"): "Success",
    ("POST", "/api/v1/hostalias"): "Success",
    ("DELETE", "/api/v1/hostalias/{alias}"): "Success",
    ("GET", "/api/v1/hostconflict"): "HostConflicts",
    ("PUT", "/api/v1/hostconflict/{name}"): "HostConflict",
    ("DELETE", "/api/v1/hostconflict/{name}"): "Success",
    ("POST", "/api/v1/livequery"): "NewLiveQuery",
    ("GET", "/api/v1/livequery/{query_id}"): "LiveQuery",
    **dict.fromkeys([("GET", f"/api{part}/builds") for part in ("", "/v1", "/v2")], "Builds"),
    **_under(
        _BANS,
        ("DELETE", "/{md5}", "Success"),
    ),
    ("DELETE", "/api/v1/watchlist/{watchlist_id}"): "Success",
    ("POST", "/api/v1/watchlist/preview"): "WatchlistPreview",
    **_under(
        _FILTERS,
        ("POST", "", "NewIngressFilters"),
        ("POST", "/legacy", "NewIngressFilters"),
        ("POST", "/check", "FilterCheck"),
        ("PUT", "/legacy", "Success"),
        ("DELETE", "/legacy", "Success"),
        ("PUT", "", "Success"),
        ("PUT", "/{filter_id}", "Success"),
        ("DELETE", "/{filter_id}", "Success"),
    ),
    **_under(
        _GROUPS,
        ("DELETE", "/{group_id}", "Success"),
    ),
    **_under(
        _SITES,
        ("PUT", "/{site_id}", "Success"),
        ("DELETE", "/{site_id}", "Success"),
    ),
    **_under(
        _BASES,
        ("POST", "/user", "ChangedUser"),
        ("GET", "/user/{username}", "User"),
        ("PUT", "/user/{username}", "ChangedUser"),
        ("DELETE", "/user/{username}", "Success"),
        ("POST", "/team", "Team"),
        ("GET", "/team/{team_id}", "Team"),
        ("PUT", "/team/{team_id}", "ChangedTeam"),
        ("DELETE", "/team/{team_id}", "Success"),
        ("GET", "/license", "License"),
        ("POST", "/license", "LicenseApplied"),
    ),
    **_under(_APPROVED, ("POST", "/entries", "ApprovedIds"), ("GET", "/enabled", "ApprovingState")),
    ("GET", "/api/v1/approvedlist/locked_out"): "LockedOut",
    ("POST", "/api/v1/token"): "NewToken",
    ("POST", "/api/v1/session"): "Session",
    ("GET", "/api/v1/session"): "Session",
    ("DELETE", "/api/v1/session"): "Success",
    ("DELETE", "/api/v1/session/{session_id}"): "Success",
    ("POST", "/api/v1/secondfactor"): "SecondFactor",
    ("PUT", "/api/v1/secondfactor"): "Success",
    ("DELETE", "/api/v1/saved_search/{search_id}"): "Success",
    ("POST", "/api/v1/export"): "Success",
    ("POST", "/api/v1/permalink"): "NewPermalink",
    ("POST", "/api/v1/csp-report"): "Success",
    ("GET", "/api/v1/pulse"): "Pulse",
    ("GET", "/api/v1/lookup"): "Lookup",
    ("DELETE", "/api/v1/secondfactor"): "Success",
    ("PUT", "/api/v1/me/password"): "Success",
    ("DELETE", "/api/v1/token/{token_id}"): "Success",
    ("GET", "/api/v1/audit"): "AuditLog",
    ("POST", "/api/v1/backup/snapshot"): "Snapshot",
    ("DELETE", "/api/v1/backup/snapshot/{snapshot_id}"): "Success",
    ("GET", "/api/v1/dashboard/statistics"): "Dashboard",
    **_under(
        _ACTED,
        ("PUT", "/action_type/{action}", "Success"),
        ("PUT", "/action/{action_id}", "Success"),
        ("DELETE", "/action/{action_id}", "Success"),
    ),
    ("POST", "/api/v1/outbox/retry"): "OutboxChange",
    ("POST", "/api/v1/outbox/discard"): "OutboxChange",
    ("POST", "/api/v1/outbox/test"): "OutboxTrial",
    ("GET", _APP_CONTROL): "AppControl",
    ("PUT", _APP_CONTROL): "ChangedAppControl",
    ("POST", _APP_CONTROL): "ChangedAppControl",
    ("DELETE", f"{_POLICIES}/{{policy_id}}"): "Success",
    ("POST", f"{_FEEDS}/preview"): "FeedTrial",
    ("DELETE", f"{_FEEDS}/{{feed_id}}"): "Success",
    ("POST", f"{_FEEDS}/{{feed_id}}/synchronize"): "Accepted",
    ("GET", f"{_FEEDS}/{{feed_id}}/report/{{report_id}}"): "ThreatReport",
    ("GET", "/api/v1/threat_report"): "ThreatReportSearch",
    ("POST", "/api/v1/threat_report"): "ChangedReports",
    ("GET", f"{_PARTITIONS}/partition"): "Partitions",
    ("POST", f"{_PARTITIONS}/new_partition"): "PartitionChange",
    ("POST", f"{_PARTITIONS}/{{partition_name}}/mount"): "PartitionChange",
    ("POST", f"{_PARTITIONS}/{{partition_name}}/unmount"): "PartitionChange",
    ("DELETE", f"{_PARTITIONS}/{{partition_name}}"): "PartitionDeletion",
    ("GET", "/api/info"): "ServerInfo",
    ("GET", "/healthz"): "Health",
    ("GET", "/readyz"): "Readiness",
    ("GET", "/api/v1/doctor"): "Diagnosis",
    ("GET", "/api/v1/user/{username}/effective"): "EffectiveRights",
    ("GET", "/api/v1/health/summary"): "HealthSummary",
    ("GET", "/api/v1/completeness"): "Completeness",
    ("GET", "/api/v1/completeness/certificate"): "SignedCompleteness",
    ("POST", "/api/v1/ingest"): "IngestReceipt",
    **_under(("/_bulk", "/{index}/_bulk"), ("POST", "", "BulkReceipt"), ("PUT", "", "BulkReceipt")),
    ("POST", "/sensor/v1/enrol"): "Enrolled",
    ("POST", "/sensor/v1/checkin"): "Orders",
    ("POST", "/sensor/v1/events"): "StoredBlock",
    ("POST", "/sensor/v1/binaries/offer"): "WantedFiles",
    ("PUT", "/sensor/v1/binaries/{sha256}"): "ReceivedBytes",
    ("POST", "/osquery/enroll"): "OsqueryEnrolled",
    ("POST", "/osquery/distributed/read"): "OsqueryQueries",
    ("POST", "/api/v1/identity_provider"): "IdentityProvider",
    ("GET", "/api/v1/identity_provider/{provider_id}"): "IdentityProvider",
    ("PUT", "/api/v1/identity_provider/{provider_id}"): "IdentityProvider",
    ("DELETE", "/api/v1/identity_provider/{provider_id}"): "Success",
    ("POST", "/api/v1/identity"): "Identity",
    ("DELETE", "/api/v1/identity/{identity_id}"): "Success",
    **IDENTITY_ONE,
    **CLOUD_ALERTS_ONE,
    **FORWARDERS_ONE,
}
"""Maps routes that return a single object to its component."""

_MANY: Final[Mapping[Route, str]] = {
    ("GET", "/api/v1/sensor"): "Sensor",
    ("GET", f"{_SENSOR}/queued"): "SensorQueue",
    ("GET", f"{_SENSOR}/activity"): "SensorActivity",
    ("GET", "/api/v1/hostalias"): "HostAlias",
    **_under(_BASES, ("GET", "/users", "User"), ("GET", "/teams", "Team")),
    **_under(_APPROVED, ("GET", "/entries", "ApprovedAddress")),
    ("GET", "/api/v1/token"): "Token",
    ("GET", "/api/v1/session/list"): "ListedSession",
    ("GET", "/api/v1/fields"): "SearchField",
    ("GET", "/api/v1/query/suggest"): "Suggestion",
    ("GET", f"{_FEEDS}/{{feed_id}}/errors"): "FeedError",
    ("GET", f"{_FEEDS}/{{feed_id}}/report"): "ThreatReport",
    ("GET", f"{_FEEDS}/{{feed_id}}/report/{{report_id}}/matches"): "ReportMatch",
    ("GET", "/api/v1/alerts/audit"): "AlertAudit",
    ("GET", "/api/v1/outbox"): "OutboxTarget",
    ("GET", "/api/v1/health/refused"): "RefusedRecord",
    ("GET", "/api/v1/outbox/message"): "OutboxMessage",
    ("GET", "/api/v1/response"): "RuleResponse",
    ("GET", "/api/v1/identity_provider"): "IdentityProvider",
    ("GET", "/api/v1/identity"): "Identity",
    **IDENTITY_MANY,
    **CLOUD_MANY,
}
"""Maps routes that return a list to the component of its items."""

_OBJECTS: Final[frozenset[Route]] = frozenset(
    {
        ("GET", f"{_SENSOR}/resourcestatus"),
        *(("GET", f"{base}/{{group_id}}/datasharing") for base in _GROUPS),
    }
)
"""Routes that return a list of objects without a schema."""

_FILES: Final[Mapping[Route, str]] = {
    ("GET", "/metrics"): "text/plain",
    ("GET", "/_cat/{rest}"): "text/plain",
    ("GET", f"{_ANALYSIS}/{{process_id}}/{{segment_id}}/segment"): "application/x-ndjson",
    ("GET", "/sensor/v1/packages/{sha256}"): "application/octet-stream",
    ("GET", "/api/v1/binary/{md5}"): "application/zip",
    ("GET", "/api/v1/binary/{md5}/icon"): "image/png",
    **_under(
        _GROUPS,
        ("GET", "/{group_id}/installer/linux", "application/gzip"),
        ("GET", "/{group_id}/installer/osx", "application/zip"),
        ("GET", "/{group_id}/installer/windows/exe", "application/zip"),
        ("GET", "/{group_id}/installer/windows/msi", "application/zip"),
    ),
    **CLOUD_FILES,
}
"""Maps routes that do not return JSON to their media type."""

_TEXTS: Final = frozenset({"text/plain", "text/csv", "application/x-ndjson"})

_EMPTY: Final[frozenset[Route]] = frozenset(
    {
        ("PUT", _SENSOR),
        *(("DELETE", f"{base}/entries/{{entry_id}}") for base in _APPROVED),
        *(("PATCH", f"{base}/enabled") for base in _APPROVED),
    }
)
"""Routes that return 204 without a body."""


def success(method: str, path: str) -> tuple[str, Schema]:
    """Returns status and OpenAPI Response of a route's success."""
    route = method, path
    if method == "HEAD":
        return "200", {"description": "Without a body"}
    if route in _EMPTY:
        return "204", {"description": "Done"}
    if route in _FILES:
        return "200", _answer(_FILES[route], TEXT if _FILES[route] in _TEXTS else BYTES)
    return "200", _answer("application/json", _schema(route))


def _schema(route: Route) -> Schema:
    if route in _ONE:
        return reference(_ONE[route])
    if route in _MANY:
        return listing(reference(_MANY[route]))
    return listing(OBJECT) if route in _OBJECTS else OBJECT


def _answer(media_type: str, schema: Schema) -> Schema:
    return {"description": "Done", "content": {media_type: {"schema": schema}}}

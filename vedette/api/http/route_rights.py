"""The table of all routes with the right that each needs.

A route that is missing here is answered with 500, so that none is open by accident; a test walks
the table.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from vedette.api.http.cloud_rights import CLOUD_PERMISSIONS


class Right(Enum):
    """What a route requires of its caller."""

    PERMISSION = auto()
    """A permission of the cloud side: `cloud_rights.py` says which."""
    OPEN = auto()
    """Nothing: credentials are ignored."""
    IN_BODY = auto()
    """A secret in the body, which the handler checks (`credential_bodies`)."""
    HANDSHAKE = auto()
    """`SEND`; but browsers, which accept text/html, are redirected without a token."""
    SENSOR = auto()
    """An enrolled sensor, by its own key (docs/sensor-protocol.md)."""
    SEND = auto()
    """An ingest token, or a global administrator."""
    READ = auto()
    """Any user; what they see is their scope."""
    VIEW = auto()
    """A user with a role in any sensor group, for data that belongs to no group."""
    ACT = auto()
    """A user who is Analyst or Administrator in any sensor group; the route checks the role in
    the group concerned."""
    ADMINISTER_GROUP = auto()
    """An Administrator of any sensor group; the route checks the role in the group concerned."""
    ADMINISTER = auto()
    """A global administrator."""


_ELASTIC_SETUP: Final = (
    ("GET", "/_license"),
    ("GET", "/_xpack"),
    *((method, "/_cluster/{rest:path}") for method in ("GET", "HEAD", "PUT")),
    *((method, "/_cat/{rest:path}") for method in ("GET", "HEAD")),
    *(
        (method, path)
        for path in (
            "/_ilm/{rest:path}",
            "/_index_template/{rest:path}",
            "/_component_template/{rest:path}",
            "/_template/{rest:path}",
            "/_ingest/{rest:path}",
            "/_data_stream/{rest:path}",
            "/_alias/{rest:path}",
            "/{index}",
        )
        for method in ("GET", "HEAD", "PUT")
    ),
)

_FILTERS: Final = tuple(
    (method, path, Right.VIEW if method == "GET" else Right.ADMINISTER)
    for base in ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
    for path, methods in (
        (base, ("GET", "POST", "PUT")),
        (f"{base}/legacy", ("GET", "POST", "PUT", "DELETE")),
        (f"{base}/check", ("POST",)),
        (f"{base}/{{filter_id}}", ("GET", "PUT", "DELETE")),
    )
    for method in methods
)

_BANS: Final = tuple(
    (method, path, Right.VIEW if method == "GET" else Right.ACT)
    for name in ("bannedlist", "blacklist", "restrictedlist")
    for path, methods in (
        (f"/api/v1/banning/{name}", ("GET", "POST")),
        (f"/api/v1/banning/{name}/{{md5}}", ("GET", "PUT", "DELETE")),
    )
    for method in methods
)

_FEEDS: Final = tuple(
    (method, path, Right.VIEW if method == "GET" else Right.ADMINISTER)
    for path, methods in (
        ("/api/v1/feed", ("GET", "POST")),
        ("/api/v1/feed/preview", ("POST",)),
        ("/api/v1/feed/{feed_id}", ("GET", "PUT", "DELETE")),
        ("/api/v1/feed/{feed_id}/synchronize", ("POST",)),
        ("/api/v1/feed/{feed_id}/errors", ("GET",)),
        ("/api/v1/feed/{feed_id}/report", ("GET",)),
        ("/api/v1/feed/{feed_id}/report/{report_id}", ("GET",)),
        ("/api/v1/feed/{feed_id}/report/{report_id}/matches", ("GET",)),
        ("/api/v1/threat_report", ("GET", "POST")),
    )
    for method in methods
)

_WATCHLISTS: Final = (
    ("GET", "/api/v1/watchlist", Right.VIEW),
    ("GET", "/api/v1/watchlist/{watchlist_id}", Right.VIEW),
    ("GET", "/api/v1/watchlist/{watchlist_id}/versions", Right.VIEW),
    ("GET", "/api/v1/watchlist/{watchlist_id}/stats", Right.VIEW),
    ("POST", "/api/v1/watchlist", Right.ACT),
    ("PUT", "/api/v1/watchlist/{watchlist_id}", Right.ACT),
    ("DELETE", "/api/v1/watchlist/{watchlist_id}", Right.ACT),
    ("POST", "/api/v1/watchlist/preview", Right.READ),
)

_SIGMA: Final = (
    ("GET", "/api/v1/sigma", Right.VIEW),
    ("POST", "/api/v1/sigma", Right.ADMINISTER),
    ("PUT", "/api/v1/sigma", Right.ADMINISTER),
    ("POST", "/api/v1/sigma/test", Right.ACT),
    ("GET", "/api/v1/sigma/placeholder", Right.VIEW),
    ("PUT", "/api/v1/sigma/placeholder/{name}", Right.ADMINISTER),
    ("DELETE", "/api/v1/sigma/placeholder/{name}", Right.ADMINISTER),
    ("GET", "/api/v1/sigma/{rule_id}", Right.VIEW),
    ("GET", "/api/v1/sigma/{rule_id}/versions", Right.VIEW),
    ("PUT", "/api/v1/sigma/{rule_id}", Right.ADMINISTER),
    ("DELETE", "/api/v1/sigma/{rule_id}", Right.ADMINISTER),
)

_ACTIONS: Final = tuple(
    (method, f"{base}/{{source_id}}/{part}", right)
    for base in ("/api/v1/watchlist", "/api/v1/feed", "/api/v1/sigma")
    for method, part, right in (
        ("GET", "action_type", Right.VIEW),
        ("GET", "action_type/{action}", Right.ACT),
        ("PUT", "action_type/{action}", Right.ACT),
        ("POST", "action_type/{action}/test", Right.ACT),
        ("GET", "action", Right.VIEW),
        ("POST", "action", Right.ACT),
        ("GET", "action/{action_id}", Right.VIEW),
        ("PUT", "action/{action_id}", Right.ACT),
        ("DELETE", "action/{action_id}", Right.ACT),
    )
)

_NOTIFY: Final = (
    ("GET", "/api/v1/outbox", Right.ADMINISTER),
    ("GET", "/api/v1/outbox/message", Right.ADMINISTER),
    ("POST", "/api/v1/outbox/retry", Right.ADMINISTER),
    ("POST", "/api/v1/outbox/discard", Right.ADMINISTER),
    ("POST", "/api/v1/outbox/test", Right.ADMINISTER),
    *(
        (method, "/api/v1/settings/global/platformserver", Right.ADMINISTER)
        for method in ("GET", "PUT", "POST")
    ),
    ("GET", "/api/v1/response_policy", Right.ADMINISTER),
    ("POST", "/api/v1/response_policy", Right.ADMINISTER),
    ("GET", "/api/v1/response_policy/{policy_id}", Right.ADMINISTER),
    ("PUT", "/api/v1/response_policy/{policy_id}", Right.ADMINISTER),
    ("DELETE", "/api/v1/response_policy/{policy_id}", Right.ADMINISTER),
    ("GET", "/api/v1/response", Right.ADMINISTER),
)

_PLACES: Final = tuple(
    (method, path, Right.READ if method == "GET" else Right.ADMINISTER)
    for base, id_name in (
        ("/api/group", "group_id"),
        ("/api/v1/group", "group_id"),
        ("/api/v3/group", "group_id"),
        ("/api/site", "site_id"),
        ("/api/v1/site", "site_id"),
    )
    for path, methods in (
        (base, ("GET", "POST")),
        (f"{base}/{{{id_name}}}", ("GET", "PUT", "DELETE")),
    )
    for method in methods
)

_GROUP_PARTS: Final = tuple(
    ("GET", f"{base}/{{group_id}}/{part}", right)
    for base in ("/api/group", "/api/v1/group", "/api/v3/group")
    for part, right in (
        ("datasharing", Right.READ),
        # Installers carry the group's enrolment secret.
        ("installer/windows/exe", Right.ADMINISTER_GROUP),
        ("installer/windows/msi", Right.ADMINISTER_GROUP),
        ("installer/osx", Right.ADMINISTER_GROUP),
        ("installer/linux", Right.ADMINISTER_GROUP),
    )
)

_ACCOUNTS: Final = tuple(
    (method, base + path, right)
    for base in ("/api", "/api/v1")
    for method, path, right in (
        ("GET", "/users", Right.ADMINISTER),
        ("POST", "/user", Right.ADMINISTER),
        ("GET", "/user/{username}", Right.READ),  # their own
        ("PUT", "/user/{username}", Right.ADMINISTER),
        ("DELETE", "/user/{username}", Right.ADMINISTER),
        ("GET", "/teams", Right.ADMINISTER),
        ("POST", "/team", Right.ADMINISTER),
        ("GET", "/team/{team_id}", Right.ADMINISTER),
        ("PUT", "/team/{team_id}", Right.ADMINISTER),
        ("DELETE", "/team/{team_id}", Right.ADMINISTER),
        ("GET", "/license", Right.READ),
        ("POST", "/license", Right.ADMINISTER),
    )
)

_APPROVED: Final = (
    *(
        (method, base + path, Right.ADMINISTER)
        for base in ("/approvedlist", "/api/v1/approvedlist", "/api/v1/whitelist")
        for method, path in (
            ("GET", "/entries"),
            ("POST", "/entries"),
            ("DELETE", "/entries/{entry_id}"),
            ("GET", "/enabled"),
            ("PATCH", "/enabled"),
        )
    ),
    ("GET", "/api/v1/approvedlist/locked_out", Right.ADMINISTER),
)

_ALERTS: Final = (
    *(
        (method, path, Right.READ)
        for base in ("/api/v1/alert", "/api/v2/alert")
        for method, path in (
            ("GET", base),
            ("GET", f"{base}/group"),
            ("GET", f"{base}/{{alert_id}}"),
        )
    ),
    ("POST", "/api/v2/alert", Right.READ),
    ("POST", "/api/v2/alert/group", Right.READ),
    ("POST", "/api/v1/alert/{alert_id}", Right.ACT),
    ("POST", "/api/v2/alert/{alert_id}", Right.ACT),
    ("GET", "/api/v1/alert/{alert_id}/history", Right.READ),
    ("POST", "/api/v1/alert/{alert_id}/note", Right.ACT),
    # Without a number that was counted before it is for global administrators.
    ("POST", "/api/v1/alerts", Right.ACT),
    ("POST", "/api/v1/undo/{action_id}", Right.ACT),
    ("GET", "/api/v1/alerts/audit", Right.ADMINISTER),
    # A suppression holds for every group.
    ("GET", "/api/v1/alert/suppression", Right.VIEW),
    ("POST", "/api/v1/alert/suppression", Right.ADMINISTER),
    ("POST", "/api/v1/alert/suppression/preview", Right.READ),
    ("GET", "/api/v1/alert/suppression/{suppression_id}", Right.VIEW),
    ("PUT", "/api/v1/alert/suppression/{suppression_id}", Right.ADMINISTER),
    ("DELETE", "/api/v1/alert/suppression/{suppression_id}", Right.ADMINISTER),
    ("GET", "/api/v1/sensor/{sensor_id}/risk", Right.READ),
)

_IDENTITY: Final = (
    ("POST", "/csp/gateway/am/api/auth/token", Right.IN_BODY),
    ("POST", "/csp/gateway/am/api/auth/api-tokens/authorize", Right.IN_BODY),
    ("GET", "/.well-known/jwks.json", Right.OPEN),
    *(
        (method, f"/api/v1/cloud/{path}", Right.ADMINISTER)
        for path, methods in (
            ("permission", ("GET",)),
            ("role", ("GET", "POST")),
            ("role/{role_id}", ("GET", "PUT", "DELETE")),
            ("app", ("GET", "POST")),
            ("app/{app_id}", ("GET", "PUT", "DELETE")),
            ("app/{app_id}/secret", ("POST",)),
        )
        for method in methods
    ),
    *(
        (method, f"/api/v1/{path}", Right.ADMINISTER)
        for path, methods in (
            ("identity_provider", ("GET", "POST")),
            ("identity_provider/{provider_id}", ("GET", "PUT", "DELETE")),
            ("identity", ("GET", "POST")),
            ("identity/{identity_id}", ("DELETE",)),
        )
        for method in methods
    ),
)

ACCESS: Final[Mapping[tuple[str, str], Right]] = {
    ("GET", "/"): Right.HANDSHAKE,
    ("HEAD", "/"): Right.HANDSHAKE,
    ("POST", "/_bulk"): Right.SEND,
    ("PUT", "/_bulk"): Right.SEND,
    ("POST", "/{index}/_bulk"): Right.SEND,
    ("PUT", "/{index}/_bulk"): Right.SEND,
    **dict.fromkeys(_ELASTIC_SETUP, Right.SEND),
    ("POST", "/api/v1/ingest"): Right.SEND,
    # Signed by another server of the cluster.
    ("POST", "/servers/v1/records"): Right.IN_BODY,
    ("POST", "/sensor/v1/enrol"): Right.IN_BODY,
    ("POST", "/sensor/v1/checkin"): Right.SENSOR,
    ("POST", "/sensor/v1/events"): Right.SENSOR,
    ("POST", "/sensor/v1/binaries/offer"): Right.SENSOR,
    ("PUT", "/sensor/v1/binaries/{sha256}"): Right.SENSOR,
    ("GET", "/sensor/v1/packages/{sha256}"): Right.SENSOR,
    ("POST", "/osquery/enroll"): Right.IN_BODY,
    ("POST", "/osquery/config"): Right.IN_BODY,
    ("POST", "/osquery/log"): Right.IN_BODY,
    ("POST", "/osquery/distributed/read"): Right.IN_BODY,
    ("POST", "/osquery/distributed/write"): Right.IN_BODY,
    ("POST", "/api/v1/livequery"): Right.ACT,
    ("GET", "/api/v1/livequery/{query_id}"): Right.READ,
    ("GET", "/healthz"): Right.OPEN,
    ("GET", "/readyz"): Right.OPEN,
    ("GET", "/docs"): Right.OPEN,
    ("GET", "/docs/{file}"): Right.OPEN,
    ("GET", "/openapi.json"): Right.OPEN,
    ("GET", "/metrics"): Right.ADMINISTER,
    ("GET", "/api/info"): Right.READ,
    ("GET", "/api/v1/binary"): Right.READ,
    ("POST", "/api/v1/binary"): Right.READ,
    ("GET", "/api/v1/binary/{md5}"): Right.READ,
    ("GET", "/api/v1/binary/{md5}/icon"): Right.READ,
    ("GET", "/api/v1/binary/{md5}/summary"): Right.READ,
    ("GET", "/api/v1/binary/{md5}/usage"): Right.READ,
    ("GET", "/api/v1/yara"): Right.VIEW,
    ("GET", "/api/v1/yara/{name}"): Right.VIEW,
    ("PUT", "/api/v1/yara/{name}"): Right.ADMINISTER,
    ("DELETE", "/api/v1/yara/{name}"): Right.ADMINISTER,
    ("POST", "/api/v1/binary/file"): Right.ADMINISTER,
    ("GET", "/api/v1/binary/{md5}/request"): Right.READ,
    ("POST", "/api/v1/binary/{md5}/request"): Right.ACT,
    ("DELETE", "/api/v1/binary/{md5}/request"): Right.ACT,
    ("GET", "/api/v1/process/host/count"): Right.READ,
    ("GET", "/api/v1/process"): Right.READ,
    ("POST", "/api/v1/process"): Right.READ,
    ("GET", "/api/v1/query/explain"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/segment"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/tree"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/timeline"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/{segment_id}"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/{segment_id}/preview"): Right.READ,
    ("GET", "/api/v1/process/{process_id}/{segment_id}/threat_intel_hits"): Right.READ,
    ("GET", "/api/v2/process/{process_id}/{segment_id}"): Right.READ,
    ("GET", "/api/v{version}/process/{process_id}/{segment_id}/event"): Right.READ,
    ("POST", "/api/v6/process/stream"): Right.READ,
    ("GET", "/api/v6/process/stream/{stream_id}"): Right.READ,
    ("PATCH", "/api/v6/process/stream/{stream_id}"): Right.READ,
    ("POST", "/api/v6/process/stream/{stream_id}"): Right.READ,
    ("GET", "/api/v6/process/suppression_status"): Right.READ,
    ("GET", "/api/v6/process/{process_id}/{segment_id}/segment"): Right.READ,
    ("GET", "/api/v6/process/{process_id}/{segment_id}/bulk"): Right.READ,
    ("GET", "/api/v6/process/{process_id}/metadata"): Right.READ,
    ("GET", "/api/v6/process/{process_id}/{segment_id}/verify"): Right.READ,
    ("GET", "/api/v1/sensor"): Right.READ,
    ("GET", "/api/v1/sensor/statistics"): Right.READ,
    ("GET", "/api/v1/sensor/{sensor_id}"): Right.READ,
    ("PUT", "/api/v1/sensor/{sensor_id}"): Right.ACT,
    ("PUT", "/api/v1/sensor"): Right.ACT,
    ("GET", "/api/v1/sensor/{sensor_id}/queued"): Right.READ,
    ("GET", "/api/v1/sensor/{sensor_id}/activity"): Right.READ,
    ("GET", "/api/v1/sensor/{sensor_id}/resourcestatus"): Right.READ,
    ("GET", "/api/v1/sensor/{sensor_id}/enrolment"): Right.READ,
    ("POST", "/api/v1/sensor/{sensor_id}/enrolment"): Right.ADMINISTER_GROUP,
    ("GET", "/api/v2/sensor"): Right.READ,
    ("GET", "/api/v1/hostalias"): Right.ADMINISTER,
    ("POST", "/api/v1/hostalias"): Right.ADMINISTER,
    ("DELETE", "/api/v1/hostalias/{alias}"): Right.ADMINISTER,
    **{
        (method, path): right
        for routes in (
            *(_FILTERS, _BANS, _FEEDS, _WATCHLISTS, _SIGMA, _ACTIONS, _NOTIFY),
            *(_PLACES, _GROUP_PARTS),
            *(_ACCOUNTS, _APPROVED, _ALERTS, _IDENTITY),
        )
        for method, path, right in routes
    },
    **dict.fromkeys(CLOUD_PERMISSIONS, Right.PERMISSION),
    ("GET", "/api/v1/token"): Right.READ,
    ("POST", "/api/v1/token"): Right.READ,
    ("POST", "/api/v1/session"): Right.IN_BODY,
    ("GET", "/api/v1/session"): Right.READ,
    ("DELETE", "/api/v1/session"): Right.READ,
    ("GET", "/api/v1/session/list"): Right.READ,
    ("GET", "/api/v1/me/preferences"): Right.READ,
    ("PUT", "/api/v1/me/preferences"): Right.READ,
    ("PUT", "/api/v1/me/password"): Right.READ,
    ("GET", "/api/v1/saved_search"): Right.READ,
    ("POST", "/api/v1/saved_search"): Right.READ,
    ("DELETE", "/api/v1/saved_search/{search_id}"): Right.READ,
    ("POST", "/api/v1/export"): Right.READ,
    ("POST", "/api/v1/permalink"): Right.READ,
    ("GET", "/api/v1/permalink/{link_id}"): Right.READ,
    ("POST", "/api/v1/csp-report"): Right.OPEN,
    ("GET", "/api/v1/pulse"): Right.READ,
    ("GET", "/api/v1/lookup"): Right.READ,
    ("GET", "/api/v1/fields"): Right.READ,
    ("GET", "/api/v1/query/suggest"): Right.READ,
    ("DELETE", "/api/v1/session/{session_id}"): Right.READ,
    ("POST", "/api/v1/secondfactor"): Right.READ,
    ("PUT", "/api/v1/secondfactor"): Right.READ,
    ("DELETE", "/api/v1/secondfactor"): Right.READ,
    ("DELETE", "/api/v1/token/{token_id}"): Right.READ,
    ("GET", "/api/v1/audit"): Right.ADMINISTER,
    ("POST", "/api/v1/backup/snapshot"): Right.ADMINISTER,
    ("DELETE", "/api/v1/backup/snapshot/{snapshot_id}"): Right.ADMINISTER,
    ("GET", "/api/v1/dashboard/statistics"): Right.READ,
    ("GET", "/api/builds"): Right.READ,
    ("GET", "/api/v1/builds"): Right.READ,
    ("GET", "/api/v2/builds"): Right.READ,
    ("GET", "/api/v1/completeness"): Right.READ,
    ("GET", "/api/v1/completeness/certificate"): Right.READ,
    ("GET", "/api/v1/doctor"): Right.ADMINISTER,
    ("GET", "/api/v1/user/{username}/effective"): Right.READ,  # their own
    ("GET", "/api/v1/health/summary"): Right.ADMINISTER,
    ("GET", "/api/v1/health/refused"): Right.ADMINISTER,
    ("GET", "/api/v1/storage/events/partition"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/new_partition"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/{partition_name}/mount"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/{partition_name}/unmount"): Right.ADMINISTER,
    ("DELETE", "/api/v1/storage/events/{partition_name}"): Right.ADMINISTER,
}
"""Every route, by method and path template."""

READING_POSTS: Final = frozenset(
    {
        ("POST", "/api/v1/binary"),
        ("POST", "/api/v1/process"),
        ("POST", "/api/v2/alert"),
        ("POST", "/api/v2/alert/group"),
        ("POST", "/api/v1/alert/suppression/preview"),
        ("POST", "/api/v1/watchlist/preview"),
        ("POST", "/api/v1/sigma/test"),
        ("POST", "/api/v1/export"),  # notes what was read
        # A stream is a place in what is read, and nobody else's.
        ("POST", "/api/v6/process/stream"),
        ("PATCH", "/api/v6/process/stream/{stream_id}"),
        ("POST", "/api/v6/process/stream/{stream_id}"),
    }
)
"""Routes that change nothing though their method says otherwise: open to read-only tokens."""

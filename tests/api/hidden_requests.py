"""Requests that are compared explicitly with and without hidden data: searches, POST requests that
read, and changes of hidden objects. GET routes are enumerated automatically."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

CLOUD_ALERTS = "/api/alerts/v7/orgs/{org_key}"
CLOUD_DEVICES = "/appservices/v6/orgs/{org_key}/devices"
RULE_ID = "5c1f0a52-4a3e-4a56-9a33-0000000000aa"
RULE = f"""title: Somebody asks, says the rule
id: {RULE_ID}
level: high
logsource: {{product: windows, category: process_creation}}
detection:
  selection:
    Image|endswith: \\whoami.exe
  condition: selection
"""
WHOAMI = "process_name:whoami.exe"
PROCESS_FACETS = (
    "process_md5",
    "hostname",
    "group",
    "path_full",
    "parent_name",
    "process_name",
    "day_of_week",
    "start",
    "host_type",
    "username_full",
    "hour_of_day",
)
BINARY_FACETS = ("digsig_publisher", "digsig_result", "observed_filename", "hostname", "group")
CLOUD_FACETS = ["type", "device_name", "reason", "severity", "policy_id", "process_name"]
ALERT_FACETS = ("status", "hostname", "group", "username", "feed_name", "watchlist_name", "title")
AN_HOUR = [
    (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:00:00Z") for hours in (3, 2)
]
"""That is over: one that ends so long ago would move with the clock."""
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/process", {"q": "", "facet": "true", "facet.field": PROCESS_FACETS, "rows": 50}),
    ("/api/v1/process", {"q": "whoami", "sort": "process_name asc", "rows": 50}),
    ("/api/v1/process", {"q": "cmdline:power*", "svc.group": "hostname"}),
    ("/api/v1/process", {"q": "-hostname:nosuch", "rows": 0}),
    ("/api/v1/process", {"q": "alliance_score_thefeed:[1 TO *]"}),
    ("/api/v1/process", {"q": f"md5:{'ab' * 16} OR md5:{'cd' * 16}"}),
    ("/api/v1/process", {"q": "group:hidden*"}),
    ("/api/v1/process", {"q": "hostname:hidden*"}),
    ("/api/v1/process", {"q": "host_count:[2 TO *]"}),
    ("/api/v1/process", {"q": "digsig_result_modload:Signed"}),
    ("/api/v1/process", {"q": "hostname:("}),
    ("/api/v1/query/explain", {"q": WHOAMI}),
    ("/api/v1/query/explain", {"q": "cmdline:*secret*"}),
    ("/api/v1/process/host/count", {"name": "md5", "md5": "ab" * 16}),
    ("/api/v1/process/host/count", {"name": "md5", "md5": "cd" * 16}),
    (
        "/api/v1/hit",
        {"q": "", "facet": "true", "facet.field": ["hostname", "rule_name", "outcome"], "rows": 50},
    ),
    ("/api/v1/hit", {"q": "hostname:hidden*"}),
    ("/api/v1/log", {"q": "", "facet": "true", "rows": 50}),
    ("/api/v1/log", {"q": "hostname:hidden*"}),
    ("/api/v1/binary", {"q": "", "facet": "true", "facet.field": BINARY_FACETS, "rows": 50}),
    ("/api/v1/binary", {"q": "host_count:[2 TO *]"}),
    ("/api/v1/binary", {"q": "sort", "sort": "host_count desc"}),
    ("/api/v2/alert", {"q": "", "facet": "true", "facet.field": ALERT_FACETS, "rows": 50}),
    ("/api/v1/log", {"q": "", "facet": "true", "svc.histogram": "time", "rows": 50}),
    ("/api/v1/log/explain", {"q": "hostname:hidden* OR somebody"}),
    ("/api/v1/alert", {"q": "title:somebody", "sort": "alert_severity desc"}),
    ("/api/v2/alert/group", {"group.field": "host"}),
    ("/api/v2/alert/group", {"group.field": "source"}),
    ("/api/v2/alert/group", {"by": "rule,host,user", "rows": 50}),
    ("/api/v1/sensor", {"hostname": "hidden"}),
    ("/api/v1/sensor", {"groupid": "999"}),
    ("/api/v2/sensor", {"rows": "2", "sort.col": "computer_name", "sort.dir": "desc"}),
    ("/api/v2/sensor", {"q": "last_seen:* OR group:*", "sort.col": "id"}),
    ("/api/v6/process/suppression_status", {"process_id": "{process_id}", "segment_id": "1"}),
    ("/api/v1/threat_report", {"q": ""}),
    ("/api/v1/sigma", {"q": "somebody"}),
    ("/api/v1/lookup", {"value": "ab" * 16}),
    ("/api/v1/lookup", {"value": "whoami.exe"}),
    ("/api/v1/query/suggest", {"q": "hostname:", "at": "9"}),
    ("/api/v1/completeness", {"from": AN_HOUR[0], "to": AN_HOUR[1]}),
]
POSTS: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/process", {"q": ["whoami"], "rows": 50}),
    ("/api/v1/hit", {"q": [""], "rows": 50}),
    ("/api/v1/log", {"q": [""], "rows": 50}),
    ("/api/v1/binary", {"q": [""], "rows": 50}),
    ("/api/v2/alert", {"q": "", "rows": 50}),
    ("/api/v2/alert/group", {"group.field": "title"}),
    ("/api/v1/export", {"view": "process", "format": "csv"}),
    ("/api/v1/alert/suppression/preview", {"query": "title:somebody"}),
    (
        "/api/v1/watchlist/preview",
        {"search_query": "q=" + WHOAMI, "from": "2020-01-01", "to": "2099-01-01"},
    ),
    ("/api/v1/sigma/test", {"text": RULE, "from": "2020-01-01", "to": "2099-01-01"}),
    (f"{CLOUD_ALERTS}/alerts/_search", {"rows": 50}),
    (f"{CLOUD_ALERTS}/alerts/_search", {"query": "device_name:hidden*", "rows": 50}),
    (f"{CLOUD_ALERTS}/alerts/_search", {"criteria": {"minimum_severity": 1}, "rows": 1}),
    (f"{CLOUD_ALERTS}/alerts/_facet", {"terms": {"fields": CLOUD_FACETS}}),
    (f"{CLOUD_ALERTS}/grouped_alerts/_facet", {"terms": {"fields": CLOUD_FACETS}}),
    (f"{CLOUD_ALERTS}/alerts/_group_search", {"rows": 50}),
    (f"{CLOUD_ALERTS}/grouped_alerts/_search", {"rows": 50}),
    (f"{CLOUD_DEVICES}/_search", {"rows": 50}),
    (f"{CLOUD_DEVICES}/_search", {"query": "hidden", "rows": 50}),
    (f"{CLOUD_DEVICES}/_scroll", {"rows": 50}),
    (f"{CLOUD_DEVICES}/_facet", {"terms": {"fields": ["os", "status", "policy_id"]}}),
]
NOT_THERE = (
    "/ui/x/y",
    "/ui/jobs/1",
    "/ui/s/{link_id}",
    "/ui/_/home/storage",
    "/ui/_/home/changes",
    "/ui/_/home/health",
)
"""Pages that are not there, or for global administrators."""
NOT_POSTED = {
    "/api/v6/process/stream": "each answer has another id; the stream is read with GET",
    "/api/v6/process/stream/{stream_id}": "ends the stream, which is read with GET",
    f"{CLOUD_DEVICES}/_export": "makes one more job each time; that of the world is downloaded",
}
TIMES = re.compile(
    r'"(elapsed|\w+_ms|seconds|weight|risk|last_used|search_timestamp)": ?("[^"]*"|[\d.e-]+)'
    r'|"time":"[^"]*"(?=}$)'
)
"""Members that say when something was, how long it took, and the risk, which fades with time."""
NEVER = {
    "{process_id}": "00ffffff-0000-0000-0000-000000000000",
    "{sensor_id}": "99999",
    "{device_id}": "99999",
    "{alert_id}": "ab" * 16,
    "{group_id}": "99999",
    "{watchlist_id}": "99999",
    "{md5}": "fe" * 16,
}
CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/api/v1/sensor/{sensor_id}", {"notes": "n"}),
    ("PUT", "/api/v1/sensor/$own", {"group_id": "{group_id}"}),
    ("POST", "/api/v1/sensor/{sensor_id}/enrolment", {"approve": True}),
    ("POST", "/api/v1/alert/{alert_id}", {"status": "Resolved"}),
    ("POST", "/api/v2/alert/{alert_id}", {"notes": "n"}),
    ("POST", "/api/v1/livequery", {"sensor_ids": ["{sensor_id}"], "sql": "select 1"}),
    ("POST", "/api/v6/process/stream", {"process_id": "{process_id}", "segment_id": 0}),
    ("POST", "/api/v1/watchlist", {"name": "n", "search_query": "q=a", "group_id": "{group_id}"}),
    ("PUT", "/api/v1/watchlist/{watchlist_id}", {"name": "n"}),
    ("DELETE", "/api/v1/watchlist/{watchlist_id}", {}),
    ("PUT", "/api/v1/watchlist/{watchlist_id}/action_type/alert", {"enabled": True}),
    ("POST", "/api/v1/watchlist/{watchlist_id}/action", {"action_type": 3}),
    ("POST", f"{CLOUD_ALERTS}/alerts/{{alert_id}}/notes", {"note": "n"}),
]

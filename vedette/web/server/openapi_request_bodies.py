"""Request bodies of the routes for `/openapi.json`.

Routes decode their bodies by hand, so the framework cannot derive them. Routes not listed here take
no body.
"""

from collections.abc import Mapping
from typing import Final

from vedette.web.accounts.cloud_openapi import IDENTITY_BODIES, IDENTITY_FORMS
from vedette.web.alerts.cloud_alerts_openapi import CLOUD_ALERTS_BODIES
from vedette.web.forwarding.openapi import FORWARDERS_BODIES
from vedette.web.json.terms import OBJECT, TEXT, Schema, alike, listing, mapping, reference
from vedette.web.processes.search_body_json import FORM

Route = tuple[str, str]

OBJECTS: Final[Schema] = listing(OBJECT)
BYTES: Final[Schema] = {"type": "string", "format": "binary"}


def _object(required: tuple[str, ...] = (), /, **members: Schema) -> Schema:
    """Returns the schema of an object that may have further members."""
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": True}
    return schema | {"required": list(required)} if required else schema


_FLAG: Final[Schema] = {"type": "boolean"}
_NUMBER: Final[Schema] = {"type": "integer"}
_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}

_SAID_OF_ORDERS: Final = ("notes", "reason", "isolation_reason", "isolation_expires")

_SENSOR_CHANGES: Final = _object(
    network_isolation_enabled=_FLAG,
    restart_queued=_FLAG,
    uninstall=_FLAG,
    liveresponse_init=_FLAG,
    group_id=_NUMBER,
    **alike(_SAID_OF_ORDERS, {"type": ["string", "null"]}),
    event_log_flush_time={"type": ["string", "null"]},
)
_SENSORS_CHANGES: Final = _object(
    ("ids",),
    ids={"type": "array", "items": _NUMBER},
    **alike(("network_isolation_enabled", "restart_queued", "uninstall", "dry_run"), _FLAG),
    group_id=_NUMBER,
    **alike(_SAID_OF_ORDERS, {"type": ["string", "null"]}),
    event_log_flush_time={"type": ["string", "null"]},
)
_FILTERS: Final[Schema] = {"oneOf": [OBJECT, OBJECTS]}
_SAMPLE: Final = _object(
    **alike(("path", "cmdline", "md5", "parent_path", "parent_cmdline", "parent_md5"), TEXT),
    kind={"enum": ["", "regmod", "modload", "filemod", "netconn", "crossproc"]},
    value=TEXT,
)
_SEARCH: Final = _object(q={"oneOf": [TEXT, _TEXTS]}, rows=_NUMBER, start=_NUMBER, sort=TEXT)
_SEARCHES: Final[tuple[Route, ...]] = tuple(
    ("POST", path)
    for path in (
        "/api/v1/binary",
        "/api/v1/hit",
        "/api/v1/log",
        "/api/v1/process",
        "/api/v2/alert",
        "/api/v2/alert/group",
    )
)
"""Searches, whose parameters may be JSON or a form."""
_ALERT_CHANGE: Final = _object(unique_id=TEXT, status=TEXT, assigned_to=TEXT, notes=TEXT)
_FILES_OF_RULES: Final = listing(_object(("name", "text"), name=TEXT, text=TEXT))
_NODE: Final = _object(("node_key",), node_key=TEXT)

_PROVIDER: Final = _object(
    **alike(("name", "issuer", "client_id", "client_secret", "label", "scope"), TEXT),
    **alike(("username_claim", "team_claim"), TEXT),
    **alike(("creates_users", "enabled"), _FLAG),
    teams=listing(_object(("value", "team_id"), value=TEXT, team_id=_NUMBER)),
)
_USER: Final = _object(
    username=TEXT,
    first_name=TEXT,
    last_name=TEXT,
    email=TEXT,
    password=TEXT,
    global_admin=_FLAG,
    enabled=_FLAG,
    teams={"type": "array", "items": {"type": ["integer", "object"]}},
)
_TEAM: Final = _object(name=TEXT, enabled=_FLAG, group_access=listing(OBJECT))
_APPROVED: Final = ("/approvedlist", "/api/v1/approvedlist", "/api/v1/whitelist")
_APP_CONTROL: Final = _object(
    server_url=TEXT,
    ssl_certificate_verify={"type": ["boolean", "string"]},
    watchlist_export={"type": ["boolean", "string"]},
    auth_token=TEXT,
)
_IDS: Final = _object(ids={"type": "array", "items": _NUMBER}, target=TEXT)

_NULLABLE_TEXT: Final[Schema] = {"type": ["string", "null"]}
_NULLABLE_FLAG: Final[Schema] = {"type": ["boolean", "null"]}
_NULLABLE_NUMBER: Final[Schema] = {"type": ["number", "null"]}
_REPORT_UPDATE: Final = _object(
    ("updates",),
    ids=mapping(_TEXTS),
    query=TEXT,
    updates=_object(("is_ignored",), is_ignored=_FLAG),
    allow_all=_FLAG,
)

_JSON_BODIES: Final[Mapping[Route, Schema]] = {
    ("POST", "/api/v1/feed/{feed_id}/synchronize"): _object(full_sync=_FLAG),
    ("POST", "/api/v1/threat_report"): _REPORT_UPDATE,
    ("POST", "/api/v1/outbox/retry"): _IDS,
    ("POST", "/api/v1/outbox/discard"): _IDS,
    ("POST", "/api/v1/outbox/test"): _object(("target",), target=TEXT),
    ("PUT", "/api/v1/settings/global/platformserver"): _APP_CONTROL,
    ("POST", "/api/v1/settings/global/platformserver"): _APP_CONTROL,
    ("POST", "/sensor/v1/enrol"): reference("Enrolment"),
    ("POST", "/sensor/v1/checkin"): reference("Checkin"),
    ("POST", "/sensor/v1/binaries/offer"): reference("Offer"),
    ("POST", "/osquery/enroll"): _object(
        ("enroll_secret",), enroll_secret=TEXT, host_identifier=TEXT, host_details=OBJECT
    ),
    ("POST", "/osquery/config"): _NODE,
    ("POST", "/osquery/log"): _NODE,
    ("POST", "/osquery/distributed/read"): _NODE,
    ("POST", "/osquery/distributed/write"): _NODE,
    ("POST", "/api/v1/livequery"): _object(
        ("sensor_ids", "sql"), sensor_ids={"type": "array", "items": _NUMBER}, sql=TEXT
    ),
    **dict.fromkeys(_SEARCHES, _SEARCH),
    ("POST", "/api/v1/alert/{alert_id}"): _ALERT_CHANGE,
    ("POST", "/api/v2/alert/{alert_id}"): _ALERT_CHANGE,
    ("POST", "/api/v1/alerts"): _object(
        **alike(("alert_ids", "except_ids"), _TEXTS),
        **alike(("query", "requested_status", "assigned_to", "notes", "comment"), TEXT),
        **alike(("set_ignored", "dry_run", "allow_all"), _FLAG),
        snapshot=TEXT,
        expected=_NUMBER,
    ),
    ("POST", "/api/v1/alert/{alert_id}/note"): _object(("text",), text=TEXT),
    ("POST", "/api/v6/process/stream"): _object(
        ("process_id", "segment_id"),
        process_id=TEXT,
        segment_id={"type": ["integer", "string"]},
        persistent={"type": ["boolean", "null"]},
    ),
    ("PATCH", "/api/v6/process/stream/{stream_id}"): _object(
        ("criteria",), criteria=mapping(listing({"type": ["string", "integer"]}))
    ),
    ("PUT", "/api/v1/sensor/{sensor_id}"): _SENSOR_CHANGES,
    ("PUT", "/api/v1/sensor"): _SENSORS_CHANGES,
    ("POST", "/api/v1/sensor/{sensor_id}/enrolment"): _object(
        ("approve",), approve=_FLAG, machine_id=_NULLABLE_TEXT
    ),
    **{
        (method, base + path): body
        for base in ("/api", "/api/v1")
        for method, path, body in (
            ("POST", "/user", _USER),
            ("PUT", "/user/{username}", _USER),
            ("POST", "/team", _TEAM),
            ("PUT", "/team/{team_id}", _TEAM),
            ("POST", "/license", _object(("license",), license=TEXT)),
        )
    },
    **{
        (method, base + path): body
        for base in _APPROVED
        for method, path, body in (
            ("POST", "/entries", _object(("ipaddr",), ipaddr={"oneOf": [TEXT, _TEXTS]})),
            ("PATCH", "/enabled", _object(("state",), state=_FLAG)),
        )
    },
    ("POST", "/api/v1/session"): _object(**alike(("username", "password", "link", "code"), TEXT)),
    ("PUT", "/api/v1/me/preferences"): OBJECT,
    ("PUT", "/api/v1/me/password"): _object(
        ("password", "new_password"), password=TEXT, new_password=TEXT
    ),
    ("POST", "/api/v1/csp-report"): {"oneOf": [OBJECT, OBJECTS]},
    ("POST", "/api/v1/secondfactor"): _object(("password",), password=TEXT),
    ("PUT", "/api/v1/secondfactor"): _object(("code",), code=TEXT),
    ("DELETE", "/api/v1/secondfactor"): _object(("password",), password=TEXT),
    ("POST", "/api/v1/token"): _object(
        name=TEXT, user=TEXT, group_id=_NUMBER, expires_days=_NUMBER, scope=TEXT
    ),
    ("POST", "/api/v1/watchlist/preview"): _object(
        ("search_query",), **alike(("search_query", "index_type", "from", "to"), TEXT)
    ),
    ("POST", "/api/v1/sigma"): _object(
        (), text=TEXT, files=_FILES_OF_RULES, origin=TEXT, enabled=_FLAG
    ),
    ("PUT", "/api/v1/sigma"): _object(("ids", "enabled"), ids=_TEXTS, enabled=_FLAG),
    ("POST", "/api/v1/sigma/test"): _object(
        (),
        ids=_TEXTS,
        files=_FILES_OF_RULES,
        events=OBJECTS,
        **alike(("text", "origin", "from", "to", "by"), TEXT),
    ),
    ("PUT", "/api/v1/sigma/{rule_id}"): _object(("enabled",), enabled=_FLAG),
    ("PUT", "/api/v1/sigma/placeholder/{name}"): _object(("values",), values=_TEXTS),
    ("POST", "/api/v1/hostalias"): _object(
        ("alias", "hostname"), alias=TEXT, hostname=TEXT, group_id=_NUMBER
    ),
    ("PUT", "/api/v1/hostconflict/{name}"): _object(
        ("owner",), owner={"type": ["integer", "null"]}
    ),
    **{
        ("POST", f"{base}/check"): _object(("filters",), filters=_FILTERS, sample=_SAMPLE)
        for base in ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
    },
    **{
        ("DELETE", f"{base}/legacy"): listing({"anyOf": [TEXT, _object(("id",), id=TEXT)]})
        for base in ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
    },
    ("POST", "/api/v1/identity_provider"): _PROVIDER,
    ("PUT", "/api/v1/identity_provider/{provider_id}"): _PROVIDER,
    ("POST", "/api/v1/identity"): _object(
        ("username", "provider", "subject"), **alike(("username", "provider", "subject"), TEXT)
    ),
    **IDENTITY_BODIES,
    **CLOUD_ALERTS_BODIES,
    **FORWARDERS_BODIES,
}

_OTHER_BODIES: Final[Mapping[Route, tuple[str, Schema]]] = {
    **{
        (method, path): ("application/x-ndjson", TEXT)
        for method in ("POST", "PUT")
        for path in ("/_bulk", "/{index}/_bulk")
    },
    ("POST", "/api/v1/ingest"): ("application/json", {"oneOf": [OBJECT, OBJECTS, TEXT]}),
    ("POST", "/sensor/v1/events"): ("application/x-ndjson", TEXT),
    ("PUT", "/sensor/v1/binaries/{sha256}"): ("application/octet-stream", BYTES),
    **IDENTITY_FORMS,
}


def request_body(method: str, path: str) -> Schema | None:
    """Returns the OpenAPI Request Body of a route; None if it takes none."""
    route = method, path
    if route in _OTHER_BODIES:
        media_type, schema = _OTHER_BODIES[route]
    elif route in _JSON_BODIES:
        media_type, schema = "application/json", _JSON_BODIES[route]
    else:
        return None
    media_types = (media_type, FORM) if route in _SEARCHES else (media_type,)
    return {"required": True, "content": {one: {"schema": schema} for one in media_types}}

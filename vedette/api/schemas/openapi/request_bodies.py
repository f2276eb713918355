"""Request bodies of the routes for `/openapi.json`.

Routes decode their bodies by hand, so the framework cannot derive them. What is not named here
takes no body.
"""

from collections.abc import Mapping
from typing import Final

from vedette.api.schemas.openapi.terms import OBJECT, TEXT, Schema, listing, mapping, reference

Route = tuple[str, str]

OBJECTS: Final[Schema] = listing(OBJECT)
BYTES: Final[Schema] = {"type": "string", "format": "binary"}


def _object(required: tuple[str, ...] = (), **members: Schema) -> Schema:
    """An object that may have further members."""
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": True}
    return schema | {"required": list(required)} if required else schema


_FLAG: Final[Schema] = {"type": "boolean"}
_NUMBER: Final[Schema] = {"type": "integer"}
_TEXTS: Final[Schema] = {"type": "array", "items": TEXT}

_SENSOR_CHANGES: Final = _object(
    network_isolation_enabled=_FLAG,
    restart_queued=_FLAG,
    uninstall=_FLAG,
    liveresponse_init=_FLAG,
    group_id=_NUMBER,
    notes={"type": ["string", "null"]},
    event_log_flush_time={"type": ["string", "null"]},
)
_BAN: Final = _object(md5hash=TEXT, text={"type": ["string", "null"]}, enabled=_FLAG)
_NAMED: Final = _object(name=TEXT)
_FILTERS: Final[Schema] = {"oneOf": [OBJECT, OBJECTS]}
_SEARCH: Final = _object(q={"oneOf": [TEXT, _TEXTS]}, rows=_NUMBER, start=_NUMBER, sort=TEXT)
_NODE: Final = _object(("node_key",), node_key=TEXT)

_JSON_BODIES: Final[Mapping[Route, Schema]] = {
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
    ("POST", "/api/v1/binary"): _SEARCH,
    ("POST", "/api/v1/process"): _SEARCH,
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
    ("POST", "/api/v1/sensor/{sensor_id}/enrolment"): _object(("approve",), approve=_FLAG),
    ("POST", "/api/v1/hostalias"): _object(("alias", "hostname"), alias=TEXT, hostname=TEXT),
    **{
        route: _BAN
        for name in ("bannedlist", "blacklist", "restrictedlist")
        for route in (
            ("POST", f"/api/v1/banning/{name}"),
            ("PUT", f"/api/v1/banning/{name}/{{md5}}"),
        )
    },
    **{
        route: _FILTERS
        for base in ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
        for route in (
            ("POST", base),
            ("PUT", base),
            ("POST", f"{base}/legacy"),
            ("PUT", f"{base}/{{filter_id}}"),
        )
    },
    **{
        route: _NAMED
        for base, part in (
            ("/api/group", "group_id"),
            ("/api/v1/group", "group_id"),
            ("/api/v3/group", "group_id"),
            ("/api/site", "site_id"),
            ("/api/v1/site", "site_id"),
        )
        for route in (("POST", base), ("PUT", f"{base}/{{{part}}}"))
    },
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
}


def request_body(method: str, path: str) -> Schema | None:
    """The OpenAPI Request Body of a route; None where it takes none."""
    route = method, path
    if route in _OTHER_BODIES:
        media_type, schema = _OTHER_BODIES[route]
    elif route in _JSON_BODIES:
        media_type, schema = "application/json", _JSON_BODIES[route]
    else:
        return None
    return {"required": True, "content": {media_type: {"schema": schema}}}

"""Bodies and answers of the routes for `/openapi.json`.

Routes read their bodies by hand and answer bytes, so the framework cannot derive either. What is
not named here takes no body and answers a JSON object with status 200.
"""

from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]
Route = tuple[str, str]

OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
OBJECTS: Final[Schema] = {"type": "array", "items": OBJECT}
TEXT: Final[Schema] = {"type": "string"}
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
    ("POST", "/sensor/v1/enrol"): _object(
        ("secret", "host"), secret=TEXT, host=OBJECT, sensor_version=TEXT, previous_key=TEXT
    ),
    ("POST", "/sensor/v1/checkin"): _object(("clock_us",), clock_us=_NUMBER),
    ("POST", "/sensor/v1/binaries/offer"): _object(("files",), files=OBJECTS),
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

_LISTS: Final[frozenset[Route]] = frozenset(
    {
        ("GET", "/api/v1/sensor"),
        ("GET", "/api/v1/hostalias"),
        *(("GET", f"/api/v1/sensor/{{sensor_id}}/{part}")
          for part in ("queued", "activity", "resourcestatus")),
        *(("GET", f"/api/v1/banning/{name}")
          for name in ("bannedlist", "blacklist", "restrictedlist")),
        *((method, f"{base}{part}")
          for base in ("/api/v1/ingress_approvedlist", "/api/v1/ingress_whitelist")
          for method, part in (("GET", ""), ("GET", "/legacy"), ("POST", ""), ("POST", "/legacy"))),
        *(("GET", f"{base}{part}")
          for base in ("/api/group", "/api/v1/group", "/api/v3/group")
          for part in ("", "/{group_id}", "/{group_id}/datasharing")),
        *(("GET", f"{base}{part}")
          for base in ("/api/site", "/api/v1/site") for part in ("", "/{site_id}")),
    }
)  # fmt: skip

_FILES: Final[Mapping[Route, str]] = {
    ("GET", "/metrics"): "text/plain",
    ("GET", "/_cat/{rest}"): "text/plain",
    ("GET", "/sensor/v1/packages/{sha256}"): "application/octet-stream",
    ("GET", "/api/v1/binary/{md5}"): "application/zip",
    **{
        ("GET", f"{base}/{{group_id}}/installer/{part}"): media_type
        for base in ("/api/group", "/api/v1/group", "/api/v3/group")
        for part, media_type in (
            ("linux", "application/gzip"),
            ("osx", "application/zip"),
            ("windows/exe", "application/zip"),
            ("windows/msi", "application/zip"),
        )
    },
}

_EMPTY: Final[frozenset[Route]] = frozenset({("PUT", "/api/v1/sensor/{sensor_id}")})
"""Routes that answer 204 without a body."""


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


def success(method: str, path: str) -> tuple[str, Schema]:
    """Status and OpenAPI Response of a route's success."""
    route = method, path
    if method == "HEAD":
        return "200", {"description": "Without a body"}
    if route in _EMPTY:
        return "204", {"description": "Done"}
    if route in _FILES:
        schema = TEXT if _FILES[route].startswith("text/") else BYTES
        return "200", _answer(_FILES[route], schema)
    return "200", _answer("application/json", OBJECTS if route in _LISTS else OBJECT)


def _answer(media_type: str, schema: Schema) -> Schema:
    return {"description": "Done", "content": {media_type: {"schema": schema}}}

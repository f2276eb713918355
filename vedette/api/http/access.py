"""Authorization: the table of all routes with the right that each needs, and its enforcement.

`authorize` runs before every handler and before any byte of a body is read. A route that is missing
from `ACCESS` is answered with 500, so that none is open by accident; a test walks the table. Within
a route the caller's scope limits what is visible: every read of the store takes it.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from anyio import to_thread
from fastapi import Request

from vedette.api.http.credentials import Credential, credential_of, is_sensor, sensor_credential
from vedette.api.services import Services, services_of
from vedette.errors import ForbiddenError, UnauthorizedError
from vedette.model.principal import Principal, Role
from vedette.model.scope import Scope
from vedette.state.sensors.key_replacement import KeyKind


class Right(Enum):
    """What a route requires of its caller."""

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
        (f"{base}/legacy", ("GET", "POST")),
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

ACCESS: Final[Mapping[tuple[str, str], Right]] = {
    ("GET", "/"): Right.HANDSHAKE,
    ("HEAD", "/"): Right.HANDSHAKE,
    ("POST", "/_bulk"): Right.SEND,
    ("PUT", "/_bulk"): Right.SEND,
    ("POST", "/{index}/_bulk"): Right.SEND,
    ("PUT", "/{index}/_bulk"): Right.SEND,
    **dict.fromkeys(_ELASTIC_SETUP, Right.SEND),
    ("POST", "/api/v1/ingest"): Right.SEND,
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
    ("GET", "/metrics"): Right.VIEW,
    ("GET", "/api/info"): Right.READ,
    ("GET", "/api/v1/binary"): Right.READ,
    ("POST", "/api/v1/binary"): Right.READ,
    ("GET", "/api/v1/binary/{md5}"): Right.READ,
    ("GET", "/api/v1/binary/{md5}/summary"): Right.READ,
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
        for method, path, right in (*_FILTERS, *_BANS, *_PLACES, *_GROUP_PARTS)
    },
    ("GET", "/api/builds"): Right.READ,
    ("GET", "/api/v1/builds"): Right.READ,
    ("GET", "/api/v2/builds"): Right.READ,
    ("GET", "/api/v1/storage/events/partition"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/new_partition"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/{partition_name}/mount"): Right.ADMINISTER,
    ("POST", "/api/v1/storage/events/{partition_name}/unmount"): Right.ADMINISTER,
    ("DELETE", "/api/v1/storage/events/{partition_name}"): Right.ADMINISTER,
}
"""Every route, by method and path template."""

_WITHOUT_TOKEN: Final = frozenset({Right.OPEN, Right.IN_BODY})


async def authorize(request: Request) -> None:
    """Raise UnauthorizedError or ForbiddenError unless the caller may call this route.

    Leaves the caller (`principal_of`) and their scope (`scope_of`) with the request.
    """
    right = ACCESS[request.method, request.scope["route"].path]
    if right in _WITHOUT_TOKEN or (right is Right.HANDSHAKE and accepts_html(request)):
        return
    services = services_of(request)
    if right is Right.SENSOR and is_sensor(request):
        request.state.principal = await sensor_principal(request, services)
        return
    credential = credential_of(request)
    known = _cached(services, credential)
    if known is None:
        known = await to_thread.run_sync(
            _known, services, credential, limiter=services.authentications
        )
    principal, scope = known
    request.state.principal = principal
    request.state.scope = scope
    if not may(principal, right):
        raise ForbiddenError(f"{principal.name} may not do this")


def may(principal: Principal, right: Right) -> bool:
    """Whether a known caller has a right."""
    match right:
        case Right.OPEN | Right.IN_BODY:
            return True
        case Right.SENSOR:
            return principal.kind == "sensor"
        case Right.SEND | Right.HANDSHAKE:
            return principal.kind == "ingest" or principal.is_global_admin
        case Right.READ:
            return principal.kind == "user"
        case Right.VIEW:
            return principal.kind == "user" and principal.highest_role >= Role.VIEWER
        case Right.ADMINISTER_GROUP:
            return principal.kind == "user" and principal.highest_role >= Role.ADMINISTRATOR
        case Right.ACT:
            return principal.kind == "user" and principal.highest_role >= Role.ANALYST
        case Right.ADMINISTER:
            return principal.kind == "user" and principal.is_global_admin


async def sensor_principal(request: Request, services: Services) -> Principal:
    """The sensor whose key a request carries. Raises UnauthorizedError."""
    sensor_id, key = sensor_credential(request)
    principal = await known_sensor(services, sensor_id, key, "sensor")
    if principal is None:
        raise UnauthorizedError("the sensor's key is unknown or has ended: enrol again")
    return principal


async def known_sensor(
    services: Services, sensor_id: int, key: str, kind: KeyKind
) -> Principal | None:
    """The sensor of a key, None for an unknown key."""
    keys, now_us = services.sensor_keys, services.clock.now_us()
    return keys.cached(sensor_id, key, kind, now_us) or await to_thread.run_sync(
        keys.authenticate, sensor_id, key, kind, now_us, limiter=services.authentications
    )


def accepts_html(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def principal_of(request: Request) -> Principal:
    principal = request.state.principal
    assert isinstance(principal, Principal)
    return principal


async def scope_of_request(request: Request) -> Scope:
    """The caller's scope, for routes. A coroutine, because the framework runs plain dependencies in
    a thread each."""
    return scope_of(request)


def scope_of(request: Request) -> Scope:
    scope = request.state.scope
    assert isinstance(scope, Scope)
    return scope


def _cached(services: Services, credential: Credential) -> tuple[Principal, Scope] | None:
    """`_known` from the caches alone, for the event loop; None on a cache miss."""
    principal = services.tokens.cached(credential.secret, credential.token_id)
    scope = None if principal is None else services.scopes.cached(principal)
    return None if principal is None or scope is None else (principal, scope)


def _known(services: Services, credential: Credential) -> tuple[Principal, Scope]:
    principal = services.tokens.authenticate(credential.secret, credential.token_id)
    if principal is None:
        raise UnauthorizedError("the token is unknown, revoked or expired")
    return principal, services.scopes.of(principal)

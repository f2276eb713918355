"""Authorization: whether a caller may call a route (`route_rights.py`).

`authorize` runs before every handler and before any byte of a body is read. A route that is missing
from `ACCESS` is answered with 500, so that none is open by accident; a test walks the table. Within
a route the caller's scope limits what is visible: every read of the store takes it.
"""

from collections.abc import Mapping
from typing import Final

from anyio import to_thread
from fastapi import Request

from vedette.api.http.client_address import client_address, is_of_this_machine
from vedette.api.http.cloud_rights import CLOUD_PERMISSIONS
from vedette.api.http.credentials import Credential, credential_of, is_sensor, sensor_credential
from vedette.api.http.pages import pages_of
from vedette.api.http.route_rights import ACCESS, READING_POSTS, Right
from vedette.api.request_rates import FAILURES
from vedette.api.services import Services, services_of
from vedette.errors import BusyError, ForbiddenError, NotFoundError, UnauthorizedError
from vedette.model.permission import Groups, groups_with
from vedette.model.principal import Principal, PrincipalKind, Role
from vedette.model.scope import Scope
from vedette.state.accounts.sign_in import network_of
from vedette.state.db.author import (
    OPERATOR_HEADER,
    Author,
    AuthorKind,
    read_operator,
    set_author,
)
from vedette.state.sensors.key_replacement import KeyKind

_AUTHOR_KINDS: Final[Mapping[PrincipalKind, AuthorKind]] = {
    "user": "user",
    "ingest": "token",
    "sensor": "sensor",
    "app": "token",
}

_FROM_ANYWHERE: Final = frozenset({"ingest", "sensor"})
"""Kinds of callers whose addresses nobody approves: sensors and senders of telemetry."""

_UNCOUNTED: Final = frozenset({Right.SENSOR, Right.SEND, Right.HANDSHAKE})
"""Rights of routes that take telemetry, of which there is no rate: queues bound it."""

_OF_SENDERS: Final = frozenset({Right.SEND, Right.HANDSHAKE})

_OF_PEOPLE: Final = frozenset({Right.READ, Right.VIEW, Right.ACT, Right.ADMINISTER})
"""Rights whose GET routes return no secret: what needs `ADMINISTER_GROUP` holds those of
enrolment."""

_WITHOUT_TOKEN: Final = frozenset({Right.OPEN, Right.IN_BODY})


async def authorize(request: Request) -> None:
    """Raise UnauthorizedError or ForbiddenError unless the caller may call this route.

    Leaves the caller (`principal_of`) and their scope (`scope_of`) with the request.
    """
    route = request.method, request.scope["route"].path
    right = _right(request)
    if right in _WITHOUT_TOKEN or (right is Right.HANDSHAKE and accepts_html(request)):
        return
    services = services_of(request)
    if right is Right.SENSOR and is_sensor(request):
        request.state.principal = await sensor_principal(request, services)
        set_author(_author(request, request.state.principal))
        return
    credential = credential_of(request)
    if credential.is_basic and right not in _OF_SENDERS:
        raise UnauthorizedError(
            "Basic is for senders of telemetry: send the token as X-Auth-Token or Bearer",
            reason="basic_not_accepted",
        )
    principal = _cached(services, credential) or await _looked_up(request, services, credential)
    if principal.is_session is not credential.is_session:
        raise UnauthorizedError("the secret of a session is good in its cookie, no other is")
    request.state.principal = principal
    set_author(_author(request, principal))
    if principal.kind not in _FROM_ANYWHERE:
        check_address(request, services, principal.token_id)
    groups = _groups(principal, route)
    if not may(principal, right) or (right is Right.PERMISSION and not _suffices(groups, route)):
        raise ForbiddenError(f"{principal.name} may not do this")
    if principal.is_read_only and not reads_only(right, *route):
        raise ForbiddenError("this token may only read", reason="token_reads_only")
    if request.path_params.get("org_key", services.settings.org_key) != services.settings.org_key:
        raise NotFoundError("there is no such organization")
    request.state.scope = services.scopes.cached_groups(groups) or await to_thread.run_sync(
        services.scopes.of_groups, groups, limiter=services.authentications
    )
    if right not in _UNCOUNTED:
        _check_rate(services, principal)


def _groups(principal: Principal, route: tuple[str, str]) -> Groups:
    """The sensor groups that a caller sees through a route."""
    permission = CLOUD_PERMISSIONS.get(route)
    return principal.visible_groups if permission is None else groups_with(principal, permission)


def _suffices(groups: Groups, route: tuple[str, str]) -> bool:
    """Whether a permission in some groups is enough for a route: what belongs to no group needs it
    in all of them, also where there is one only."""
    return groups is None if CLOUD_PERMISSIONS[route].is_global else groups != frozenset()


def _right(request: Request) -> Right:
    """What a route requires; KeyError where nobody said."""
    key = request.method, request.scope["route"].path
    if key not in ACCESS and (pages := pages_of(request)) is not None:
        return pages.access[key]
    return ACCESS[key]


def may(principal: Principal, right: Right) -> bool:
    """Whether a known caller has a right."""
    match right:
        case Right.OPEN | Right.IN_BODY:
            return True
        case Right.PERMISSION:
            return principal.kind in ("user", "app")
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


def reads_only(right: Right, method: str, path: str) -> bool:
    """Whether a route changes nothing and returns no secret: a read-only token may call it."""
    if right is Right.PERMISSION:
        return CLOUD_PERMISSIONS[method, path].reads
    if right not in _OF_PEOPLE:
        return False
    return method in ("GET", "HEAD") or (method, path) in READING_POSTS


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


def _author(request: Request, principal: Principal) -> Author:
    """Who the audit log names for what this request changes. A command on this machine says who
    typed it; that is believed of the server's own tokens alone, which root and the server's account
    can read. Raises BadRequestError where they say it wrongly."""
    services = services_of(request)
    kind, name = _AUTHOR_KINDS[principal.kind], principal.name
    address = client_address(request, services.settings.trusted_proxies)
    typed_by = request.headers.get(OPERATOR_HEADER)
    if typed_by is not None and _is_own(request, services, principal.token_id, address):
        kind, name = "command", read_operator(typed_by)
    return Author(kind, name, address, getattr(request.state, "request_id", ""))


def _is_own(request: Request, services: Services, token_id: str, address: str) -> bool:
    """Whether a request is one of a command on this machine, with a token of `server.json`."""
    own = services.approved_addresses.own_tokens
    return token_id in own and is_of_this_machine(request, address)


def check_address(request: Request, services: Services, token_id: str = "") -> None:
    """Raises ForbiddenError for an address that is not approved, while approving is on. The
    server's own tokens are good on its machine all the same."""
    address = client_address(request, services.settings.trusted_proxies)
    if _is_own(request, services, token_id, address):
        return
    if not services.approved_addresses.allow(address):
        raise ForbiddenError(
            f"requests from {address or 'this address'} are not approved: an administrator has "
            "to add it to the approved list",
            reason="address_not_approved",
        )


def _check_rate(services: Services, principal: Principal) -> None:
    """Raises BusyError for a token that makes more requests than the settings allow."""
    per_minute = services.settings.requests_per_minute
    if not services.rates.take(principal.token_id, per_minute, services.clock.now_us()):
        raise BusyError(
            f"this token makes more than {per_minute:,} requests a minute",
            reason="too_many_requests",
        )


async def _looked_up(request: Request, services: Services, credential: Credential) -> Principal:
    """`_known` off the event loop. What fails is counted by address: BusyError above the limit,
    while good tokens from the same address go on."""
    address = client_address(request, services.settings.trusted_proxies)
    try:
        return await to_thread.run_sync(
            _known, services, credential, address, limiter=services.authentications
        )
    except UnauthorizedError:
        per_minute = services.settings.failures_per_minute
        if services.rates.take(FAILURES + network_of(address), per_minute, services.clock.now_us()):
            raise
        raise BusyError(
            f"more than {per_minute:,} requests with bad tokens in a minute from this address",
            reason="too_many_failures",
        ) from None


def _cached(services: Services, credential: Credential) -> Principal | None:
    """`_known` from the caches alone, for the event loop; None on a cache miss."""
    match credential.kind:
        case "token":
            return services.tokens.cached(credential.secret, credential.token_id)
        case "app":
            return services.access_tokens.cached_secret(
                credential.token_id or "", credential.secret
            )
        case "access token":
            return services.access_tokens.cached_token(credential.secret)


def _known(services: Services, credential: Credential, address: str) -> Principal:
    """Who presents a credential. Raises UnauthorizedError, and BusyError where secrets are
    guessed."""
    match credential.kind:
        case "token":
            principal = services.tokens.authenticate(
                credential.secret, credential.token_id, address
            )
        case "app":
            return services.access_tokens.with_secret(
                credential.token_id or "", credential.secret, address
            )
        case "access token":
            principal = services.access_tokens.with_token(credential.secret)
    if principal is None:
        raise UnauthorizedError("the token is unknown, revoked or expired")
    return principal

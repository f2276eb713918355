"""Authorization of requests by the requirement of each route (`rights/right.py`).

`authorize` runs before every handler and before any byte of a body is read. Within a route the
caller's scope limits what is visible: every read of the store takes it.
`vedette/model/rights/authorization.py` decides whether a caller may change an object. `authorize`
applies it to objects of the whole server, handlers apply it to all other objects.
"""

from collections.abc import Mapping
from typing import Final

from anyio import to_thread
from fastapi import Request

from vedette.errors import BusyError, ForbiddenError, NotFoundError, UnauthorizedError
from vedette.model.principal import Principal, PrincipalKind, Role
from vedette.model.rights.authorization import EVERYWHERE, GLOBAL_ADMINISTRATOR, require
from vedette.model.rights.permission import Groups, groups_with
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
from vedette.web.http.client_address import client_address, is_of_this_machine
from vedette.web.http.credentials import Credential, credential_of, is_sensor, sensor_credential
from vedette.web.http.request_rates import CHANGES, FAILURES, OWN_CHANGES
from vedette.web.http.rights.right import Access, Right
from vedette.web.http.services import Services, services_of

_AUTHOR_KINDS: Final[Mapping[PrincipalKind, AuthorKind]] = {
    "user": "user",
    "ingest": "token",
    "sensor": "sensor",
    "app": "token",
}

_FROM_ANYWHERE: Final = frozenset({"ingest", "sensor"})
"""Kinds of callers that the list of approved addresses does not restrict: sensors and senders of
telemetry."""

_UNCOUNTED: Final = frozenset({Right.SENSOR, Right.SEND, Right.HANDSHAKE})
"""Rights of routes that take telemetry. They have no rate limit, because bounded queues limit
them."""

_OF_SENDERS: Final = frozenset({Right.SEND, Right.HANDSHAKE})

_WITHOUT_TOKEN: Final = frozenset({Right.OPEN, Right.IN_BODY})

_NEEDED: Final[Mapping[Right, str]] = {
    Right.PERMISSION: "a user or an app with the permission of this route",
    Right.SENSOR: "an enrolled sensor",
    Right.SEND: f"the holder of an ingest token, or {GLOBAL_ADMINISTRATOR}",
    Right.HANDSHAKE: f"the holder of an ingest token, or {GLOBAL_ADMINISTRATOR}",
    Right.READ: "a user",
    Right.VIEW: "a user with a role in a sensor group",
    Right.ADMINISTER_GROUP: "Administrator in a sensor group",
    Right.ACT: "Analyst in a sensor group",
    Right.ADMINISTER: GLOBAL_ADMINISTRATOR,
}
"""Names the required caller of each right, for error messages."""


async def authorize(request: Request) -> None:
    """Checks that the caller may call this route.

    Stores the caller (`principal_of`) and their scope (`scope_of`) in the request. Raises
    UnauthorizedError, ForbiddenError, NotFoundError for another organization's key in the path, and
    BusyError above a rate limit.
    """
    access = access_to(request)
    right = access.right
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
            "Basic is only for telemetry senders; send the token as X-Auth-Token or Bearer",
            reason="basic_not_accepted",
        )
    principal = _cached(services, credential) or await _looked_up(request, services, credential)
    if principal.is_session is not credential.is_session:
        raise UnauthorizedError("a session secret is only accepted in its cookie")
    request.state.principal = principal
    set_author(_author(request, principal))
    if principal.kind not in _FROM_ANYWHERE:
        check_address(request, services, principal.token_id)
    groups = _groups(principal, access)
    if principal.is_read_only and not access.reads_only:
        raise ForbiddenError("this token is read-only", reason="token_reads_only")
    if access.deed is not None:
        require(principal, access.deed, EVERYWHERE)
    elif not holds(principal, right) or not _suffices(groups, access):
        raise ForbiddenError(f"{principal.name} must be {_NEEDED[right]} to do this")
    if request.path_params.get("org_key", services.settings.org_key) != services.settings.org_key:
        raise NotFoundError("organization not found")
    request.state.scope = services.scopes.cached_groups(groups) or await to_thread.run_sync(
        services.scopes.of_groups, groups, limiter=services.authentications
    )
    if right not in _UNCOUNTED:
        _check_rate(services, principal)
    if (right not in _UNCOUNTED and not access.reads_only) or access.is_noted:
        _check_changes(services, principal, right)


def _groups(principal: Principal, access: Access) -> Groups:
    """Returns the sensor groups that the caller may see through a route."""
    if access.permission is None:
        return principal.visible_groups
    return groups_with(principal, access.permission)


def _suffices(groups: Groups, access: Access) -> bool:
    """Returns whether a permission held in `groups` is enough for a route. A global permission must
    cover all groups, even on a server with a single group."""
    if access.permission is None:
        return True
    return groups is None if access.permission.is_global else groups != frozenset()


def access_to(request: Request) -> Access:
    """Returns the access rules of the matched route. Raises AttributeError if the request has no
    route."""
    access = request.scope["route"].access
    assert isinstance(access, Access)
    return access


def holds(principal: Principal, right: Right) -> bool:
    """Returns whether an authenticated caller has a right."""
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


async def sensor_principal(request: Request, services: Services) -> Principal:
    """Returns the sensor whose key the request carries. Raises UnauthorizedError."""
    sensor_id, key = sensor_credential(request)
    principal = await known_sensor(services, sensor_id, key, "sensor")
    if principal is None:
        raise UnauthorizedError("the sensor key is unknown or expired; enroll again")
    return principal


async def known_sensor(
    services: Services, sensor_id: int, key: str, kind: KeyKind
) -> Principal | None:
    """Returns the sensor that a key belongs to, or None for an invalid key."""
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
    """Returns the caller's scope. A dependency of routes; it is a coroutine because the framework
    runs each plain function in a thread."""
    return scope_of(request)


def scope_of(request: Request) -> Scope:
    scope = request.state.scope
    assert isinstance(scope, Scope)
    return scope


def _author(request: Request, principal: Principal) -> Author:
    """Returns the author that the audit log records for changes of this request.

    A command on this machine sends the name of its operator in a header. The server trusts that
    header only with the server's own tokens, which only root and the server's account can read.
    Raises BadRequestError for a malformed header.
    """
    services = services_of(request)
    kind, name = _AUTHOR_KINDS[principal.kind], principal.name
    address = client_address(request, services.settings.trusted_proxies)
    typed_by = request.headers.get(OPERATOR_HEADER)
    if typed_by is not None and _is_own(request, services, principal.token_id, address):
        kind, name = "command", read_operator(typed_by)
    return Author(kind, name, address, getattr(request.state, "request_id", ""))


def _is_own(request: Request, services: Services, token_id: str, address: str) -> bool:
    """Returns whether a request comes from a command on this machine with a token of
    `server.json`."""
    own = services.approved_addresses.own_tokens
    return token_id in own and is_of_this_machine(request, address)


def check_address(request: Request, services: Services, token_id: str = "") -> None:
    """Raises ForbiddenError if the list of approved addresses is on and does not include the
    caller's address. Requests from this machine with the server's own tokens always pass."""
    address = client_address(request, services.settings.trusted_proxies)
    if _is_own(request, services, token_id, address):
        return
    if not services.approved_addresses.allow(address):
        raise ForbiddenError(
            f"requests from {address or 'this address'} are not approved; an administrator "
            "must add the address to the approved list",
            reason="address_not_approved",
        )


def _check_rate(services: Services, principal: Principal) -> None:
    """Raises BusyError if a token exceeds the configured requests per minute."""
    per_minute = services.settings.requests_per_minute
    if not services.rates.take(principal.token_id, per_minute, services.clock.now_us()):
        raise BusyError(
            f"this token exceeded {per_minute:,} requests per minute",
            reason="too_many_requests",
        )


def _check_changes(services: Services, principal: Principal, right: Right) -> None:
    """Raises BusyError if a user exceeds the changes per minute, counted over all of the user's
    tokens. Each change is a transaction and an audit log entry, which slows down everybody else's
    changes."""
    if principal.is_global_admin or principal.kind in _FROM_ANYWHERE:
        return
    is_own = right in (Right.READ, Right.VIEW)
    per_minute, key = OWN_CHANGES if is_own else CHANGES
    if not services.rates.take(
        f"{key}{principal.kind} {principal.name}", per_minute, services.clock.now_us()
    ):
        raise BusyError(
            f"{principal.name} exceeded {per_minute:,} such changes per minute",
            reason="too_many_changes",
        )


async def _looked_up(request: Request, services: Services, credential: Credential) -> Principal:
    """Runs `_known` in a thread. Counts failures per network address and raises BusyError above the
    limit; valid tokens from the same address still pass."""
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
            f"more than {per_minute:,} requests with invalid tokens per minute from this address",
            reason="too_many_failures",
        ) from None


def _cached(services: Services, credential: Credential) -> Principal | None:
    """Like `_known`, but reads only the caches, so that it can run on the event loop. Returns None
    on a cache miss."""
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
    """Returns the principal of a credential. Raises UnauthorizedError, or BusyError if the caller
    guesses secrets."""
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
        raise UnauthorizedError("the token is unknown, revoked, or expired")
    return principal

"""Settings of the application-control server to which watchlist hits are exported."""

import re
from ipaddress import IPv6Address
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import WEBHOOK_SECRET_CHARS_MAX
from vedette.model.rights.authorization import Deed
from vedette.notify.senders import APP_CONTROL_PURPOSE
from vedette.state.policy import app_control
from vedette.state.policy.app_control import AppControl
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_value

router = Router(tags=["settings"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_PATH: Final = "/api/v1/settings/global/platformserver"
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_SERVER: Final = re.compile(
    rf"(?!.{{261}})(?:(?P<name>{_LABEL}(?:\.{_LABEL})*\.?)|\[(?P<ipv6>[^\]]+)\])(?::(?P<port>[0-9]{{1,5}}))?"
)
_LAST_PORT: Final = (1 << 16) - 1
_READ_ONLY: Final = frozenset(("auth_token_set", "result"))


@router.get(_PATH, right=Right.ADMINISTER, summary="Get the application-control server")
def get(here: Here) -> Response:
    """Never returns the token; `auth_token_set` states whether one is stored."""
    with here.database.reading() as connection:
        return json_answer(_body(app_control.load(connection)))


@router.put(_PATH, right=Deed.CHANGE_APP_CONTROL, summary="Change the application-control server")
@router.post(_PATH, right=Deed.CHANGE_APP_CONTROL, summary="Change the application-control server")
def change(here: Here, body: Body) -> Response:
    """Body: one or more of `server_url` (a host name or address, without protocol or path),
    `ssl_certificate_verify`, `watchlist_export` and `auth_token`. Changing `server_url` deletes the
    token."""
    members = {name: value for name, value in body.items() if name not in _READ_ONLY}
    values: dict[str, Any] = {}
    for name, value in members.items():
        match name:
            case "server_url":
                values["server_url"] = _host(value)
            case "ssl_certificate_verify":
                values["is_verified"] = flag_value(name, value)
            case "watchlist_export":
                values["is_exporting"] = flag_value(name, value)
            case "auth_token":
                token = _token(value)
                values["sealed_token"] = here.sealing.seal(token, APP_CONTROL_PURPOSE)
            case _:
                raise BadRequestError(f"unknown setting {name[:60]!r}")
    with here.database.writing() as connection:
        changed = app_control.change(connection, **values)
        if changed.is_exporting and not changed.server_url:
            raise BadRequestError("watchlist_export: requires server_url")
    return json_answer(_body(changed) | {"result": "success"})


def _host(value: Any) -> str:
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or not _is_server(value):
        raise BadRequestError("server_url: must be a host name or address, without protocol or URI")
    return value


def _is_server(text: str) -> bool:
    found = _SERVER.fullmatch(text)
    if found is None or (found["ipv6"] and not _is_ipv6(found["ipv6"])):
        return False
    return found["port"] is None or 0 < int(found["port"]) <= _LAST_PORT


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def _token(value: Any) -> str:
    is_good = isinstance(value, str) and len(value) <= WEBHOOK_SECRET_CHARS_MAX
    if not is_good or not all("!" <= one <= "~" for one in value):
        raise BadRequestError("auth_token: must be a string without whitespace")
    return str(value)


def _body(found: AppControl) -> dict[str, Any]:
    return {
        "server_url": found.server_url,
        "ssl_certificate_verify": found.is_verified,
        "watchlist_export": found.is_exporting,
        "auth_token_set": bool(found.sealed_token),
    }

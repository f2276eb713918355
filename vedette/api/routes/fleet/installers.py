"""Installers of a group's sensors, and available versions (docs/http-api.md#changing-a-sensor,
docs/clients.md#requests)."""

from typing import Annotated, Any, Final

import structlog
from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.responses import file_answer, json_answer
from vedette.api.http.router import Router
from vedette.api.http.server_url import names_loopback, server_url
from vedette.api.routes.fleet.groups import visible_group
from vedette.api.services import Services, services
from vedette.errors import ForbiddenError, NotFoundError
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.respond.installers import linux_installer, packaged_installer, sensor_version
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.policy.groups import Group
from vedette.state.sensors import installers

log = structlog.get_logger(__name__)

router = Router(tags=["installers"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Address = Annotated[str, Depends(server_url)]

_OS_NAMES: Final = {"windows": "Windows", "osx": "OSX"}


@router.get("/api/group/{group_id}/installer/windows/exe", summary="A Windows installer, exe")
@router.get("/api/v1/group/{group_id}/installer/windows/exe", summary="A Windows installer, exe")
@router.get("/api/v3/group/{group_id}/installer/windows/exe", summary="A Windows installer, exe")
def windows_exe(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """A zip with the registered program, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "windows", "exe", address)


@router.get("/api/group/{group_id}/installer/windows/msi", summary="A Windows installer, msi")
@router.get("/api/v1/group/{group_id}/installer/windows/msi", summary="A Windows installer, msi")
@router.get("/api/v3/group/{group_id}/installer/windows/msi", summary="A Windows installer, msi")
def windows_msi(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """A zip with the registered package, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "windows", "msi", address)


@router.get("/api/group/{group_id}/installer/osx", summary="A macOS installer")
@router.get("/api/v1/group/{group_id}/installer/osx", summary="A macOS installer")
@router.get("/api/v3/group/{group_id}/installer/osx", summary="A macOS installer")
def osx(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """A zip with the registered package, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "osx", "pkg", address)


@router.get("/api/group/{group_id}/installer/linux", summary="A Linux installer")
@router.get("/api/v1/group/{group_id}/installer/linux", summary="A Linux installer")
@router.get("/api/v3/group/{group_id}/installer/linux", summary="A Linux installer")
def linux(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """A tar.gz with the sensor, the group's settings and `install.sh`."""
    group = _administered(here, caller, group_id)
    audit_trail.record(here.database, Entry("read", "installer", f"linux of {group.name}"))
    archive = linux_installer(here.database, group, _address(group, address), _ca(here))
    made = file_answer(archive, f"vedette-sensor-group-{group.id}.tar.gz", "application/gzip")
    return _warned(made, _address(group, address))


@router.get("/api/builds", summary="Versions of sensors")
@router.get("/api/v1/builds", summary="Versions of sensors")
@router.get("/api/v2/builds", summary="Versions of sensors")
def builds(here: Here) -> Response:
    """By operating system, the newest first: of the Linux sensor and of registered packages."""
    found: dict[str, list[dict[str, Any]]] = {"Windows": [], "Linux": [], "OSX": []}
    if version := sensor_version():
        found["Linux"].append({"version_string": version})
    for one in installers.all_installers(here.database):
        entry = {"version_string": one.version}
        if entry not in found[_OS_NAMES[one.os]]:
            found[_OS_NAMES[one.os]].append(entry)
    return json_answer(found)


def _administered(here: Services, caller: Principal, group_id: str) -> Group:
    """The group of a path. An installer carries the group's enrolment secret.

    Raises NotFoundError, ForbiddenError for callers who are not its Administrator.
    """
    group = visible_group(here, caller, group_id)
    if caller.role_in(group.id) < Role.ADMINISTRATOR:
        raise ForbiddenError(
            f"{caller.name} must be {ROLE_NAMES[Role.ADMINISTRATOR]} in sensor group {group.id}"
        )
    return group


def _packaged(here: Services, group: Group, os: str, kind: str, address: str) -> Response:
    archive = packaged_installer(
        here.database, here.blobs, group, os, kind, _address(group, address), _ca(here)
    )
    audit_trail.record(here.database, Entry("read", "installer", f"{os} {kind} of {group.name}"))
    made = file_answer(archive, f"vedette-{os}-{kind}-group-{group.id}.zip", "application/zip")
    return _warned(made, _address(group, address))


def _address(group: Group, address: str) -> str:
    return group.sensorbackend_server or address


def _warned(answer: Response, address: str) -> Response:
    """The installer with a `Warning` header, and a line in the log, when its sensors would look
    for the server on their own host."""
    if names_loopback(address):
        text = f"sensors of this installer reach {address} on the server's own host only"
        log.warning("an installer names a loopback address", address=address)
        answer.headers["Warning"] = f'199 vedette "{text}"'
    return answer


def _ca(here: Services) -> bytes:
    """The certificate that sensors trust: the one of this server."""
    path = here.settings.tls_cert or here.settings.data / "tls" / "cert.pem"
    try:
        return path.read_bytes()
    except OSError:
        raise NotFoundError(
            "this server has no certificate to put into installers: it serves plain HTTP"
        ) from None

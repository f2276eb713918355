"""Installers for sensors of a group, and available versions (docs/api-sensors.md#changing-a-sensor,
docs/clients.md#requests)."""

from typing import Annotated, Any, Final

import structlog
from fastapi import Depends
from starlette.responses import Response

from vedette.errors import NotFoundError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.record.objects.sensor_group import Group
from vedette.respond.installers import linux_installer, packaged_installer, sensor_version
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.sensors import installers
from vedette.web.fleet.groups_routes import visible_group
from vedette.web.http.access import principal_of
from vedette.web.http.responses import file_answer, json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.server_url import names_loopback, server_url
from vedette.web.http.services import Services, services

log = structlog.get_logger(__name__)

router = Router(tags=["installers"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Address = Annotated[str, Depends(server_url)]

_OS_NAMES: Final = {"windows": "Windows", "osx": "OSX"}


@router.get(
    "/api/group/{group_id}/installer/windows/exe",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (exe)",
)
@router.get(
    "/api/v1/group/{group_id}/installer/windows/exe",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (exe)",
)
@router.get(
    "/api/v3/group/{group_id}/installer/windows/exe",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (exe)",
)
def windows_exe(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """Returns a zip file with the registered program, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "windows", "exe", address)


@router.get(
    "/api/group/{group_id}/installer/windows/msi",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (msi)",
)
@router.get(
    "/api/v1/group/{group_id}/installer/windows/msi",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (msi)",
)
@router.get(
    "/api/v3/group/{group_id}/installer/windows/msi",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Windows installer (msi)",
)
def windows_msi(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """Returns a zip file with the registered package, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "windows", "msi", address)


@router.get(
    "/api/group/{group_id}/installer/osx",
    right=Right.ADMINISTER_GROUP,
    summary="Get a macOS installer",
)
@router.get(
    "/api/v1/group/{group_id}/installer/osx",
    right=Right.ADMINISTER_GROUP,
    summary="Get a macOS installer",
)
@router.get(
    "/api/v3/group/{group_id}/installer/osx",
    right=Right.ADMINISTER_GROUP,
    summary="Get a macOS installer",
)
def osx(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """Returns a zip file with the registered package, the group's settings and a script."""
    return _packaged(here, _administered(here, caller, group_id), "osx", "pkg", address)


@router.get(
    "/api/group/{group_id}/installer/linux",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Linux installer",
)
@router.get(
    "/api/v1/group/{group_id}/installer/linux",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Linux installer",
)
@router.get(
    "/api/v3/group/{group_id}/installer/linux",
    right=Right.ADMINISTER_GROUP,
    summary="Get a Linux installer",
)
def linux(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """Returns a tar.gz file with the sensor, the group's settings and `install.sh`."""
    group = _administered(here, caller, group_id)
    audit_trail.record(here.database, Entry("read", "installer", f"linux of {group.name}"))
    archive = linux_installer(here.database, group, _address(group, address), _ca(here))
    made = file_answer(archive, f"vedette-sensor-group-{group.id}.tar.gz", "application/gzip")
    return _warned(made, _address(group, address))


@router.get("/api/builds", right=Right.READ, summary="List sensor versions")
@router.get("/api/v1/builds", right=Right.READ, summary="List sensor versions")
@router.get("/api/v2/builds", right=Right.READ, summary="List sensor versions")
def builds(here: Here) -> Response:
    """Returns versions of the Linux sensor and of registered packages by operating system."""
    found: dict[str, list[dict[str, Any]]] = {"Windows": [], "Linux": [], "OSX": []}
    if version := sensor_version():
        found["Linux"].append({"version_string": version})
    for one in installers.all_installers(here.database):
        entry = {"version_string": one.version}
        if entry not in found[_OS_NAMES[one.os]]:
            found[_OS_NAMES[one.os]].append(entry)
    return json_answer(found)


def _administered(here: Services, caller: Principal, group_id: str) -> Group:
    """Returns the group that a path names. Its installers contain an enrollment secret.

    Raises NotFoundError, and ForbiddenError for callers who are not its Administrator.
    """
    group = visible_group(here, caller, group_id)
    require(caller, Deed.FETCH_INSTALLER, of_groups(group.id))
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
    """Adds a `Warning` header and logs a warning if the server URL in the installer is a loopback
    address, which sensors on other hosts cannot reach."""
    if names_loopback(address):
        text = f"sensors of this installer reach {address} on the server's own host only"
        log.warning("installer uses a loopback address", address=address)
        answer.headers["Warning"] = f'199 vedette "{text}"'
    return answer


def _ca(here: Services) -> bytes:
    """Returns the certificate that sensors trust: this server's own."""
    path = here.settings.tls_cert or here.settings.data / "tls" / "cert.pem"
    try:
        return path.read_bytes()
    except OSError:
        raise NotFoundError(
            "this server serves plain HTTP and has no certificate for installers"
        ) from None

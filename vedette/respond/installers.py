"""Builds the installers of a group, by operating system."""

import re
from pathlib import Path
from typing import IO, Final

import vedette
from vedette.blobs.blob_store import BlobStore, pieces_of
from vedette.errors import NotFoundError
from vedette.record.objects.sensor_group import Group
from vedette.respond import installer_texts as texts
from vedette.respond.installer_archive import sensor_program, tar_gz, zipped
from vedette.respond.installer_texts import SensorSettings
from vedette.respond.package_files import open_installer
from vedette.state.db.database import Database
from vedette.state.sensors import enrolment, installers
from vedette.state.sensors.update_signing import update_public_key

_VERSION: Final = re.compile(r"""^SENSOR_VERSION = ['"]([^'"]+)['"]""", re.M)
SENSOR_PACKAGE: Final = Path(vedette.__file__).parent / "sensor"

_DATA_DIRS: Final = {"windows": r"C:\ProgramData\Vedette", "osx": "/var/vedette"}


def linux_installer(
    database: Database, group: Group, server_url: str, ca: bytes, package: Path = SENSOR_PACKAGE
) -> IO[bytes]:
    """Returns a tar.gz with the sensor, its settings and `install.sh`. Raises NotFoundError if the
    sensor is not part of the server, ConflictError if all secrets of the group are revoked."""
    program = sensor_program(package)
    settings = _settings(database, group, server_url)
    name = settings.exe_name or texts.PROGRAM_NAME
    members = {
        "install.sh": texts.linux_script(name).encode(),
        texts.SETTINGS_NAME: texts.settings_text(settings, "/var/lib/vedette-sensor").encode(),
        texts.CA_NAME: ca,
        texts.UNIT_NAME: texts.unit_text(name).encode(),
        texts.PROGRAM_NAME: program,
    }
    return tar_gz("vedette-sensor", members, ("install.sh", texts.PROGRAM_NAME))


def packaged_installer(
    database: Database,
    blobs: BlobStore,
    group: Group,
    os: str,
    kind: str,
    server_url: str,
    ca: bytes,
) -> IO[bytes]:
    """Returns a zip with the registered package, the settings and a script. Raises NotFoundError
    with instructions if no package is registered, UnavailableError if its bytes are missing or
    damaged."""
    package = installers.package_for(database, os, kind, group.id)
    if package is None:
        raise NotFoundError(
            f"no {kind} package for {os} is registered: `vedette installer add --os {os} "
            f"--kind {kind} FILE` does that, with osquery's package or another that you use"
        )
    settings = _settings(database, group, server_url)
    file_name, server_url = f"sensor.{kind}", settings.server_url
    if os == "windows":
        script_name, script = "install.ps1", texts.windows_script(file_name, kind, server_url)
    else:
        script_name, script = "install.sh", texts.osx_script(file_name, server_url)
    members = {
        script_name: script.encode(),
        texts.SETTINGS_NAME: texts.settings_text(settings, _DATA_DIRS[os]).encode(),
        texts.SECRET_NAME: settings.group_secret.encode(),
        texts.CA_NAME: ca,
    }
    with open_installer(blobs, package) as content:
        return zipped(members, file_name, pieces_of(content))


def _settings(database: Database, group: Group, server_url: str) -> SensorSettings:
    return SensorSettings(
        texts.checked_url(server_url),
        enrolment.current_secret(database, group.id),
        group.id,
        group.options.sensor_exe_name,
        update_public_key(database),
    )


def sensor_version(package: Path = SENSOR_PACKAGE) -> str:
    """Returns the version of the Linux sensor in installers; "" if there is none."""
    try:
        source = (package / "__init__.py").read_text()
    except OSError:
        return ""
    found = _VERSION.search(source)
    return found[1] if found else ""

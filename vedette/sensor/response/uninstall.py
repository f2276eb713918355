"""Removes the sensor from the host: rules, service, program, data."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

from ..host.self_exec import home
from ..limits import SYSTEMCTL_S
from ..settings import Settings
from .firewall import IsolationError
from .isolation import Isolation

UNIT = Path("/etc/systemd/system/vedette-sensor.service")


def remove(settings: Settings, isolation: Isolation) -> None:
    """Removes everything that `install.sh` installed and the sensor stored. A program that runs
    from a folder (a checkout) stays, and so does the service of a sensor that was not installed."""
    with contextlib.suppress(IsolationError):
        isolation.end()
    program = home()
    shutil.rmtree(settings.data_dir, ignore_errors=True)
    if not program.is_file():
        return
    _disable_service(program)
    for path in (program, program.with_name(program.name + ".old"), settings.path):
        path.unlink(missing_ok=True)
    ca = Path(settings.ca_pem_file)
    if ca.parent == settings.path.parent:  # a file elsewhere may be shared
        ca.unlink(missing_ok=True)
    for folder in {program.parent, settings.path.parent}:
        with contextlib.suppress(OSError):  # not empty: contains files of others
            folder.rmdir()


def _disable_service(program: Path) -> None:
    """Removes the unit. The running service is this process, which ends by itself."""
    if not UNIT.exists() or str(program) not in UNIT.read_text(errors="replace"):
        return
    for command in (["systemctl", "disable", UNIT.name], ["systemctl", "daemon-reload"]):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 - fixed words
                command, capture_output=True, timeout=SYSTEMCTL_S, check=False
            )
        UNIT.unlink(missing_ok=True)

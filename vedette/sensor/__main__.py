"""Command line: `vedette-sensor [COMMAND] [--settings FILE]`.

run       monitor and report until a signal arrives (the default)
restore   undo what a killed run left behind: audit rules, isolation
check     read the settings and print the host's capabilities
version   print the version
guard     used by the sensor itself
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from pathlib import Path

from . import SENSOR_VERSION
from .settings import Settings, SettingsError, read_settings

DEFAULT_SETTINGS = "/etc/vedette-sensor/sensorsettings.ini"


def main(arguments: list[str]) -> int:
    """Runs a command. Returns the exit status: 2 for invalid settings, or without root."""
    if arguments[:1] == ["guard"]:
        from .response import guard

        return guard.main(arguments[1], arguments[2:])
    options = _parser().parse_args(arguments)
    if options.command == "version":
        print(SENSOR_VERSION)
        return 0
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    try:
        settings = read_settings(Path(options.settings))
    except SettingsError as error:
        print(f"vedette-sensor: {error}", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        print("vedette-sensor: needs to run as root", file=sys.stderr)
        return 2
    if options.command == "restore":
        return _restore(settings)
    if options.command == "check":
        return _check(settings)
    from .program import run

    return run(settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("vedette-sensor", description="The Linux sensor of Vedette.")
    commands = ("run", "restore", "check", "version")
    parser.add_argument("command", nargs="?", default="run", choices=commands)
    parser.add_argument("--settings", default=DEFAULT_SETTINGS, help="the settings file")
    return parser


def _restore(settings: Settings) -> int:
    from .kernel.audit import AuditControl, restore
    from .response.firewall import IsolationError
    from .response.isolation import Isolation

    with contextlib.suppress(OSError):
        control = AuditControl()
        restore(settings.data_dir / "audit.json", control)
        control.close()
    with contextlib.suppress(IsolationError):
        Isolation(settings.data_dir / "isolation.json", dns=True, dhcp=True).lift()
    return 0


def _check(settings: Settings) -> int:
    from .kernel.audit import AuditControl
    from .kernel.mounts import local_mounts
    from .response.firewall import is_available

    try:
        status = AuditControl().status()
        audit = f"enabled {status['enabled']}, daemon {status['pid'] or 'none'}"
    except OSError as error:
        audit = f"missing: {error}"
    print(f"server      {settings.server_url}\naudit       {audit}")
    print(f"isolation   {'nft' if is_available() else 'missing: no nft program'}")
    print(f"watches     {', '.join(settings.mounts or local_mounts())}")
    return 0


def command() -> None:
    """Entry point of the `vedette-sensor` command of an installed package."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    command()

"""Settings files and scripts of an installer, for one group.

Values go into scripts that a shell runs as root. Each value is checked against a pattern without
shell metacharacters (`checked_url`, `_checked_name`), is placed in single quotes or a quoted
here-document, and is never expanded.
"""

import re
from dataclasses import dataclass
from string import Template
from typing import Final
from urllib.parse import urlsplit

from vedette.errors import BadRequestError

SETTINGS_NAME: Final = "sensorsettings.ini"
CA_NAME: Final = "ca.pem"
SECRET_NAME: Final = "enrolment.secret"  # noqa: S105 - the name of a file
PROGRAM_NAME: Final = "vedette-sensor.pyz"
UNIT_NAME: Final = "vedette-sensor.service"


@dataclass(frozen=True, slots=True)
class SensorSettings:
    """Settings of the sensors of a group."""

    server_url: str
    group_secret: str
    group_id: int
    exe_name: str = ""
    """Name of the installed program; "" for the default."""
    update_public_key: str = ""
    """Base64 of the Ed25519 public key that verifies updates."""


def checked_url(url: str) -> str:
    """Returns a URL that is safe in settings and scripts. Raises BadRequestError for anything but
    `https://host` or `http://host` with an optional port and plain path."""
    if not is_plain_url(url):
        raise BadRequestError(
            "the server's address must be https://host[:port][/path] of letters, digits, dots, "
            "dashes and underscores: set sensorbackend_server of the group"
        )
    return url


def is_plain_url(url: str) -> bool:
    """Whether the URL has that form and a valid port."""
    found = _URL.fullmatch(url)
    return found is not None and int((found[2] or ":0")[1:]) <= _LAST_PORT


def _checked_name(name: str) -> str:
    """Returns the name. Raises BadRequestError unless it is a plain file or host name."""
    if not _PLAIN.fullmatch(name):
        raise BadRequestError(f"{name[:80]!r} cannot be used in an installer")
    return name


def settings_text(settings: SensorSettings, data_dir: str) -> str:
    """Returns the settings file. Raises BadRequestError for a value that is not one line."""
    members = {
        "server_url": settings.server_url,
        "group_secret": settings.group_secret,
        "group_id": str(settings.group_id),
        "ca_pem_file": CA_NAME,
        "data_dir": data_dir,
        "update_public_key": settings.update_public_key,
    }
    for name, value in members.items():
        if not value.isprintable() or value != value.strip():
            raise BadRequestError(f"{name}: cannot be used in a settings file")
    return "[sensor]\n" + "".join(f"{name} = {value}\n" for name, value in members.items())


def unit_text(exe_name: str) -> str:
    """Returns the systemd unit of the Linux sensor. Exit status 76 means uninstalled: systemd does
    not restart it."""
    return _UNIT.substitute(name=_checked_name(exe_name))


def linux_script(exe_name: str) -> str:
    """Returns the script for `install.sh` and `install.sh uninstall`."""
    return _LINUX.substitute(name=_checked_name(exe_name))


def windows_script(package: str, kind: str, server_url: str) -> str:
    """Returns `install.ps1` for osquery's package (msi) or another one (exe)."""
    package, (host, path) = _checked_name(package), _host_and_path(server_url)
    command = (
        f"Start-Process msiexec.exe -Wait -ArgumentList '/i', \"`\"$$here\\{package}`\"\", '/qn'"
        if kind == "msi"
        else f"Start-Process \"$$here\\{package}\" -Wait -ArgumentList '/quiet'"
    )
    return _WINDOWS.substitute(install=command.replace("$$", "$"), host=host, path=path)


def osx_script(package: str, server_url: str) -> str:
    """Returns `install.sh` for osquery's pkg."""
    host, path = _host_and_path(server_url)
    return _OSX.substitute(package=_checked_name(package), host=host, path=path)


def _host_and_path(server_url: str) -> tuple[str, str]:
    """Splits the server URL into osquery's `tls_hostname` and the prefix of its routes."""
    parts = urlsplit(checked_url(server_url))
    return parts.netloc, parts.path.rstrip("/")


_URL: Final = re.compile(
    r"https?://([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?(/[A-Za-z0-9._/-]{0,200})?"
)
_LAST_PORT: Final = (1 << 16) - 1

_PLAIN: Final = re.compile(r"[A-Za-z0-9._\[\]:-]{1,300}")

_OSQUERY_FLAGS: Final = """\
--enroll_tls_endpoint=$path/osquery/enroll
--config_plugin=tls
--config_tls_endpoint=$path/osquery/config
--logger_plugin=tls
--logger_tls_endpoint=$path/osquery/log
--disable_distributed=false
--distributed_plugin=tls
--distributed_tls_read_endpoint=$path/osquery/distributed/read
--distributed_tls_write_endpoint=$path/osquery/distributed/write
--disable_events=false
"""
"""Flags of osquery with the routes below the path of the server's URL; the same on every operating
system."""

_UNIT: Final = Template("""\
[Unit]
Description=Vedette sensor
After=network.target auditd.service

[Service]
Type=simple
ExecStart=/usr/bin/env python3 -I /usr/lib/vedette-sensor/$name --settings \
/etc/vedette-sensor/sensorsettings.ini
Restart=always
RestartSec=5
RestartPreventExitStatus=76
KillMode=mixed
TimeoutStopSec=30
UMask=0077

[Install]
WantedBy=multi-user.target
""")

_LINUX: Final = Template("""\
#!/bin/sh
# Installs the sensor of this group, or takes it away: install.sh [uninstall]
# DESTDIR=/some/root installs below that folder and starts nothing.
set -eu
umask 077
here=$$(cd "$$(dirname "$$0")" && pwd)
root=$${DESTDIR:-}
program=$$root/usr/lib/vedette-sensor
settings=$$root/etc/vedette-sensor
data=$$root/var/lib/vedette-sensor
unit=$$root/etc/systemd/system/vedette-sensor.service

fail() { echo "install.sh: $$1" >&2; exit 1; }
has_systemd() { [ -z "$$root" ] && [ -d /run/systemd/system ]; }
[ "$$(id -u)" = 0 ] || [ -n "$$root" ] || fail "must run as root"

if [ "$${1:-}" = uninstall ]; then
  if has_systemd; then systemctl disable --now vedette-sensor.service || true; fi
  if [ -f "$$program/"'$name' ] && [ -z "$$root" ]; then
    python3 -I "$$program/"'$name' restore --settings "$$settings/sensorsettings.ini" || true
  fi
  rm -f "$$unit"
  rm -rf "$$program" "$$settings" "$$data"
  if has_systemd; then systemctl daemon-reload; fi
  echo "The sensor is gone."
  exit 0
fi
[ $$# = 0 ] || fail "usage: install.sh [uninstall]"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "needs Python 3.9 or newer"

mkdir -p "$$program" "$$settings" "$$data" "$$(dirname "$$unit")"
chmod 755 "$$program"
install -m 755 "$$here/vedette-sensor.pyz" "$$program/"'$name'
install -m 600 "$$here/sensorsettings.ini" "$$settings/sensorsettings.ini"
install -m 644 "$$here/ca.pem" "$$settings/ca.pem"
install -m 644 "$$here/vedette-sensor.service" "$$unit"
if has_systemd; then
  systemctl daemon-reload
  systemctl enable vedette-sensor.service
  systemctl restart vedette-sensor.service
  echo "The sensor runs. Its log: journalctl -u vedette-sensor"
elif [ -z "$$root" ]; then
  echo "There is no systemd here; run it with:"
  echo "  python3 -I $$program/$name --settings $$settings/sensorsettings.ini"
fi
""")

_WINDOWS: Final = Template(
    r"""# Run as administrator: installs the package next to this script.
$$ErrorActionPreference = 'Stop'
$$here = Split-Path -Parent $$MyInvocation.MyCommand.Path
$$home_dir = Join-Path $$env:ProgramFiles 'osquery'
$install
New-Item -ItemType Directory -Force $$home_dir | Out-Null
foreach ($$name in 'ca.pem', 'enrolment.secret', 'sensorsettings.ini') {
  Copy-Item (Join-Path $$here $$name) $$home_dir -Force
}
$$secret = Join-Path $$home_dir 'enrolment.secret'
icacls $$secret /inheritance:r /grant 'SYSTEM:R' 'Administrators:F' | Out-Null
$$flags = @'
--tls_hostname=$host
--tls_server_certs=@HOME@\ca.pem
--enroll_secret_path=@HOME@\enrolment.secret
"""
    + _OSQUERY_FLAGS
    + """\
'@
$$flags = $$flags.Replace('@HOME@', $$home_dir)
$$flags | Set-Content -Encoding ascii (Join-Path $$home_dir 'osquery.flags')
if (Get-Service osqueryd -ErrorAction SilentlyContinue) { Restart-Service osqueryd }
# Sysmon and a log shipper report more than osquery does; see docs/senders.md of the server.
"""
)

_OSX: Final = Template(
    """\
#!/bin/sh
# Installs the package next to this script with the settings of the group. Run as root.
set -eu
umask 077
here=$$(cd "$$(dirname "$$0")" && pwd)
home='/var/osquery'
installer -pkg "$$here/$package" -target /
mkdir -p "$$home"
install -m 644 "$$here/ca.pem" "$$home/ca.pem"
install -m 600 "$$here/enrolment.secret" "$$home/enrolment.secret"
install -m 600 "$$here/sensorsettings.ini" "$$home/sensorsettings.ini"
cat > "$$home/osquery.flags" <<'FLAGS'
--tls_hostname=$host
--tls_server_certs=/var/osquery/ca.pem
--enroll_secret_path=/var/osquery/enrolment.secret
"""
    + _OSQUERY_FLAGS
    + """\
FLAGS
launchctl unload /Library/LaunchDaemons/io.osquery.agent.plist 2>/dev/null || true
launchctl load -w /Library/LaunchDaemons/io.osquery.agent.plist
"""
)

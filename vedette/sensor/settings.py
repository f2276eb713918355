"""The settings of an installed sensor: section [sensor] of an INI file."""

from __future__ import annotations

import configparser
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from . import ed25519
from .limits import QUEUE_BYTES_MAX, QUEUE_BYTES_MIN

SECTION = "sensor"
AUDIT_MODES = ("auto", "listen", "off")


class SettingsError(ValueError):
    """Raised for a missing or invalid setting; the message names it."""


@dataclass(frozen=True)
class Settings:
    """The validated settings. Paths are absolute.

    `audit`: `auto` becomes the audit daemon if there is none, `listen` never does.

    `audit_uid`: the sensor's audit rules apply to this user only.

    `quiet_programs`: full paths of programs whose file operations are not recorded (databases).

    `mounts`: file systems that are monitored; empty for all local file systems.

    `hostname`: the name of the host on the server; empty for the kernel's name.

    `update_public_key`: Ed25519 key that must have signed updates; None for the key from the
    enrollment.
    """

    path: Path
    server_url: str
    group_secret: str
    group_id: int
    ca_pem_file: str
    server_fingerprint: str
    data_dir: Path
    disk_bytes: int
    isolation_dns: bool
    isolation_dhcp: bool
    send_binaries: bool
    audit: str
    audit_uid: int | None
    quiet_programs: tuple[str, ...]
    mounts: tuple[str, ...]
    hostname: str
    update_public_key: bytes | None = None

    @property
    def server(self) -> tuple[str, int]:
        """Host and port of the server URL; port 443 by default."""
        parts = urlsplit(self.server_url)
        return parts.hostname or "", parts.port or 443

    @property
    def prefix(self) -> str:
        """The path prefix of the server URL, without a trailing slash."""
        return urlsplit(self.server_url).path.rstrip("/")


def read_settings(path: Path) -> Settings:
    """Reads and validates a settings file. Raises SettingsError."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        if not parser.read(path, encoding="utf-8"):
            raise SettingsError(f"{path} cannot be read")
        section = parser[SECTION]
    except (configparser.Error, KeyError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    try:
        return _settings(section, path.resolve())
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from error


def _settings(section: configparser.SectionProxy, path: Path) -> Settings:
    folder = path.parent
    uid = section.get("audit_uid", "")
    ca_pem_file = section.get("ca_pem_file", "")
    return Settings(
        path=path,
        server_url=_server_url(section.get("server_url", "")),
        group_secret=_wanted(section, "group_secret"),
        group_id=section.getint("group_id", 1),
        ca_pem_file=str(folder / ca_pem_file) if ca_pem_file else "",
        server_fingerprint=section.get("server_fingerprint", "").replace(":", "").lower(),
        data_dir=folder / section.get("data_dir", "/var/lib/vedette-sensor"),
        disk_bytes=_disk_bytes(section.getint("disk_bytes", QUEUE_BYTES_MAX)),
        isolation_dns=section.getboolean("isolation_dns", True),
        isolation_dhcp=section.getboolean("isolation_dhcp", True),
        send_binaries=section.getboolean("send_binaries", True),
        audit=_audit(section.get("audit", "auto")),
        audit_uid=int(uid) if uid else None,
        quiet_programs=_list(section.get("quiet_programs", "")),
        mounts=_list(section.get("mounts", "")),
        hostname=section.get("hostname", ""),
        update_public_key=_update_public_key(section.get("update_public_key", "")),
    )


def _update_public_key(text: str) -> bytes | None:
    if not text:
        return None
    key = ed25519.decode_key(text)
    if key is None:
        raise ValueError("update_public_key is not the base64 of an Ed25519 public key")
    return key


def _list(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _wanted(section: configparser.SectionProxy, name: str) -> str:
    value = section.get(name, "")
    if not value:
        raise ValueError(f"{name} is missing")
    return value


def _server_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.username:
        raise ValueError("server_url is not an https address")
    return text


def _disk_bytes(number: int) -> int:
    if number < QUEUE_BYTES_MIN:
        raise ValueError(f"disk_bytes is below {QUEUE_BYTES_MIN}")
    return number


def _audit(mode: str) -> str:
    if mode not in AUDIT_MODES:
        raise ValueError(f"audit is not one of {', '.join(AUDIT_MODES)}")
    return mode

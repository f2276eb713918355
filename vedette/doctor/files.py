"""Checks of the files in the data directory. They need neither the database nor the engine."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from vedette import limits
from vedette.doctor.finding import Finding, Severity
from vedette.file_tree import matching
from vedette.limits import Limit
from vedette.settings import Settings

DOCTOR_DISK_LOW_BYTES: Limit[int] = 20_000_000_000
"""Free bytes below which `vedette doctor` warns. A day of a thousand hosts takes about as much."""

DOCTOR_DISK_LOW_SHARE: Limit[int] = 10
"""Divisor of the size of a disk: `vedette doctor` warns about a small disk when less than a tenth
of it is free."""

DOCTOR_CERTIFICATE_DAYS: Limit[int] = 30
"""Days before a certificate expires from which `vedette doctor` warns, so that there is time to
order another one."""


_GB: Final = 1_000_000_000

_ROOM: Final = (
    "make room, or have old partitions deleted: retention_days, retention_free_disk_bytes"
)


def check_disk(settings: Settings) -> Iterator[Finding]:
    """Checks the free space of the file systems that hold the state, the telemetry and copies of
    files."""
    seen: set[int] = set()
    for folder in (settings.data, settings.data / "telemetry", settings.data / "binaries"):
        try:
            device, found = folder.stat().st_dev, os.statvfs(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield Finding("disk", "error", f"{folder}: {error.strerror}", "mount or repair it")
            continue
        if device not in seen:
            seen.add(device)
            yield _disk(folder, found)


def _disk(folder: Path, found: os.statvfs_result) -> Finding:
    free, total = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    low = min(DOCTOR_DISK_LOW_BYTES, total // DOCTOR_DISK_LOW_SHARE)
    text = f"{free / _GB:.1f} of {total / _GB:.1f} GB are free at {folder}"
    if free < limits.DISK_FREE_BYTES_MIN:
        return Finding("disk", "error", f"{text}: telemetry is refused", _ROOM)
    if found.f_files and not found.f_favail:
        return Finding("disk", "error", f"no inodes are free at {folder}", "remove small files")
    if free < low:
        return Finding("disk", "warning", text, _ROOM)
    return Finding("disk", "ok", text)


def check_modes(settings: Settings) -> Iterator[Finding]:
    """Whether users other than the owner can read or change secret files."""
    data = settings.data
    key = settings.tls_key or data / "tls" / "key.pem"
    secret = [data, key, data / "server.json", *matching(data, "state.db*", lambda _error: None)]
    is_fine = True
    for path in secret:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            continue
        except OSError as error:
            is_fine = False
            yield Finding("modes", "error", f"{path}: {error.strerror}", "run it as the owner")
            continue
        if mode & 0o077:
            is_fine = False
            severity: Severity = "error" if path in (data, key) else "warning"
            yield Finding(
                "modes", severity, f"{path} is open to others ({mode:o})", f"chmod go= {path}"
            )
    if is_fine:
        yield Finding("modes", "ok", f"{data} is for its owner alone")


def check_certificate(settings: Settings, now_us: int) -> Iterator[Finding]:
    """Checks the validity of the certificate, and that the key belongs to it."""
    if settings.http:
        yield Finding("certificate", "ok", "plain HTTP: none is used")
        return
    cert = settings.tls_cert or settings.data / "tls" / "cert.pem"
    key = settings.tls_key or settings.data / "tls" / "key.pem"
    is_own = settings.tls_cert is None
    remedy = (
        f"remove {cert.parent} and restart: a new one is made, which clients have to trust"
        if is_own
        else "set tls_cert and tls_key to a certificate and its key, and restart"
    )
    if is_own and not cert.exists():
        yield Finding("certificate", "ok", "none yet: the first start makes one")
        return
    try:
        loaded = x509.load_pem_x509_certificate(cert.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (OSError, TypeError, ValueError) as error:
        yield Finding("certificate", "error", f"{cert}, {key}: cannot be read: {error}", remedy)
        return
    if private.public_key() != loaded.public_key():
        yield Finding("certificate", "error", f"{key} is not the key of {cert}", remedy)
    else:
        yield _validity(cert, loaded, datetime.fromtimestamp(now_us / 1_000_000, UTC), remedy)


def _validity(cert: Path, loaded: x509.Certificate, now: datetime, remedy: str) -> Finding:
    begins, ends = loaded.not_valid_before_utc, loaded.not_valid_after_utc
    if now < begins:
        return Finding(
            "certificate",
            "error",
            f"{cert} is valid only from {begins:%Y-%m-%d} on",
            "set the clock right, or " + remedy,
        )
    if now >= ends:
        return Finding("certificate", "error", f"{cert} has expired on {ends:%Y-%m-%d}", remedy)
    text = f"{cert} is valid until {ends:%Y-%m-%d}"
    if ends - now < timedelta(days=DOCTOR_CERTIFICATE_DAYS):
        return Finding("certificate", "warning", text, remedy)
    return Finding("certificate", "ok", text)

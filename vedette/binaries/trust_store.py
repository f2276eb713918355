"""The certificates that an operator trusts, and those that are distrusted."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from vedette.errors import StartError
from vedette.limits import Limit

TRUST_FILE_BYTES_MAX: Limit[int] = 16 * 1024 * 1024
"""Bytes of the trusted and distrusted certificates; the roots of Windows have 1 MB."""


_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_FINGERPRINT: Final = re.compile(rb"^[ \t]*([0-9A-Fa-f]{64})[ \t]*(?:#.*)?$", re.M)


@dataclass(frozen=True, slots=True)
class TrustStore:
    """Certificates for judging signatures."""

    roots: tuple[bytes, ...] = ()
    """Trusted roots as DER. Without roots, a chain without other defects is not judged."""
    distrusted: frozenset[str] = frozenset()
    """SHA-256 of certificates, in lower case; every signature whose chain has one is distrusted."""

    @property
    def digest(self) -> str:
        """Changes with the content: files judged with other certificates are judged again."""
        parts = sorted(hashlib.sha256(root).hexdigest() for root in self.roots)
        whole = " ".join([*parts, "|", *sorted(self.distrusted)])
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


def load_trust(roots: Path | None, distrusted: Path | None) -> TrustStore:
    """Loads trusted certificates from a PEM file, or a folder of such files, and distrusted ones
    from a file of PEM certificates or SHA-256 fingerprints, one per line. Raises StartError.
    """
    trusted = tuple(_certificates(_content(roots))) if roots else ()
    if roots and not trusted:
        raise StartError(f"{roots}: no certificate (PEM)")
    against = _content(distrusted) if distrusted else b""
    fingerprints = {one.decode().lower() for one in _FINGERPRINT.findall(against)}
    fingerprints |= {hashlib.sha256(one).hexdigest() for one in _certificates(against)}
    return TrustStore(trusted, frozenset(fingerprints))


def _content(path: Path) -> bytes:
    try:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        files = [one for one in inside if not one.is_dir()]
        whole = b"\n".join(one.read_bytes() for one in files)
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from error
    if len(whole) > TRUST_FILE_BYTES_MAX:
        raise StartError(f"{path}: more than {TRUST_FILE_BYTES_MAX} bytes of certificates")
    return whole


def _certificates(content: bytes) -> Iterator[bytes]:
    """Yields the DER form of the certificates in a PEM text; skips unreadable ones."""
    for pem in _PEM.findall(content):
        try:
            yield x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        except ValueError:
            continue

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
from vedette.limits import TRUST_FILE_BYTES_MAX

_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_FINGERPRINT: Final = re.compile(rb"^[ \t]*([0-9A-Fa-f]{64})[ \t]*(?:#.*)?$", re.M)


@dataclass(frozen=True, slots=True)
class TrustStore:
    """What signatures are judged by."""

    roots: tuple[bytes, ...] = ()
    """Trusted roots as DER. Without any, a chain that is otherwise good is not judged."""
    distrusted: frozenset[str] = frozenset()
    """SHA-256 of certificates, in lower case, that make every signature with them worthless."""

    @property
    def digest(self) -> str:
        """Changes with the content: files that were judged by another one are judged again."""
        parts = sorted(hashlib.sha256(root).hexdigest() for root in self.roots)
        whole = " ".join([*parts, "|", *sorted(self.distrusted)])
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


def load_trust(roots: Path | None, distrusted: Path | None) -> TrustStore:
    """The store from a file of PEM certificates, or a folder of such files, and a file of
    distrusted ones: PEM, or a SHA-256 fingerprint a line. Raises StartError.
    """
    trusted = tuple(_certificates(_content(roots))) if roots else ()
    if roots and not trusted:
        raise StartError(f"{roots}: there is no certificate (PEM)")
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
    """DER of the certificates of a PEM text; those that cannot be read are left out."""
    for pem in _PEM.findall(content):
        try:
            yield x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
        except ValueError:
            continue

"""TLS certificate of the server: the operator's, or a self-signed one that is generated at the
first start.

The self-signed certificate (EC P-256, valid for this host's names and loopback) is stored in the
data directory as `tls/cert.pem` and `tls/key.pem` (readable by the owner only), so that clients can
pin it.
"""

import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from vedette.errors import StartError
from vedette.limits import Limit
from vedette.settings import Settings
from vedette.web.http.server_certificate import CertificateFacts

CERTIFICATE_VALID_DAYS: Limit[int] = 3650
"""Validity in days of the server's own certificate. Ten years, since replacing a certificate that
sensors pin is laborious."""


BACKDATED = timedelta(days=1)
"""Lets clients whose clocks are behind accept a new certificate."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM files. `fingerprint` is the SHA-256 of the certificate in hex with colons."""

    cert: Path
    key: Path
    fingerprint: str
    is_new: bool
    facts: CertificateFacts


def certificate(settings: Settings, now_us: int) -> Certificate:
    """Returns the certificate to use; generates and stores one if there is none.

    Raises StartError for files that are missing, unreadable, or not a pair.
    """
    if settings.tls_cert is not None and settings.tls_key is not None:
        return load_pair(settings.tls_cert, settings.tls_key)
    folder = settings.data / "tls"
    cert, key = folder / "cert.pem", folder / "key.pem"
    is_new = not cert.exists()
    if is_new:
        _make(cert, key, settings.listen_host, datetime.fromtimestamp(now_us // 1_000_000, UTC))
    return load_pair(cert, key, is_new=is_new)


def load_pair(cert: Path, key: Path, *, is_new: bool = False) -> Certificate:
    """Loads a certificate and its key. Raises StartError for files that are unreadable or not a
    pair."""
    try:
        loaded = x509.load_pem_x509_certificate(cert.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except OSError as error:
        raise StartError(f"{error.filename}: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise StartError(f"{cert}, {key}: cannot be read as PEM: {error}") from None
    if private.public_key() != loaded.public_key():
        raise StartError(f"{key} is not the private key of {cert}")
    digest = loaded.fingerprint(hashes.SHA256()).hex(":").upper()
    return Certificate(cert, key, digest, is_new, _facts(cert, loaded, digest))


def _facts(cert: Path, loaded: x509.Certificate, digest: str) -> CertificateFacts:
    """Extracts facts for the console. Subjects and names are untrusted text from the issuer."""
    return CertificateFacts(
        file=str(cert),
        fingerprint=digest,
        subject=loaded.subject.rfc4514_string(),
        issuer=loaded.issuer.rfc4514_string(),
        names=_names_of(loaded),
        from_us=_time_us(loaded.not_valid_before_utc),
        until_us=_time_us(loaded.not_valid_after_utc),
    )


def _names_of(loaded: x509.Certificate) -> tuple[str, ...]:
    try:
        found = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):  # missing or malformed
        return ()
    return tuple(str(one.value) for one in found if isinstance(one, x509.DNSName | x509.IPAddress))


def _time_us(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000


def _make(cert: Path, key: Path, listen_host: str, now: datetime) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Vedette server")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=CERTIFICATE_VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(_names(listen_host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(private.public_key()), False)
        # Identifies the issuer's key for clients that trust several certificates with this name.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(private.public_key()), False
        )
        .sign(private, hashes.SHA256())
    )
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        cert.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(key, pem, 0o600)
        _write(cert, made.public_bytes(serialization.Encoding.PEM), 0o644)
    except OSError as error:
        raise StartError(f"{error.filename}: {error.strerror}") from None


def _names(listen_host: str) -> list[x509.GeneralName]:
    """Returns the subject alternative names: host names, loopback, and the listening address."""
    names = dict.fromkeys(("localhost", socket.gethostname().lower(), socket.getfqdn().lower()))
    addresses: dict[IPv4Address | IPv6Address, None] = dict.fromkeys(
        (ip_address("127.0.0.1"), ip_address("::1"))
    )
    try:
        listened = ip_address(listen_host)
        if not listened.is_unspecified:
            addresses[listened] = None
    except ValueError:
        names[listen_host.lower()] = None
    dns = [x509.DNSName(name) for name in names if name.isascii() and 0 < len(name) < 254]
    return [*dns, *(x509.IPAddress(address) for address in addresses)]


def _key_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,  # clients that pin it use it as a CA
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, data: bytes, mode: int) -> None:
    """Writes a file atomically, so that a crash leaves no partial key."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)

"""Certificates and signatures for tests, made by `openssl` and `osslsigncode`."""

import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

needs_osslsigncode = pytest.mark.skipif(
    shutil.which("osslsigncode") is None, reason="osslsigncode is not installed"
)


@dataclass(frozen=True)
class Identity:
    """A certificate with its key, in files."""

    certificate: x509.Certificate
    key: rsa.RSAPrivateKey
    chain: Path
    key_file: Path

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def identity(
    folder: Path,
    name: str,
    issuer: Identity | None = None,
    *,
    usage: x509.ObjectIdentifier | None = None,
    days: tuple[int, int] = (-10, 10),
) -> Identity:
    """A certificate valid from and to some days from now: an authority without a `usage`, a root
    without an `issuer`. Its chain file has the issuers below the root."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example Works"),
        ]
    )
    now = datetime.now(UTC)
    building = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=usage is None, path_length=None), critical=True)
    )
    if usage is not None:
        building = building.add_extension(x509.ExtendedKeyUsage([usage]), critical=True)
    made = building.sign(issuer.key if issuer else key, hashes.SHA256())
    chain, key_file = folder / f"{name}.pem", folder / f"{name}.key"
    above = issuer.chain.read_bytes() if issuer else b""
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM) + above)
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return Identity(made, key, chain, key_file)


CODE_SIGNING = ExtendedKeyUsageOID.CODE_SIGNING
TIME_STAMPING = ExtendedKeyUsageOID.TIME_STAMPING


def signed(
    folder: Path, program: bytes, signer: Identity, *further: str, name: str = "Sheep Counter"
) -> bytes:
    """The program with a signature of `osslsigncode`."""
    plain, made = folder / "plain.exe", folder / "signed.exe"
    plain.write_bytes(program)
    made.unlink(missing_ok=True)
    subprocess.run(
        [
            "osslsigncode",
            "sign",
            "-certs",
            str(signer.chain),
            "-key",
            str(signer.key_file),
            "-n",
            name,
            "-h",
            "sha256",
            *further,
            "-in",
            str(plain),
            "-out",
            str(made),
        ],
        check=True,
        capture_output=True,
    )
    return made.read_bytes()

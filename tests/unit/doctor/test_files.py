"""Checks of files: certificates with dates and keys of all kinds, file modes, disks."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vedette.doctor.files import check_certificate, check_disk, check_modes
from vedette.doctor.finding import worst
from vedette.settings import Settings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOW_US = int(NOW.timestamp()) * 1_000_000


def make_certificate(folder: Path, begins_days: int, ends_days: int) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a server")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(7)
        .not_valid_before(NOW + timedelta(days=begins_days))
        .not_valid_after(NOW + timedelta(days=ends_days, hours=1))
        .sign(private, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a data directory with a certificate and private file modes."""
    data = tmp_path / "data"
    (data / "tls").mkdir(parents=True)
    data.chmod(0o700)
    make_certificate(data / "tls", -1, 99)
    (data / "tls/key.pem").chmod(0o600)
    return Settings(data=data)


@pytest.mark.parametrize(
    ("begins", "ends", "severity", "said"),
    [
        (-99, -2, "error", "has expired on 2026-02-27"),
        (-99, 3, "warning", "valid until 2026-03-04"),
        (2, 99, "error", "valid only from 2026-03-03"),
        (-99, 31, "ok", "valid until"),
    ],
)
def test_a_certificate_is_named_before_it_ends(
    settings: Settings, begins: int, ends: int, severity: str, said: str
) -> None:
    make_certificate(settings.data / "tls", begins, ends)
    (found,) = check_certificate(settings, NOW_US)
    assert found.severity == severity
    assert said in found.text


def test_a_certificate_without_its_key_is_an_error(settings: Settings, tmp_path: Path) -> None:
    make_certificate(tmp_path, -1, 99)
    shutil.copy(tmp_path / "key.pem", settings.data / "tls/key.pem")
    (found,) = check_certificate(settings, NOW_US)
    assert (found.severity, "is not the key of" in found.text) == ("error", True)
    for content in (b"", b"no key", b"\xff" * 99):
        (settings.data / "tls/key.pem").write_bytes(content)
        assert worst(check_certificate(settings, NOW_US)) == "error"
    (settings.data / "tls/key.pem").unlink()
    assert worst(check_certificate(settings, NOW_US)) == "error"


def test_without_a_certificate_the_first_start_makes_one(tmp_path: Path) -> None:
    assert worst(check_certificate(Settings(data=tmp_path), NOW_US)) == "ok"
    given = Settings(data=tmp_path, tls_cert=tmp_path / "gone", tls_key=tmp_path / "gone")
    assert worst(check_certificate(given, NOW_US)) == "error"
    assert worst(check_certificate(Settings(data=tmp_path, http=True), NOW_US)) == "ok"


@pytest.mark.parametrize(
    ("path", "severity"), [(".", "error"), ("tls/key.pem", "error"), ("state.db", "warning")]
)
def test_files_that_others_may_read_are_named(settings: Settings, path: str, severity: str) -> None:
    assert worst(check_modes(settings)) == "ok"
    if path == "state.db":
        (settings.data / path).touch()
    (settings.data / path).chmod(0o640 if path != "." else 0o750)
    (found,) = check_modes(settings)
    assert found.severity == severity
    assert found.remedy.startswith("chmod go= ")


def test_each_file_system_is_named_once(settings: Settings) -> None:
    (settings.data / "telemetry").mkdir()
    (found,) = check_disk(settings)
    assert str(settings.data) in found.text

"""The certificate of HTTPS."""

import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from vedette.bootstrap.certificate import Certificate, certificate
from vedette.errors import StartError
from vedette.settings import Settings

NOW_US = 1_700_000_000_000_000


def test_the_first_start_makes_one_and_later_starts_load_it(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "new")
    made = certificate(settings, NOW_US)
    loaded = certificate(settings, NOW_US)
    assert (made.is_new, loaded.is_new) == (True, False)
    assert made.fingerprint == loaded.fingerprint
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(loaded.cert, loaded.key)


def test_the_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    assert certificate(Settings(data=tmp_path), NOW_US).key.stat().st_mode & 0o777 == 0o600


def test_it_names_this_host_and_loopback_and_lasts_ten_years(tmp_path: Path) -> None:
    made = certificate(Settings(data=tmp_path, listen_host="192.0.2.7"), NOW_US)
    loaded = x509.load_pem_x509_certificate(made.cert.read_bytes())
    names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    addresses = set(map(str, names.get_values_for_type(x509.IPAddress)))
    assert addresses == {"127.0.0.1", "::1", "192.0.2.7"}
    now = datetime.fromtimestamp(NOW_US / 1_000_000, UTC)
    assert loaded.not_valid_after_utc - now == timedelta(days=3650)
    assert loaded.not_valid_before_utc < now


def test_clients_that_trust_several_servers_trust_each(tmp_path: Path) -> None:
    now_us = time.time_ns() // 1_000
    made = [certificate(Settings(data=tmp_path / name), now_us) for name in ("a", "b", "c")]
    trusted = tmp_path / "trusted.pem"
    trusted.write_text("".join(one.cert.read_text() for one in made))
    for one in made:
        shake_hands(one, trusted)


def shake_hands(server: Certificate, trusted: Path) -> None:
    """Raises SSLError where a client does not trust the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.cert, server.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=trusted)
    ends = [
        client.wrap_bio(down, up, server_hostname="localhost"),
        context.wrap_bio(up, down, server_side=True),
    ]
    for _ in range(3):
        for end in ends:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()


def test_the_one_of_the_operator_goes_first(tmp_path: Path) -> None:
    own = certificate(Settings(data=tmp_path / "own"), NOW_US)
    settings = Settings(data=tmp_path / "server", tls_cert=own.cert, tls_key=own.key)
    assert certificate(settings, NOW_US).fingerprint == own.fingerprint
    assert not (tmp_path / "server").exists()


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one = certificate(Settings(data=tmp_path / "1"), NOW_US)
    two = certificate(Settings(data=tmp_path / "2"), NOW_US)
    with pytest.raises(StartError, match="is not the private key of"):
        certificate(Settings(tls_cert=one.cert, tls_key=two.key), NOW_US)


@pytest.mark.parametrize("content", [None, b"", b"no PEM"])
def test_a_file_that_is_missing_or_damaged_is_a_clear_refusal(
    tmp_path: Path, content: bytes | None
) -> None:
    made = certificate(Settings(data=tmp_path), NOW_US)
    broken = tmp_path / "broken.pem"
    if content is not None:
        broken.write_bytes(content)
    for settings in (
        Settings(tls_cert=broken, tls_key=made.key),
        Settings(tls_cert=made.cert, tls_key=broken),
    ):
        with pytest.raises(StartError, match=r"broken\.pem"):
            certificate(settings, NOW_US)

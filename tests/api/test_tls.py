"""Versions of TLS, and a certificate that is replaced while the server runs, with real clients."""

import hashlib
import os
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.served import Server, start_server, wait_for
from vedette.bootstrap.certificate import certificate
from vedette.bootstrap.local_access import read_access
from vedette.clock import SystemClock
from vedette.settings import Settings


def pair(directory: Path) -> Path:
    """A folder with a new certificate and its key."""
    certificate(Settings(data=directory), SystemClock().now_us())
    return directory / "tls"


def fingerprint(file: Path) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read_text())).hexdigest()


def presented(server: Server, newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> str:
    """SHA-256 of the certificate that a new connection is shown."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = newest
    where = urlsplit(server.url)
    address = (where.hostname or "", where.port or 0)
    with (
        socket.create_connection(address, timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as shown,
    ):
        return hashlib.sha256(shown.getpeercert(binary_form=True) or b"").hexdigest()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate's folder, as a renewing program writes into it."""
    return pair(tmp_path_factory.mktemp("used"))


@pytest.fixture(scope="module")
def server(used: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {
        "tls_cert": used / "cert.pem",
        "tls_key": used / "key.pem",
        "tls_min_version": "1.3",
    }
    flags = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    yield from start_server(tmp_path_factory.mktemp("tls"), *flags)


def hang_up(server: Server) -> None:
    access = read_access(server.data)
    assert access is not None
    os.kill(access.pid, signal.SIGHUP)


def kept_open(server: Server) -> httpx.Client:
    """A client whose connection is not closed while the test looks elsewhere for some seconds."""
    context = ssl.create_default_context(cafile=str(server.certificate))
    limits = httpx.Limits(keepalive_expiry=None)
    return httpx.Client(base_url=server.url, verify=context, limits=limits, timeout=60)


def test_an_older_version_than_the_least_is_refused(server: Server, used: Path) -> None:
    assert presented(server) == fingerprint(used / "cert.pem")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        presented(server, newest=ssl.TLSVersion.TLSv1_2)


def test_a_certificate_is_replaced_while_connections_stay(
    server: Server, used: Path, tmp_path: Path
) -> None:
    new = pair(tmp_path / "new")
    with kept_open(server) as kept:
        assert kept.get("/healthz").status_code == 200
        shutil.copy(new / "key.pem", used / "key.pem")  # half of a renewal: they do not fit
        hang_up(server)
        log = server.data / "server.log"
        assert wait_for(lambda: "keeping the current certificate" in log.read_text(), True)
        assert presented(server) != fingerprint(new / "cert.pem")
        shutil.copy(new / "cert.pem", used / "cert.pem")
        assert wait_for(lambda: presented(server), fingerprint(new / "cert.pem")) == fingerprint(
            new / "cert.pem"
        )
        assert kept.get("/healthz").status_code == 200  # on the connection of before
    with server.analyst() as again:
        assert again.get("/healthz").status_code == 200


def test_a_signal_reloads_at_once(server: Server, used: Path, tmp_path: Path) -> None:
    new = pair(tmp_path / "new")
    for name in ("cert.pem", "key.pem"):
        shutil.copy(new / name, used / name)
    hang_up(server)
    began = time.monotonic()
    found = wait_for(lambda: presented(server), fingerprint(new / "cert.pem"), 10)
    assert found == fingerprint(new / "cert.pem"), time.monotonic() - began


def test_a_server_without_a_certificate_survives_the_signal(tmp_path: Path) -> None:
    for server in start_server(tmp_path, "--set", "http=true"):
        hang_up(server)
        log = server.data / "server.log"
        assert wait_for(lambda log=log: "nothing to reload" in log.read_text(), True)
        assert httpx.get(f"{server.url}/healthz").status_code == 200

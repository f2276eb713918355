"""A receiver that speaks the server's side of the sensor protocol and keeps what it needs to
count: what the sensor costs is measured without a server's work on the same machine."""

import datetime
import gzip
import ipaddress
import json
import ssl
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Receiver:
    """Listens on loopback until `close`; `marked` counts events whose command line holds it."""

    def __init__(self, folder: Path, mark: str, answers: dict[str, Any] | None = None) -> None:
        self.certificate, key = _certificate(folder)
        self.mark = mark.encode()
        self.marked: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.checkins: list[dict[str, Any]] = []
        self.answers = {"checkin_interval_s": 1, "isolate": False, **(answers or {})}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> dict[str, Any]:
        """The answer to a request."""
        name = path.partition("?")[0].rpartition("/")[2]
        if name == "enrol":
            return {"sensor_id": 1, "key": "k", "checkin_interval_s": 1}
        if name == "checkin":
            self.checkins.append(json.loads(body))
            return self.answers
        if name == "offer":
            return {"want": []}
        for line in body.splitlines():
            kind = line.partition(b'"type":"')[2].partition(b'"')[0].decode()
            self.events[kind] += 1
            if self.mark in line:
                self.marked[kind] += 1
        number = int(path.rpartition("=")[2])
        return {"acknowledged": number, "expected": number + 1, "rejected": []}


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            answer = json.dumps(receiver.take(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    return Handler


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "receiver.pem", folder / "receiver.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret = serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, secret))
    return paths

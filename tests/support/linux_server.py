"""A test double of the server's side of the sensor protocol, over HTTPS: it answers what the test
sets, including answers that the real server never gives."""

import base64
import gzip
import hashlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.served import Server
from vedette.bootstrap.certificate import certificate
from vedette.settings import Settings

Body = dict[str, Any]


@dataclass
class Signer:
    """The owner of an update key."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_text(self) -> str:
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def order(self, content: bytes, version: str) -> Body:
        """A signed update order for a file."""
        sha256 = hashlib.sha256(content).hexdigest()
        text = f"vedette-sensor-update\n{version}\n{sha256}".encode()
        return {
            "version": version,
            "url_path": f"/sensor/v1/packages/{sha256}",
            "sha256": sha256,
            "size": len(content),
            "signature": base64.b64encode(self.private.sign(text)).decode(),
        }


@dataclass
class PlayedServer:
    """`enrol_answers` are given one after the other, the last one for ever."""

    folder: Path
    url: str = ""
    certificate: Path = Path()
    enrol_answers: list[tuple[int, Body]] = field(default_factory=lambda: [(200, {})])
    orders: Body = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    enrolments: list[Body] = field(default_factory=list)
    check_ins: list[Body] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def server(self) -> Server:
        return Server(self.url, "", "", self.certificate, self.folder)

    def offer(self, order: Body, content: bytes) -> None:
        self.files[order["url_path"]] = content
        self.orders["update"] = order

    def health(self) -> str:
        return str(self.check_ins[-1]["health_message"]) if self.check_ins else ""

    def enrol(self, body: Body) -> tuple[int, Body]:
        self.enrolments.append(body)
        number = min(len(self.enrolments), len(self.enrol_answers)) - 1
        status, answer = self.enrol_answers[number]
        if status == 200:
            self.keys.append(f"key-{len(self.keys)}")
            answer = {"sensor_id": 7, "key": self.keys[-1], "checkin_interval_s": 1, **answer}
        return status, answer

    def check_in(self, body: Body) -> tuple[int, Body]:
        self.check_ins.append(body)
        return 200, {"checkin_interval_s": 1, "isolate": False, **self.orders}


def _handler(played: PlayedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/sensor/v1/enrol":
                self._answer(*played.enrol(json.loads(gzip.decompress(raw))))
            elif self.headers.get("Authorization") != f"Sensor 7:{played.keys[-1]}":
                self._answer(401, {})
            elif self.path == "/sensor/v1/checkin":
                self._answer(*played.check_in(json.loads(gzip.decompress(raw))))
            else:
                self._answer(200, {"want": [], "rejected": []})

        def do_GET(self) -> None:
            played.fetched.append(self.path)
            content = played.files.get(self.path)
            self._send(404 if content is None else 200, content or b"")

        def _answer(self, status: int, body: Body) -> None:
            self._send(status, json.dumps(body).encode())

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    return Handler


@contextmanager
def played_server(folder: Path) -> Iterator[PlayedServer]:
    """Listens on a port of loopback until the end."""
    folder.mkdir(exist_ok=True)
    made = certificate(Settings(data=folder), time.time_ns() // 1_000)
    played = PlayedServer(folder, certificate=made.cert)
    listening = ThreadingHTTPServer(("127.0.0.1", 0), _handler(played), bind_and_activate=True)
    listening.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.cert, made.key)
    listening.socket = context.wrap_socket(
        listening.socket, server_side=True, do_handshake_on_connect=False
    )
    played.url = f"https://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield played
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()

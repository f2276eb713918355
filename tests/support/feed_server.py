"""An HTTPS server that publishes documents, with every fault that a publisher can have."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vedette.bootstrap.certificate import certificate
from vedette.clock import SystemClock
from vedette.settings import Settings

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class FeedServer:
    """A running server: what it answers by path, and what it was asked."""

    url: str
    certificate: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def publish(self, path: str, body: bytes, content_type: str = "application/json") -> str:
        """The URL of a document that is answered whole."""
        self.answers[path] = lambda request: send(request, body, content_type)
        return self.url + path

    def answer(self, path: str, how: Answer) -> str:
        self.answers[path] = how
        return self.url + path


def send(
    request: BaseHTTPRequestHandler,
    body: bytes,
    content_type: str = "application/json",
    status: int = 200,
    **headers: str,
) -> None:
    request.send_response(status)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(body)))
    for name, text in headers.items():
        request.send_header(name.replace("_", "-"), text)
    request.end_headers()
    request.wfile.write(body)


def redirect(target: str) -> Answer:
    return lambda request: send(request, b"", status=302, Location=target)


@contextmanager
def feed_server(
    folder: Path, *, tls: bool = True, clients_of: Path | None = None
) -> Iterator[FeedServer]:
    """A server with a certificate of its own for 127.0.0.1 and localhost. With an authority in
    `clients_of` it talks only to those who have a certificate of it."""
    known: dict[str, FeedServer] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server = known["server"]
            server.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            found = server.answers.get(self.path.partition("?")[0])
            try:
                (found or (lambda request: send(request, b"", status=404)))(self)
            except OSError:  # the reader has seen enough
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = certificate(Settings(data=folder), SystemClock().now_us())
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.cert, made.key)
        if clients_of is not None:
            context.load_verify_locations(clients_of)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if tls else "http"
    known["server"] = FeedServer(f"{scheme}://127.0.0.1:{server.server_port}", made.cert)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield known["server"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Real receivers of messages: a mail server, syslog over all transports, an HTTPS server, and those
that hang."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.ports import free_port


def make_certificate(folder: Path) -> Path:
    """A self-signed certificate for localhost with its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "receiver.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@dataclass
class Mailbox:
    """Messages that a mail server received. `refuse` maps an address to an error such as `550
    no`."""

    port: int = 0
    mails: list[bytes] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        if answer := self.refuse.get(address):
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Session, envelope: Envelope
    ) -> str:
        assert isinstance(envelope.content, bytes)
        self.mails.append(envelope.content)
        self.recipients += envelope.rcpt_tos
        return "250 OK"

    def log_in(
        self, _server: Any, _session: Any, _envelope: Any, _how: str, who: Any
    ) -> AuthResult:
        assert isinstance(who, LoginPassword)
        self.logins.append((who.login, who.password))
        return AuthResult(success=who.password == b"right", handled=False)


@contextmanager
def mail_server(
    certificate: Path | None = None, *, tls: bool = False, login: bool = False, port: int = 0
) -> Iterator[Mailbox]:
    """aiosmtpd on loopback: with a certificate STARTTLS is required, or TLS from the first byte."""
    box = Mailbox(port or free_port())
    context = server_context(certificate) if certificate else None
    options: dict[str, Any] = {}
    if login:
        options = {"authenticator": box.log_in, "auth_required": not tls}
    if context and not tls:
        options |= {"tls_context": context, "require_starttls": True}
    controller = Controller(
        box,
        hostname="127.0.0.1",
        port=box.port,
        ssl_context=context if tls else None,
        **({"auth_require_tls": context is not None and not tls} if login else {}),
        **options,
    )
    controller.start()
    try:
        yield box
    finally:
        controller.stop()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def tcp_receiver(
    handle: Callable[[socket.socket], None], context: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[int]:
    """A TCP server that gives each connection to `handle`; its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection = self.request
            try:
                if context:
                    connection = context.wrap_socket(connection, server_side=True)
                handle(connection)
            except OSError:
                return
            finally:
                connection.close()

    with _Server(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def hanging_server(port: int = 0) -> Iterator[int]:
    """Accepts connections and says nothing."""
    ends = threading.Event()

    def hang(_: socket.socket) -> None:
        ends.wait()

    with tcp_receiver(hang, port=port) as bound:
        try:
            yield bound
        finally:
            ends.set()


def collector(received: list[bytes]) -> Callable[[socket.socket], None]:
    """Reads a connection to its end, and keeps what came as one item."""

    def handle(connection: socket.socket) -> None:
        data = b""
        while part := connection.recv(65_536):
            data += part
        received.append(data)
        if isinstance(connection, ssl.SSLSocket):
            connection.unwrap()

    return handle


@dataclass
class Post:
    """A request that an HTTP receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpReceiver:
    """Answers with `status` and `answer_headers`, and keeps every request."""

    port: int = 0
    scheme: str = "http"
    status: int = 200
    answer_headers: dict[str, str] = field(default_factory=dict)
    posts: list[Post] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://localhost:{self.port}/hook?key=1"


@contextmanager
def http_receiver(certificate: Path | None = None, port: int = 0) -> Iterator[HttpReceiver]:
    """An HTTP server on loopback, with TLS where a certificate is given."""
    receiver = HttpReceiver(scheme="https" if certificate else "http")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.posts.append(Post(self.path, dict(self.headers), body))
            self.send_response(receiver.status)
            for name, text in receiver.answer_headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(b"no such channel" if receiver.status >= 300 else b"ok")

        do_PUT = do_POST  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # clients that do not trust the certificate

    with Server(("127.0.0.1", port), Handler) as server:
        if certificate:
            server.socket = server_context(certificate).wrap_socket(server.socket, server_side=True)
        receiver.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()

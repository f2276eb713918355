"""A real HTTP proxy on loopback: CONNECT and whole URLs, with or without a password."""

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from select import select
from urllib.parse import urlsplit


@dataclass
class FeedProxy:
    """A running proxy, and what it was asked for."""

    address: str
    """Host and port."""
    asked: list[str] = field(default_factory=list)


@contextmanager
def feed_proxy(user: str = "", password: str = "") -> Iterator[FeedProxy]:
    """A proxy; with `user` it refuses who does not name itself so."""
    known: dict[str, FeedProxy] = {}
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _is_refused(self) -> bool:
            known["proxy"].asked.append(f"{self.command} {self.path}")
            if not user or self.headers.get("Proxy-Authorization") == wanted:
                return False
            self.send_response(407)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return True

        def do_CONNECT(self) -> None:
            if self._is_refused():
                return
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host, int(port)), 10) as server:
                self.send_response(200)
                self.end_headers()
                _pass_on(self.connection, server)
            self.close_connection = True

        def do_GET(self) -> None:
            if self._is_refused():
                return
            url = urlsplit(self.path)
            asking = HTTPConnection(url.hostname or "", url.port, timeout=10)
            asking.request("GET", url.path)
            answer = asking.getresponse()
            body = answer.read()
            asking.close()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    known["proxy"] = FeedProxy(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield known["proxy"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    """Bytes in both directions until one side has ended."""
    ways = {one: other, other: one}
    with suppress(OSError):
        while True:
            ready, _, _ = select(list(ways), [], [], 10)
            for side in ready:
                data = side.recv(65_536)
                if not data:
                    return
                ways[side].sendall(data)
            if not ready:
                return

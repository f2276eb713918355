"""The sender keeps a body until it is acknowledged; a real HTTP server answers it here."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
import zstandard

from vedette.errors import BadRequestError, UnauthorizedError
from vedette.ingest.framing.inflate import inflate
from vedette.simulate.bulk_client import BulkConnection, Target

ITEMS = b'{"errors":true,"items":[%b]}'
CREATED, NOOP, REFUSED = (b'{"create":{"status":%d}}' % code for code in (201, 200, 400))


@contextmanager
def answering(*answers: tuple[int, bytes]) -> Iterator[tuple[BulkConnection, list[bytes]]]:
    """A connection to a server that gives these answers in turn, and the bodies it got."""
    waiting, bodies = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append(inflate(body, self.headers.get("Content-Encoding", "")))
            status, answer = waiting.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    connection = BulkConnection(
        Target(f"http://127.0.0.1:{server.server_port}", "t"), pauses.append
    )
    try:
        yield connection, bodies
    finally:
        connection.close()
        server.shutdown()
        thread.join()
        server.server_close()


pauses: list[float] = []


def test_every_item_of_the_answer_is_counted() -> None:
    items = ITEMS % b",".join([CREATED, CREATED, NOOP, REFUSED])
    with answering((200, items)) as (connection, _):
        delivery = connection.deliver(b"x\n")
    assert (delivery.stored, delivery.known, delivery.refused) == (2, 1, 1)
    assert delivery.acknowledged == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_gets_the_same_body_again_after_the_time_it_asks_for(status: int) -> None:
    pauses.clear()
    with answering((status, b""), (status, b""), (200, ITEMS % CREATED)) as (connection, bodies):
        delivery = connection.deliver(b"body\n")
    assert bodies == [b"body\n"] * 3
    assert pauses == [7.0, 7.0]
    assert (delivery.stored, delivery.waits) == (1, 2)


@pytest.mark.parametrize(("status", "error"), [(401, UnauthorizedError), (413, BadRequestError)])
def test_a_final_refusal_is_raised(status: int, error: type[Exception]) -> None:
    with answering((status, b"no")) as (connection, _), pytest.raises(error, match=str(status)):
        connection.deliver(b"x\n")


def test_a_compressed_body_says_so() -> None:
    with answering((200, ITEMS % CREATED)) as (connection, bodies):
        connection.deliver(zstandard.compress(b"body\n"), "zstd")
    assert bodies == [b"body\n"]


def test_only_http_urls_are_taken() -> None:
    with pytest.raises(BadRequestError):
        BulkConnection(Target("ftp://127.0.0.1", "t"))

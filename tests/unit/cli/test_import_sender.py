"""Parts of files reach a server in order, and wait for it when it is busy."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from vedette.cli.importing.import_sender import Connection
from vedette.cli.importing.import_summary import Summary
from vedette.errors import BadRequestError, UnauthorizedError
from vedette.importer.file_sequence import Chunk


class Receiver:
    """An HTTP server that answers with what it was given, then as `/api/v1/ingest` does."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, Any]]] = []
        self.sources: list[str] = []
        self.bodies: list[bytes] = []
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = receiver.take(self.headers["X-Vedette-Source"], body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, source: str, body: bytes) -> tuple[int, dict[str, Any]]:
        with self._lock:
            if self.answers:
                return self.answers.pop(0)
            self.sources.append(source)
            self.bodies.append(body)
            return 200, answer(body.count(b"\n") + 1)


def answer(read: int, *errors: dict[str, Any]) -> dict[str, Any]:
    taken = read - len(errors)
    return {
        "read": read,
        "stored": taken,
        "records": 0,
        "duplicate": 0,
        "not_kept": 0,
        "filtered": 0,
        "rejected": len(errors),
        "errors": list(errors),
        "tally": [["Security", 4688, "events", taken]],
    }


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.server.shutdown()
    one.server.server_close()


def chunk(number: int, records: int = 3) -> Chunk:
    texts = [f'{{"n":{number}}}'.encode()] * records
    return Chunk(f"key:{number}", texts, [(0, n + 1) for n in range(records)], 0.1)


def sent(receiver: Receiver, chunks: list[Chunk]) -> list[str]:
    """Sources of the answers, in order."""
    connection = Connection(receiver.url, {"X-Auth-Token": "secret"}, None)
    try:
        answers = [one for each in chunks for one in connection.send(each)]
        answers += connection.flush()
    finally:
        connection.close()
    return [one.chunk.source for one in answers]


def test_parts_arrive_once_each_and_are_answered_in_order(receiver: Receiver) -> None:
    chunks = [chunk(number, records=2_000 if number % 3 else 3) for number in range(20)]
    wanted = [one.source for one in chunks]
    assert sent(receiver, chunks) == wanted
    assert sorted(receiver.sources) == sorted(wanted)
    assert sorted(receiver.bodies) == sorted(b"\n".join(one.records) for one in chunks)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(receiver: Receiver, status: int) -> None:
    receiver.answers = [(status, {})] * 2
    assert sent(receiver, [chunk(1)]) == ["key:1"]
    assert receiver.sources == ["key:1"]


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, UnauthorizedError), (403, UnauthorizedError), (413, BadRequestError)],
)
def test_a_refusal_of_everything_is_raised(
    receiver: Receiver, status: int, error: type[Exception]
) -> None:
    receiver.answers = [(status, {"message": "no"})]
    with pytest.raises(error, match="no"):
        sent(receiver, [chunk(1)])


def test_a_part_without_any_good_record_is_counted(receiver: Receiver) -> None:
    errors = [{"position": n, "reason": "no_host", "message": "m"} for n in range(3)]
    receiver.answers = [(400, {"reason": "nothing_taken", **answer(3, *errors)})]
    assert sent(receiver, [chunk(1)]) == ["key:1"]


def test_the_summary_is_one_json_object_with_every_count() -> None:
    body = Summary().body()
    assert list(body) == [
        "on_disk",
        "files",
        "read",
        "stored",
        "records",
        "duplicate",
        "not_kept",
        "filtered",
        "rejected",
        "conflicts",
        "hosts",
        "first",
        "last",
        "reasons",
        "errors",
        "refused_files",
        "tally",
    ]

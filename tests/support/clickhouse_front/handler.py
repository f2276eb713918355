"""Answers requests as a ClickHouse server does."""

import hmac
import json
import secrets
from base64 import b64decode
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

from tests.support.clickhouse_front.engine import Answer, EngineError, FrontEngine
from tests.support.clickhouse_front.faults import Faults
from tests.support.clickhouse_front.protocol import Request, compressed, read_request
from tests.support.clickhouse_front.statements import format_of, insert_of, reads

REFUSED = (
    "Code: 516. DB::Exception: {}: Authentication failed: password is incorrect, or there is no "
    "user with such name. (AUTHENTICATION_FAILED)"
)
_STATEMENTS_KEPT = 2_000


class FrontServer(ThreadingHTTPServer):
    """The front's socket and what its handlers share."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, engine: FrontEngine, user: str, password: str) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.engine = engine
        self.credentials = user, password
        self.faults = Faults()
        self.statements: deque[tuple[str, dict[str, str]]] = deque(maxlen=_STATEMENTS_KEPT)
        """Each with its settings."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: FrontServer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/ping" | "/replicas_status":
                self._send(200, b"Ok.\n")
            case "/faults":
                self._send(200, json.dumps(self.server.faults.left()).encode())
            case "/placement":
                self._send(200, json.dumps(self.server.engine.placement()).encode())
            case "/statements":
                self._send(200, json.dumps([one for one, _ in self.server.statements]).encode())
            case "/settings":
                self._send(200, json.dumps(list(self.server.statements)).encode())
            case _:
                self._run()

    def do_POST(self) -> None:
        if self.path != "/faults":
            self._run()
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.faults.replace(json.loads(body))
        self._send(200, b"")

    def log_message(self, *_arguments: object) -> None:
        pass

    def _run(self) -> None:
        request = read_request(self)
        user, is_known = self._user(request)
        if not is_known:
            self._send_error(EngineError(REFUSED.format(user)), status=403)
            return
        self._answer(request)

    def _user(self, request: Request) -> tuple[str, bool]:
        kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
        given = b64decode(encoded).decode() if kind == "Basic" else ""
        user, _, password = given.partition(":")
        user = self.headers.get("X-ClickHouse-User") or request.params.get("user") or user
        password = self.headers.get("X-ClickHouse-Key") or request.params.get("password", password)
        return user, hmac.compare_digest(f"{user}:{password}", ":".join(self.server.credentials))

    def _answer(self, request: Request) -> None:
        insert = insert_of(request.statement)
        text = insert.into if insert else request.statement.decode()
        self.server.statements.append((text, dict(request.settings)))
        fault = self.server.faults.take(text)
        if fault and fault.kind == "refuse":
            self._hang_up()
            return
        if fault and fault.kind == "error":
            made = f"Code: {fault.code}. DB::Exception: made by a test. (MADE_BY_A_TEST)"
            self._send_error(EngineError(made))
            return
        try:
            if not insert and self._wants_stream(request, text):
                self._stream(request)
                return
            answer = self.server.engine.run(request)
        except EngineError as error:
            self._send_error(error)
            return
        if fault and fault.kind == "lose":
            self._hang_up()
            return
        self._send_answer(request, answer)

    def _wants_stream(self, request: Request, sql: str) -> bool:
        is_whole = request.params.get("wait_end_of_query") == "1"
        return not is_whole and reads(sql) and format_of(sql) == "Native"

    def _stream(self, request: Request) -> None:
        blocks = self.server.engine.stream(request)
        first = next(blocks, b"")  # what fails before the first block is an error by status
        tag = secrets.token_hex(8)
        self._head(200, request)
        self.send_header("X-ClickHouse-Format", "Native")
        self.send_header("X-ClickHouse-Exception-Tag", tag)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self._chunk(first)
            for block in blocks:
                self._chunk(block)
        except EngineError as error:
            self._chunk(_late_error(error.text, tag))
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def _send_answer(self, request: Request, answer: Answer) -> None:
        body, encoding = answer.body, ""
        if request.params.get("enable_http_compression") == "1":
            body, encoding = compressed(body, self.headers.get("Accept-Encoding", ""))
        self._head(200, request)
        self.send_header("X-ClickHouse-Summary", json.dumps(answer.summary))
        if answer.format:
            self.send_header("X-ClickHouse-Format", answer.format)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self._end(body)

    def _send_error(self, error: EngineError, status: int = 500) -> None:
        self._head(status, None)
        self.send_header("X-ClickHouse-Exception-Code", str(error.code))
        self._end(error.text.encode() + b"\n")

    def _send(self, status: int, body: bytes) -> None:
        self._head(status, None)
        self._end(body)

    def _head(self, status: int, request: Request | None) -> None:
        self.send_response(status)
        self.send_header("X-ClickHouse-Server-Display-Name", "front")
        self.send_header("X-ClickHouse-Timezone", "UTC")
        if request is not None:
            own = request.params.get("query_id") or str(uuid4())
            self.send_header("X-ClickHouse-Query-Id", own)

    def _end(self, body: bytes) -> None:
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True


def _late_error(text: str, tag: str) -> bytes:
    """Formats an error that occurs after the engine has sent rows."""
    message = text.encode() + b"\n"
    return b"\r\n__exception__\r\n%b\r\n%b%d %b\r\n__exception__\r\n" % (
        tag.encode(),
        message,
        len(message),
        tag.encode(),
    )

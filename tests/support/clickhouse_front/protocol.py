"""Requests of ClickHouse's HTTP protocol."""

import gzip
import re
import zlib
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import lz4.frame
import zstandard

OF_TRANSPORT: Final = frozenset(
    (
        "database",
        "query",
        "user",
        "password",
        "buffer_size",
        "session_id",
        "session_timeout",
        "session_check",
        "query_id",
        "quota_key",
        "compress",
        "decompress",
        "role",
        "wait_end_of_query",
        "client_protocol_version",
        "default_format",
        "send_progress_in_http_headers",
        "http_headers_progress_interval_ms",
        "enable_http_compression",
        "cancel_http_readonly_queries_on_client_close",
    )
)
"""Parameters that are no settings of the query."""


@dataclass(frozen=True)
class Request:
    """One statement, as a client sent it."""

    statement: bytes
    """With its rows, for an INSERT."""
    params: dict[str, str]

    @property
    def settings(self) -> dict[str, str]:
        return {
            name: value
            for name, value in self.params.items()
            if name not in OF_TRANSPORT and not name.startswith("param_")
        }

    @property
    def bound(self) -> dict[str, str]:
        """Values of `{name:Type}` in the statement."""
        return {
            name.removeprefix("param_"): value
            for name, value in self.params.items()
            if name.startswith("param_")
        }


def read_request(handler: BaseHTTPRequestHandler) -> Request:
    """Reads the rest of a request whose headers have been read."""
    params = dict(parse_qsl(urlsplit(handler.path).query, keep_blank_values=True))
    body = _decompressed(_read_body(handler), handler.headers.get("Content-Encoding", ""))
    kind = handler.headers.get("Content-Type", "")
    if kind.startswith("multipart/form-data"):
        params |= _form(body, kind)
        body = b""
    query = params.get("query", "").encode()
    return Request(query + b"\n" + body if query and body else query or body, params)


def _read_body(handler: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in handler.headers.get("Transfer-Encoding", ""):
        return handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    chunks = []
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        chunks.append(handler.rfile.read(size))
        handler.rfile.readline()
    while handler.rfile.readline().strip():
        pass
    return b"".join(chunks)


def _decompressed(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "gzip":
            return gzip.decompress(body)
        case "deflate":
            return zlib.decompress(body)
        case "lz4":
            return lz4.frame.decompress(body)
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(body)
    return body


def compressed(body: bytes, accepted: str) -> tuple[bytes, str]:
    """The body in an encoding that the client accepts, and its name; "" for none."""
    for name in (one.strip() for one in accepted.split(",")):
        match name:
            case "lz4":
                return lz4.frame.compress(body), name
            case "zstd":
                return zstandard.ZstdCompressor().compress(body), name
            case "gzip":
                return gzip.compress(body, 1), name
    return body, ""


def _form(body: bytes, kind: str) -> dict[str, str]:
    boundary = b"--" + kind.partition("boundary=")[2].strip('"').encode()
    fields = {}
    for part in body.split(boundary)[1:-1]:
        head, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)
        if name:
            fields[name[1].decode()] = value.removesuffix(b"\r\n").decode()
    return fields

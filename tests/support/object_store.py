"""Object stores on loopback: a real one in its own process, one that fails, one that is slow."""

import gzip
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import obstore
import orjson
import pytest
from obstore.store import S3Store

from tests.support.ports import free_port

START_S = 60
PAGE_KEYS = 100
"""Maximum objects per list response of the store: a tenth of that of other stores."""

KEY, SECRET = "an-access-key", "a-secret-that-is-never-logged"


@contextmanager
def object_store() -> Iterator[str]:
    """URL of an S3 server, empty, until the end."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    process = subprocess.Popen(
        [*command, str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": str(PAGE_KEYS)},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(START_S)


def make_bucket(url: str) -> str:
    """A new bucket's name."""
    name = "bucket-" + os.urandom(6).hex()
    httpx.put(f"{url}/{name}", timeout=60).raise_for_status()
    return name


def overwrite(url: str, bucket: str, path: str, content: bytes) -> None:
    """Overwrites an object, like another client of the store."""
    store = S3Store(
        bucket,
        endpoint=url,
        region="us-east-1",
        access_key_id=KEY,
        secret_access_key=SECRET,
        client_options={"allow_http": True},
    )
    obstore.put(store, path, content)


def records_of(content: bytes) -> list[dict[str, Any]]:
    """The records of gzipped JSON lines."""
    return [orjson.loads(line) for line in gzip.decompress(content).splitlines()]


@dataclass(frozen=True)
class RealBucket:
    """A bucket of a real object store."""

    url: str
    name: str

    def destination(self, endpoint: str = "") -> dict[str, str]:
        """Returns the configuration of the bucket as a forwarder's destination."""
        return {
            "kind": "s3",
            "bucket": self.name,
            "endpoint": endpoint or self.url,
            "access_key_id": KEY,
            "secret_access_key": SECRET,
        }

    def objects(self) -> dict[str, bytes]:
        """Contents by key, read by another client than wrote them."""
        store = S3Store(
            self.name,
            endpoint=self.url,
            region="us-east-1",
            access_key_id=KEY,
            secret_access_key=SECRET,
            client_options={"allow_http": True},
        )
        keys = sorted(one["path"] for page in obstore.list(store) for one in page)
        return {key: bytes(obstore.get(store, key).bytes()) for key in keys}

    def ids(self) -> list[str]:
        return [one["id"] for content in self.objects().values() for one in records_of(content)]


class _Failing(BaseHTTPRequestHandler):
    def answer(self) -> None:
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 - names of the library

    def log_message(self, *_arguments: object) -> None:
        pass


class _Slow(_Failing):
    def answer(self) -> None:
        """An answer that never ends, or never begins where it has no body."""
        if self.command != "GET":
            self.server.stopping.wait(START_S)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.server.stopping.wait(START_S)  # type: ignore[attr-defined]

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815


@contextmanager
def failing_store() -> Iterator[str]:
    """URL of a server that answers everything with 500."""
    with _served(_Failing) as url:
        yield url


@contextmanager
def slow_store() -> Iterator[str]:
    """URL of a server whose answers begin and never end."""
    with _served(_Slow) as url:
        yield url


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.stopping = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.stopping.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()
        thread.join()


def _wait_until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{url}/moto-api/").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    pytest.fail("the object store did not start")

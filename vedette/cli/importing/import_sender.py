"""Sends chunks of files to `/api/v1/ingest`, several concurrently.

The server commits the parts of a sequence in the order of their numbers
(`pipeline/part_sequencer.py`) regardless of their arrival, because records provide context for
later ones.
"""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx

from vedette.errors import BadRequestError, UnauthorizedError, UnavailableError
from vedette.importer.file_sequence import Chunk
from vedette.limits import IMPORT_ATTEMPTS_MAX, IMPORT_IN_FLIGHT, Limit
from vedette.simulate.bulk_client import tls_context

IMPORT_RETRY_MAX_S: Limit[float] = 10.0
"""Maximum delay (s) before the next attempt for a chunk, regardless of Retry-After, so that the
import continues soon after the server recovers."""

IMPORT_ANSWER_SHOWN_CHARS: Limit[int] = 200
"""Characters of a non-JSON response in an error message: proxies send whole pages."""

IMPORT_REQUEST_TIMEOUT_S: Limit[float] = 300.0
"""Timeout of an import request (s). A commit takes less than a second, longer while the store
merges."""


class Answered(NamedTuple):
    """A chunk and its response, the body of `POST /api/v1/ingest`."""

    chunk: Chunk
    answer: dict[str, Any]


class Sender(Protocol):
    """Destination of chunks, which are sent in order, several concurrently."""

    def send(self, chunk: Chunk) -> Iterator[Answered]:
        """Sends a chunk; yields responses to earlier chunks that had to complete first.

        Raises UnavailableError if nothing is accepted for a minute or more.
        """

    def flush(self) -> Iterator[Answered]:
        """Waits for all chunks in flight; yields their responses."""


class _Posted(NamedTuple):
    chunk: Chunk
    answer: "Future[dict[str, Any]]"


class Connection:
    """Sends chunks over HTTP. Not thread-safe."""

    def __init__(self, url: str, headers: Mapping[str, str], ca: Path | None) -> None:
        """`headers` contain the token."""
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            verify=tls_context(ca),
            timeout=IMPORT_REQUEST_TIMEOUT_S,
        )
        self._pool = ThreadPoolExecutor(IMPORT_IN_FLIGHT, thread_name_prefix="send")
        self._under_way: list[_Posted] = []

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._client.close()

    def send(self, chunk: Chunk) -> Iterator[Answered]:
        """Sends a chunk; yields responses to earlier chunks that had to complete first.

        Raises UnauthorizedError for a rejected token, BadRequestError for any other rejected
        request, UnavailableError if the server accepts nothing for minutes.
        """
        body = b"\n".join(chunk.records)
        while len(self._under_way) >= IMPORT_IN_FLIGHT:
            yield self._oldest()
        answer = self._pool.submit(self._deliver, body, chunk.source)
        self._under_way.append(_Posted(chunk, answer))

    def flush(self) -> Iterator[Answered]:
        """Waits for all chunks in flight; yields their responses."""
        while self._under_way:
            yield self._oldest()

    def _oldest(self) -> Answered:
        posted = self._under_way.pop(0)
        return Answered(posted.chunk, posted.answer.result())

    def _deliver(self, body: bytes, source: str) -> dict[str, Any]:
        """Posts a chunk and retries until it is acknowledged."""
        for attempt in range(IMPORT_ATTEMPTS_MAX):
            try:
                response = self._post(body, source)
            except httpx.TransportError:
                time.sleep(min(0.2 * (attempt + 1), IMPORT_RETRY_MAX_S))
                continue
            if response.status_code in (429, 502, 503, 504):
                time.sleep(_retry_s(response))
                continue
            return _answer(response)
        raise UnavailableError(f"the server accepted nothing in {IMPORT_ATTEMPTS_MAX} attempts")

    def _post(self, body: bytes, source: str) -> httpx.Response:
        headers = {"Content-Type": "application/x-ndjson", "X-Vedette-Source": source}
        return self._client.post("/api/v1/ingest", content=body, headers=headers)


def _answer(response: httpx.Response) -> dict[str, Any]:
    """Returns the body of a response with counts. A 400 also has counts if all records were
    rejected."""
    try:
        body: dict[str, Any] = response.json()
    except ValueError:
        body = {}
    if response.status_code == 200 or (response.status_code == 400 and "tally" in body):
        return body
    detail = body.get("message") or response.text[:IMPORT_ANSWER_SHOWN_CHARS]
    message = f"the server returned {response.status_code}: {detail}"
    if response.status_code in (401, 403):
        raise UnauthorizedError(message)
    raise BadRequestError(message)


def _retry_s(response: httpx.Response) -> float:
    try:
        return min(float(response.headers.get("Retry-After", "1")), IMPORT_RETRY_MAX_S)
    except ValueError:
        return 1.0

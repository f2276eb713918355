"""Converts a telemetry request to a `Submission`: reads, inflates and splits the body, and computes
the key that deduplicates repeated requests.

Small uncompressed bodies are split on the event loop. All others are split in a dedicated thread
pool, which also renders responses about many records, so that neither the event loop nor searches
wait for them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import xxhash
from anyio import to_thread
from fastapi import Request

from vedette.errors import BadRequestError
from vedette.limits import SMALL_BODY_BYTES_MAX, Limit
from vedette.model.principal import Principal
from vedette.pipeline.submission import Submission, request_key
from vedette.state.policy.groups import DEFAULT_GROUP_ID
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import inflate_within, lease_of, raw_body
from vedette.web.http.client_address import client_address
from vedette.web.http.services import Services

RECORDS_ANSWERED_ON_LOOP_MAX: Limit[int] = 1_000
"""Records whose outcomes the event loop renders itself: it takes 0.3 ms if they are stored, up to 9
ms if each was rejected for a different reason. A thread renders larger responses."""

RECORDS_FREED_AT_ONCE: Limit[int] = 1_000
"""Records or outcomes of a body that a thread frees before other threads get a turn. Freeing
200,000 in one step blocked the event loop for 20 to 60 ms."""


SOURCE_HEADER: Final = "x-vedette-source"
"""Header in which importers send `SHA-256 of a file:number of the part`. Equal values mean the same
request, even if the bytes are sent differently."""

_SOURCE: Final = re.compile(r"[0-9a-f]{64}:[0-9]{1,9}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TelemetryBody(Generic[T]):
    """A split telemetry body with the attributes that the write path needs."""

    parts: T
    byte_count: int
    request_key: int
    group_id: int
    any_group: bool
    """Whether the sender may write for hosts of every sensor group."""
    source: str
    """Part of a file that an importer sends (`SOURCE_HEADER`), "" for other senders."""
    peer_ip: str
    """Network address of the client."""

    def submission(self, records: list[bytes]) -> Submission:
        return Submission(
            records,
            self.group_id,
            self.request_key,
            self.byte_count,
            in_sequence=bool(self.source),
            any_group=self.any_group,
            peer_ip="" if self.source else self.peer_ip,
        )


async def read_telemetry(
    request: Request, services: Services, split: Callable[[bytes], T]
) -> TelemetryBody[T]:
    """Reads a body and splits it. Raises TooLargeError, and BadRequestError for damaged compression
    and for bodies that `split` cannot parse."""
    settings = services.settings
    principal = principal_of(request)
    source = source_of(request)
    encoding = request.headers.get("content-encoding", "")
    raw, lease = await raw_body(request, settings.body_bytes_max), lease_of(request)

    def work() -> TelemetryBody[T]:
        body = inflate_within(lease, raw, encoding, settings.body_inflated_bytes_max)
        group_id = principal.group_id or DEFAULT_GROUP_ID
        key = _key(principal, body, source)
        peer_ip = client_address(request, settings.trusted_proxies)
        return TelemetryBody(
            split(body), len(body), key, group_id, principal.is_global_admin, source, peer_ip
        )

    try:
        if not encoding and len(raw) <= SMALL_BODY_BYTES_MAX:
            return work()
        return await to_thread.run_sync(work, limiter=services.splits)
    finally:
        lease.release()  # the records are copies, and the queue has its own limit


async def rendered(
    services: Services, record_count: int, render: Callable[[], T], *spent: list[Any]
) -> T:
    """Returns the result of `render`, which runs in a thread if `record_count` is large.

    That thread also empties the lists in `spent`: freeing many objects in one step would hold the
    interpreter lock.
    """
    if record_count <= RECORDS_ANSWERED_ON_LOOP_MAX:
        return render()

    def render_and_free() -> T:
        answer = render()
        for one in spent:
            empty(one)
        return answer

    return await to_thread.run_sync(render_and_free, limiter=services.splits)


def empty(objects: list[Any]) -> None:
    """Empties a list in portions, so that other threads get a turn in between."""
    while objects:
        del objects[-RECORDS_FREED_AT_ONCE:]


def source_of(request: Request) -> str:
    """Returns the file part that an importer sends, "" without the header. Raises
    BadRequestError."""
    source = request.headers.get(SOURCE_HEADER, "")
    if source and not _SOURCE.fullmatch(source):
        raise BadRequestError(f"{SOURCE_HEADER}: must be a lowercase SHA-256, `:`, and a number")
    return source


def _key(principal: Principal, body: bytes, source: str) -> int:
    """Returns a key from the credential and the body. If an administrator imports, the key depends
    only on file and part, so that every later import of the file is deduplicated."""
    identity = source.encode() if source else body
    if source and principal.is_global_admin:
        return request_key(identity)
    return request_key(identity, xxhash.xxh3_64_intdigest(principal.token_id.encode()))

"""Converts a telemetry request to a `Submission`: read, inflate, split, and compute the key that
deduplicates repeated requests.

Small plain bodies are split on the event loop; all others in a thread pool of their own, so that
neither the event loop nor searches wait for them. So are answers about many records.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import xxhash
from anyio import to_thread
from fastapi import Request

from vedette.api.http.access import principal_of
from vedette.api.http.client_address import client_address
from vedette.api.http.request_bodies import inflate_within, lease_of, raw_body
from vedette.api.services import Services
from vedette.errors import BadRequestError
from vedette.limits import (
    RECORDS_ANSWERED_ON_LOOP_MAX,
    RECORDS_FREED_AT_ONCE,
    SMALL_BODY_BYTES_MAX,
)
from vedette.model.principal import Principal
from vedette.pipeline.submission import Submission, request_key
from vedette.state.policy.groups import DEFAULT_GROUP_ID

SOURCE_HEADER: Final = "x-vedette-source"
"""`SHA-256 of a file:number of the part`, from importers: the same part of the same file is the
same request, whichever way its bytes travel."""

_SOURCE: Final = re.compile(r"[0-9a-f]{64}:[0-9]{1,9}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TelemetryBody(Generic[T]):
    """A split telemetry body with its attributes for the write path."""

    parts: T
    byte_count: int
    request_key: int
    group_id: int
    any_group: bool
    """Whether the sender may write for hosts of every sensor group."""
    source: str
    """The part of a file that an importer says it sends, "" for other senders."""
    peer_ip: str
    """Network address that the request came from."""

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
    """Read a body and split it. Raises TooLargeError, and BadRequestError for damaged
    compression and for what `split` cannot read."""
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
        lease.release()  # the records are copies, and the queue has a bound of its own


async def rendered(
    services: Services, record_count: int, render: Callable[[], T], *spent: list[Any]
) -> T:
    """What `render` makes of the outcomes of so many records: in a thread where they are many.
    That thread empties what is `spent` by it, too: whoever frees many objects in one step keeps the
    interpreter lock for all of them."""
    if record_count <= RECORDS_ANSWERED_ON_LOOP_MAX:
        return render()

    def render_and_free() -> T:
        answer = render()
        for one in spent:
            empty(one)
        return answer

    return await to_thread.run_sync(render_and_free, limiter=services.splits)


def empty(objects: list[Any]) -> None:
    """Takes everything out of a list in portions, between which other threads have their turn."""
    while objects:
        del objects[-RECORDS_FREED_AT_ONCE:]


def source_of(request: Request) -> str:
    """The part of a file that an importer says it sends, "" without. Raises BadRequestError."""
    source = request.headers.get(SOURCE_HEADER, "")
    if source and not _SOURCE.fullmatch(source):
        raise BadRequestError(f"{SOURCE_HEADER}: must be a SHA-256 in lower case, `:`, a number")
    return source


def _key(principal: Principal, body: bytes, source: str) -> int:
    """Key of (credential, body); of (file, part) alone when an administrator imports, so that any
    later import of the file is deduplicated."""
    identity = source.encode() if source else body
    if source and principal.is_global_admin:
        return request_key(identity)
    return request_key(identity, xxhash.xxh3_64_intdigest(principal.token_id.encode()))

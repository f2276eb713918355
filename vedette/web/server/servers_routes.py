"""Requests between servers of a cluster, signed with the secret of their state database
(docs/security-network.md#between-servers). Not for other clients."""

import msgspec
from anyio import to_thread
from fastapi import Request
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError, UnauthorizedError
from vedette.limits import Limit
from vedette.pipeline.submission import Submission
from vedette.servers.cluster import Cluster
from vedette.servers.forwarding import PATH, TYPE
from vedette.web.http.bodies.request_bodies import lease_of, raw_body
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import services_of

FORWARD_OVERHEAD_BYTES_MAX: Limit[int] = 1 << 20
"""Bytes of a forwarded request in addition to its records."""


router = Router(include_in_schema=False)


@router.post(PATH, right=Right.IN_BODY, summary="Receive records of this server's hosts")
async def records(request: Request) -> Response:
    """Body: a submission from another server. Returns its receipt. Both are MessagePack."""
    here = services_of(request)
    if here.cluster is None:
        raise NotFoundError("this server is the only one")
    digest = here.cluster.check_sender(request.headers.get("authorization", ""))
    most = here.settings.body_inflated_bytes_max + FORWARD_OVERHEAD_BYTES_MAX
    body, lease = await raw_body(request, most), lease_of(request)
    try:
        submission = await to_thread.run_sync(_submission, digest, body, limiter=here.splits)
    finally:
        lease.release()  # the records are copies, and the queue has its own limit
    receipt = await here.ingest_queue.submit(submission)
    return Response(msgspec.msgpack.encode(receipt), media_type=TYPE)


def _submission(digest: str, body: bytes) -> Submission:
    if not Cluster.is_whole(digest, body):
        raise UnauthorizedError("the body does not match its signature")
    try:
        found = msgspec.msgpack.decode(body, type=Submission)
    except msgspec.DecodeError as error:
        raise BadRequestError(f"the body is not a valid submission: {error}") from None
    if len(found.parts) != len(found.records):
        raise BadRequestError("every record must have a part")
    return found

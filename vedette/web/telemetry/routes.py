"""`POST /api/v1/ingest`: telemetry as JSON in any format; the server recognizes each record's
format."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.ingest.framing.body import split_body
from vedette.pipeline.receipt_report import report
from vedette.pipeline.submission import Receipt
from vedette.web.http.bodies.telemetry_request import TelemetryBody, read_telemetry, rendered
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services

router = Router(tags=["telemetry"])


@router.post("/api/v1/ingest", right=Right.SEND, summary="Send telemetry as JSON")
async def ingest(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """Body: an array, an object per line, or concatenated objects; plain, gzip, deflate or zstd.
    200 means that everything accepted is stored and synced; `errors` lists rejected records by
    position. 400 means that no record was accepted."""
    sent = await read_telemetry(request, here, _pieces)
    receipt = await _submit(sent, here)
    spent = sent.parts, receipt.refusals
    return await rendered(here, len(receipt.outcomes), lambda: _answer(receipt), *spent)


def _answer(receipt: Receipt) -> Response:
    body = report(receipt)
    if body["rejected"] == body["read"]:
        refused = {"reason": "nothing_taken", "message": "no record of the request can be taken"}
        return json_answer(refused | body, 400)
    return json_answer(body)


async def _submit(sent: TelemetryBody[list[bytes]], here: Services) -> Receipt:
    submission = sent.submission(sent.parts)
    if not sent.source:
        return await here.intake.submit(submission)
    await here.part_sequencer.wait_for_turn(sent.source)
    return await here.intake.submit_in_order(
        submission, lambda: here.part_sequencer.queued(sent.source)
    )


def _pieces(body: bytes) -> list[bytes]:
    pieces = split_body(body)
    if not pieces:
        raise BadRequestError("the body contains no records", reason="empty_body")
    return pieces

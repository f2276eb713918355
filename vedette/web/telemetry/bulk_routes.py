"""`_bulk`, the Elasticsearch-compatible sink (docs/telemetry-formats.md#protocols), for any sender
with an Elasticsearch output. A 200 means that everything accepted is stored and synced."""

import time
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.ingest.framing.bulk_body import NO_RECORD, Bulk, split_bulk
from vedette.pipeline.submission import Outcome, Receipt
from vedette.web.http.bodies.telemetry_request import read_telemetry, rendered
from vedette.web.http.error_responses import ELASTIC_HEADERS, ELASTIC_TAG
from vedette.web.http.responses import raw_json
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.telemetry.bulk_response_json import BulkOutcome, Problem, bulk_answer, problems_of

router = Router(tags=[ELASTIC_TAG])

UNSERVED: Final = Problem("illegal_argument_exception", "only create and index are supported")

_PARAMETERS: Final = described(
    ("filter_path", "Members of the answer to keep, comma-separated"),
    ("pipeline", "Ignored: records are recognised by what they are"),
)


async def bulk(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """Body: NDJSON pairs of action and document, plain, gzip or zstd. Returns an item for every
    action in order: 201 stored, 200 duplicate or filtered, 400 rejected. The response follows after
    the records are stored and synced."""
    began = time.perf_counter()
    sent = await read_telemetry(request, here, split_bulk)
    records = sent.parts.records
    receipt = (
        await here.intake.submit(sent.submission(records)) if records else Receipt(bytearray())
    )
    took_ms = int((time.perf_counter() - began) * 1_000)
    filter_path = request.query_params.get("filter_path", "")
    answer = await rendered(
        here,
        len(sent.parts.actions),
        lambda: bulk_answer(_outcome(sent.parts, receipt), took_ms, filter_path),
        records,
        receipt.refusals,
    )
    return raw_json(answer, headers=ELASTIC_HEADERS)


def _outcome(bulk: Bulk, receipt: Receipt) -> BulkOutcome:
    """Returns the outcome of every action, from the outcomes of the records."""
    actions = [action.name for action in bulk.actions]
    problems = problems_of(receipt)
    if len(bulk.records) == len(actions):
        return BulkOutcome(actions, receipt.outcomes, problems)
    outcomes = bytearray(len(actions))
    of_actions: dict[int, Problem] = {}
    for position, record in enumerate(bulk.record_of):
        outcomes[position] = Outcome.REJECTED if record == NO_RECORD else receipt.outcomes[record]
        if record == NO_RECORD:
            of_actions[position] = UNSERVED
        elif record in problems:
            of_actions[position] = problems[record]
    return BulkOutcome(actions, outcomes, of_actions)


for _path in ("/_bulk", "/{index}/_bulk"):
    for _method in ("POST", "PUT"):
        router.add(
            _method,
            _path,
            bulk,
            right=Right.SEND,
            summary="Send telemetry in bulk",
            openapi_extra=_PARAMETERS,
        )

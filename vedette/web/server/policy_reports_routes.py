"""Receives browser reports of content that the console's content security policy blocked."""

from typing import Annotated

import orjson
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, BusyError
from vedette.limits import Limit
from vedette.state.accounts.sign_in import network_of
from vedette.web.http.bodies.request_bodies import raw_body
from vedette.web.http.client_address import client_address
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services

CSP_REPORT_BYTES_MAX: Limit[int] = 4 * 1024
"""Bytes of a browser's report about a policy violation."""


router = Router(tags=["server"])


@router.post("/api/v1/csp-report", right=Right.OPEN, summary="Report a policy violation of a page")
async def report(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """Body: the report that browsers send automatically, in `report-uri` or `report-to` format, up
    to 4 kB. The server logs and counts it (`vedette_csp_reports`), without query strings. Returns
    429 above 30 requests per minute and address, and 300 in total."""
    address = client_address(request, here.settings.trusted_proxies)
    if not here.policy_reports.admit(network_of(address), here.clock.now_us()):
        raise BusyError("too many reports in this minute", reason="too_many_requests")
    raw = await raw_body(request, CSP_REPORT_BYTES_MAX)
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from None
    here.policy_reports.log(body, address)
    return json_answer({"result": "success"})

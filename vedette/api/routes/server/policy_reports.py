"""Where browsers report what the console's content security policy refused."""

from typing import Annotated

import orjson
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.client_address import client_address
from vedette.api.http.request_bodies import raw_body
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, BusyError
from vedette.state.accounts.sign_in import network_of

router = Router(tags=["server"])


@router.post("/api/v1/csp-report", summary="Report what a page's policy refused")
async def report(request: Request, here: Annotated[Services, Depends(services)]) -> Response:
    """Takes what browsers send by themselves, in the form of `report-uri` or of `report-to`, up to
    4 kB. It is logged and counted (`vedette_csp_reports`), without the queries of addresses. 429
    above 30 requests a minute of an address, and 300 of all."""
    address = client_address(request, here.settings.trusted_proxies)
    if not here.policy_reports.admit(network_of(address), here.clock.now_us()):
        raise BusyError("too many reports in this minute", reason="too_many_requests")
    raw = await raw_body(request, limits.CSP_REPORT_BYTES_MAX)
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"the body is no JSON: {error}") from None
    here.policy_reports.log(body, address)
    return json_answer({"result": "success"})

"""The approved list: addresses that may call the API (docs/http-api.md#approved-addresses)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.client_address import client_address
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import empty_answer, json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.parameters import ID_MAX, bounded_number, described
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.respond.approved_reach import approving_reach
from vedette.state.policy import approved_addresses

router = Router(tags=["approved list"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_LIST: Final = "/api/v1/approvedlist"
_SHORT: Final = "/approvedlist"
_OLDER: Final = "/api/v1/whitelist"

WARNING_HEADER: Final = "X-Vedette-Warning"
"""Says that the change would lock its caller out; clients show it or not, answers have no body."""


@router.get(f"{_SHORT}/entries", summary="All approved addresses")
@router.get(f"{_OLDER}/entries", summary="All approved addresses")
@router.get(f"{_LIST}/entries", summary="All approved addresses")
def listed(here: Here) -> Response:
    found = approved_addresses.entries(here.database)
    return json_answer([{"id": entry.id, "ipaddr": entry.network} for entry in found])


@router.post(f"{_SHORT}/entries", summary="Approve addresses")
@router.post(f"{_OLDER}/entries", summary="Approve addresses")
@router.post(f"{_LIST}/entries", summary="Approve addresses")
def add(here: Here, body: Body) -> Response:
    """Takes `ipaddr`: an address or a block such as 192.0.2.0/24, or a list of them. The answer has
    `id`, a number or a list. All are added, or none."""
    check_members(body, "id", "ipaddr", of="an approved address")
    given = body.get("ipaddr")
    texts = given if isinstance(given, list) else [given]
    if not texts or any(not isinstance(text, str) for text in texts):
        raise BadRequestError("ipaddr: must be an address, or a list of addresses")
    if len(texts) > limits.APPROVED_ADDRESSES_MAX:
        raise BadRequestError(f"ipaddr: at most {limits.APPROVED_ADDRESSES_MAX} addresses")
    ids = approved_addresses.add(here.database, [str(text) for text in texts])
    here.approved_addresses.refresh()
    return json_answer({"id": ids if isinstance(given, list) else ids[0]})


@router.delete(f"{_SHORT}/entries/{{entry_id}}", summary="Remove an approved address")
@router.delete(f"{_OLDER}/entries/{{entry_id}}", summary="Remove an approved address")
@router.delete(f"{_LIST}/entries/{{entry_id}}", summary="Remove an approved address")
def remove(entry_id: str, request: Request, here: Here) -> Response:
    """204. A header `X-Vedette-Warning` says when the caller's own address is no longer approved
    while approving is on; `vedette approvedlist disable` lets everybody in again."""
    try:
        number = bounded_number("id", entry_id, least=1, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no approved address {entry_id[:40]!r}") from None
    approved_addresses.remove(here.database, number)
    here.approved_addresses.refresh()
    return _done(request, here)


@router.get(f"{_SHORT}/enabled", summary="Whether only approved addresses may call")
@router.get(f"{_OLDER}/enabled", summary="Whether only approved addresses may call")
@router.get(f"{_LIST}/enabled", summary="Whether only approved addresses may call")
def state(here: Here) -> Response:
    return json_answer({"state": approved_addresses.is_enabled(here.database)})


@router.get(
    f"{_LIST}/locked_out",
    summary="Who could not call any more",
    openapi_extra=described(("without", "id of an entry that is to be removed")),
)
def locked_out(request: Request, here: Here) -> Response:
    """Whom approving with the list as it is would lock out, or with it but for the entry
    `without`: the sessions and tokens that are good, were used within 30 days and last from
    another address, the latest first, and whether the caller's own address is approved. Sensors
    and senders of telemetry call from anywhere."""
    given = request.query_params.get("without", "")
    number = bounded_number("without", given, least=1, most=ID_MAX) if given else 0
    address = client_address(request, here.settings.trusted_proxies)
    reach = approving_reach(
        here.database, address, number, here.clock.now_us(), here.approved_addresses.own_tokens
    )
    return json_answer(
        {
            "caller": {"address": address, "approved": reach.lets_caller_in},
            "locked_out": [
                {
                    "id": one.id,
                    "kind": one.kind,
                    "name": one.name,
                    "holder": one.holder,
                    "last_address": one.last_address,
                    "last_used": instant(one.last_used_us),
                }
                for one in reach.locked_out
            ],
        }
    )


@router.patch(f"{_SHORT}/enabled", summary="Switch approving on or off")
@router.patch(f"{_OLDER}/enabled", summary="Switch approving on or off")
@router.patch(f"{_LIST}/enabled", summary="Switch approving on or off")
def switch(request: Request, here: Here, body: Body) -> Response:
    """Takes `state`. 204; with `X-Vedette-Warning` when the caller's own address is not
    approved."""
    check_members(body, "state", of="the approved list")
    wanted = body.get("state")
    if not isinstance(wanted, bool):
        raise BadRequestError("state: must be true or false")
    approved_addresses.enable(here.database, wanted)
    here.approved_addresses.refresh()
    return _done(request, here)


def _done(request: Request, here: Services) -> Response:
    answer = empty_answer()
    address = client_address(request, here.settings.trusted_proxies)
    if not here.approved_addresses.allow(address):
        answer.headers[WARNING_HEADER] = (
            f"your address {address} is not approved: further requests from it are refused"
        )
    return answer

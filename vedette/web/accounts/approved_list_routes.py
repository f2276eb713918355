"""The approved list: addresses that may call the API (docs/api-approved-addresses.md)."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.rights.authorization import Deed
from vedette.respond.approved_reach import approving_reach
from vedette.state.policy import approved_addresses
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.client_address import client_address
from vedette.web.http.responses import empty_answer, json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members, flag_value
from vedette.web.json.parameters import ID_MAX, bounded_number, described, optional_number
from vedette.web.json.wire_values import instant

router = Router(tags=["approved list"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_LIST: Final = "/api/v1/approvedlist"
_SHORT: Final = "/approvedlist"
_OLDER: Final = "/api/v1/whitelist"

WARNING_HEADER: Final = "X-Vedette-Warning"
"""Response header that warns if the change locks its caller out. A header, because these responses
have no body."""


@router.get(f"{_SHORT}/entries", right=Right.ADMINISTER, summary="List approved addresses")
@router.get(f"{_OLDER}/entries", right=Right.ADMINISTER, summary="List approved addresses")
@router.get(f"{_LIST}/entries", right=Right.ADMINISTER, summary="List approved addresses")
def listed(here: Here) -> Response:
    found = approved_addresses.entries(here.database)
    return json_answer([{"id": entry.id, "ipaddr": entry.network} for entry in found])


@router.post(f"{_SHORT}/entries", right=Deed.CHANGE_APPROVED_LIST, summary="Approve addresses")
@router.post(f"{_OLDER}/entries", right=Deed.CHANGE_APPROVED_LIST, summary="Approve addresses")
@router.post(f"{_LIST}/entries", right=Deed.CHANGE_APPROVED_LIST, summary="Approve addresses")
def add(here: Here, body: Body) -> Response:
    """Body: `ipaddr`, an address, a block such as 192.0.2.0/24, or a list of them. Returns `id`, a
    number or a list. Adds all of them or none."""
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


@router.delete(
    f"{_SHORT}/entries/{{entry_id}}",
    right=Deed.CHANGE_APPROVED_LIST,
    summary="Remove an approved address",
)
@router.delete(
    f"{_OLDER}/entries/{{entry_id}}",
    right=Deed.CHANGE_APPROVED_LIST,
    summary="Remove an approved address",
)
@router.delete(
    f"{_LIST}/entries/{{entry_id}}",
    right=Deed.CHANGE_APPROVED_LIST,
    summary="Remove an approved address",
)
def remove(entry_id: str, request: Request, here: Here) -> Response:
    """Returns 204. The header `X-Vedette-Warning` warns if the list is on and no longer contains
    the caller's own address. `vedette approvedlist disable` admits all addresses again."""
    try:
        number = bounded_number("id", entry_id, least=1, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"approved address {entry_id[:40]!r} not found") from None
    approved_addresses.remove(here.database, number)
    here.approved_addresses.refresh()
    return _done(request, here)


@router.get(
    f"{_SHORT}/enabled", right=Right.ADMINISTER, summary="Check whether the approved list is on"
)
@router.get(
    f"{_OLDER}/enabled", right=Right.ADMINISTER, summary="Check whether the approved list is on"
)
@router.get(
    f"{_LIST}/enabled", right=Right.ADMINISTER, summary="Check whether the approved list is on"
)
def state(here: Here) -> Response:
    return json_answer({"state": approved_addresses.is_enabled(here.database)})


@router.get(
    f"{_LIST}/locked_out",
    right=Right.ADMINISTER,
    summary="List callers that the approved list would lock out",
    openapi_extra=described(("without", "id of an entry that is to be removed")),
)
def locked_out(request: Request, here: Here) -> Response:
    """Returns the callers that the current list, or the list without the entry `without`, would
    lock out: valid sessions and tokens used within 30 days, last from another address, most recent
    first. Also returns whether the caller's own address is approved. The list does not restrict
    sensors and senders of telemetry."""
    number = optional_number(request.query_params, "without", least=1, most=ID_MAX) or 0
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


@router.patch(
    f"{_SHORT}/enabled", right=Deed.CHANGE_APPROVED_LIST, summary="Turn the approved list on or off"
)
@router.patch(
    f"{_OLDER}/enabled", right=Deed.CHANGE_APPROVED_LIST, summary="Turn the approved list on or off"
)
@router.patch(
    f"{_LIST}/enabled", right=Deed.CHANGE_APPROVED_LIST, summary="Turn the approved list on or off"
)
def switch(request: Request, here: Here, body: Body) -> Response:
    """Body: `state`. Returns 204, with `X-Vedette-Warning` if the caller's own address is not
    approved."""
    check_members(body, "state", of="the approved list")
    wanted = flag_value("state", body.get("state"))
    approved_addresses.enable(here.database, wanted)
    here.approved_addresses.refresh()
    return _done(request, here)


def _done(request: Request, here: Services) -> Response:
    answer = empty_answer()
    address = client_address(request, here.settings.trusted_proxies)
    if not here.approved_addresses.allow(address):
        answer.headers[WARNING_HEADER] = (
            f"your address {address} is not approved; further requests would be rejected"
        )
    return answer

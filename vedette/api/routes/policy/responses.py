"""Response by rule: its policies, and the record of what they did."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.policy.action_sources import number_of
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.response_policy import policy_body, read_policy, response_body
from vedette.api.services import Services, services
from vedette.limits import RESPONSE_LIST_MAX
from vedette.model.principal import Principal
from vedette.state.jobs import responses
from vedette.state.policy import response_policies

router = Router(tags=["response"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_BASE: Final = "/api/v1/response_policy"
_ONE: Final = f"{_BASE}/{{policy_id}}"
_WHAT: Final = "response policy"
_PAGE: Final = described(
    ("before", "Only responses with a lower id"),
    ("rows", f"Responses of the answer; default 100, at most {RESPONSE_LIST_MAX}"),
)


@router.get(_BASE, summary="All response policies")
def listed(here: Here) -> Response:
    with here.database.reading() as connection:
        return json_answer([policy_body(one) for one in response_policies.all_policies(connection)])


@router.post(_BASE, summary="Add a response policy")
def create(here: Here, caller: Caller, body: Body) -> Response:
    """Off unless `enabled` is given. The answer is the policy."""
    new, now_us = read_policy(body, None), here.clock.now_us()
    with here.database.writing() as connection:
        made = response_policies.add(connection, new, caller.name, now_us)
    return json_answer(policy_body(made))


@router.get(_ONE, summary="One response policy")
def one(policy_id: str, here: Here) -> Response:
    number = number_of(policy_id, _WHAT)
    with here.database.reading() as connection:
        return json_answer(policy_body(response_policies.get(connection, number)))


@router.put(_ONE, summary="Change a response policy")
def change(policy_id: str, here: Here, caller: Caller, body: Body) -> Response:
    """What is not given stays. Responses that wait are not carried out once it is off."""
    number, now_us = number_of(policy_id, _WHAT), here.clock.now_us()
    with here.database.writing() as connection:
        known = response_policies.get(connection, number)
        changed = replace(read_policy(body, known), id=number)
        made = response_policies.change(connection, changed, caller.name, now_us)
    return json_answer(policy_body(made) | {"result": "success"})


@router.delete(_ONE, summary="Delete a response policy")
def delete(policy_id: str, here: Here) -> Response:
    """What it did ends when it would have."""
    with here.database.writing() as connection:
        response_policies.remove(connection, number_of(policy_id, _WHAT))
    return json_answer({"result": "success"})


@router.get("/api/v1/response", summary="What was done by rule", openapi_extra=_PAGE)
def record(request: Request, here: Here) -> Response:
    """The newest first, also what was not done, with the reason."""
    wanted = request.query_params
    found = responses.page(
        here.database,
        whole_number(wanted, "before", 0),
        min(whole_number(wanted, "rows", 100), RESPONSE_LIST_MAX),
    )
    return json_answer([response_body(each) for each in found])

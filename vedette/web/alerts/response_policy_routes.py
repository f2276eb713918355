"""Routes of response policies, which respond to rules automatically, and of the record of
responses."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.record.answers import many, to_json
from vedette.record.bodies import Sent
from vedette.record.objects.response_policy import (
    CHANGED_POLICY,
    NEW_POLICY,
    POLICY_CHANGE,
    RESPONSE_POLICY,
    PolicyRequest,
    ResponsePolicy,
)
from vedette.state.jobs import responses
from vedette.state.policy import response_policies
from vedette.web.alerts.response_policy_json import response_body
from vedette.web.http.access import principal_of
from vedette.web.http.action_sources import number_of
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, whole_number

RESPONSE_LIST_MAX: Limit[int] = 1_000
"""Responses per page."""


router = Router(tags=["response"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]

_BASE: Final = "/api/v1/response_policy"
_ONE: Final = f"{_BASE}/{{policy_id}}"
_WHAT: Final = "response policy"
_PAGE: Final = described(
    ("before", "Only responses with a lower id"),
    ("rows", f"Responses of the answer; default 100, at most {RESPONSE_LIST_MAX}"),
)


@router.get(
    _BASE,
    right=Right.ADMINISTER,
    summary="List response policies",
    response_model=many(RESPONSE_POLICY),
)
def listed(here: Here) -> Response:
    with here.database.reading() as connection:
        return json_answer([to_json(one) for one in response_policies.all_policies(connection)])


@router.post(
    _BASE,
    right=Deed.CHANGE_RESPONSE_POLICIES,
    summary="Add a response policy",
    response_model=RESPONSE_POLICY,
)
def create(
    here: Here, caller: Caller, body: Annotated[Sent[PolicyRequest], Depends(json_body(NEW_POLICY))]
) -> Response:
    """Creates a policy and returns the record. The policy is disabled unless `enabled` is true."""
    new, now_us = ResponsePolicy(**body.values), here.clock.now_us()
    with here.database.writing() as connection:
        made = response_policies.add(connection, new, caller.name, now_us)
    return json_answer(to_json(made))


@router.get(
    _ONE, right=Right.ADMINISTER, summary="Get a response policy", response_model=RESPONSE_POLICY
)
def one(policy_id: str, here: Here) -> Response:
    number = number_of(policy_id, _WHAT)
    with here.database.reading() as connection:
        return json_answer(to_json(response_policies.get(connection, number)))


@router.put(
    _ONE,
    right=Deed.CHANGE_RESPONSE_POLICIES,
    summary="Change a response policy",
    response_model=CHANGED_POLICY,
)
def change(
    policy_id: str,
    here: Here,
    caller: Caller,
    body: Annotated[Sent[PolicyRequest], Depends(json_body(POLICY_CHANGE))],
) -> Response:
    """Changes the given members and returns the record. Disabling a policy cancels its waiting
    responses. Error 409 `changed_meanwhile`: a member differs from its value in `was`."""
    number, now_us = number_of(policy_id, _WHAT), here.clock.now_us()
    with here.database.writing() as connection:
        known = response_policies.locked(connection, number)
        body.check_unchanged(to_json(known))
        changed = replace(known, **body.values)
        made = response_policies.change(connection, changed, caller.name, now_us)
    return json_answer(to_json(made) | {"result": "success"})


@router.delete(_ONE, right=Deed.CHANGE_RESPONSE_POLICIES, summary="Delete a response policy")
def delete(policy_id: str, here: Here) -> Response:
    """Deletes the policy. Responses in force still end at their scheduled time."""
    with here.database.writing() as connection:
        response_policies.remove(connection, number_of(policy_id, _WHAT))
    return json_answer({"result": "success"})


@router.get(
    "/api/v1/response",
    right=Right.ADMINISTER,
    summary="List automatic responses",
    openapi_extra=_PAGE,
)
def record(request: Request, here: Here) -> Response:
    """Returns responses, newest first, including those not carried out, with the reason."""
    wanted = request.query_params
    found = responses.page(
        here.database,
        whole_number(wanted, "before", 0),
        min(whole_number(wanted, "rows", 100), RESPONSE_LIST_MAX),
    )
    return json_answer([response_body(each) for each in found])

"""Suppression rules: list, add, change, delete, preview (docs/alerts.md#suppressions)."""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.suppressed import predicate_of
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.alert_changes import suppression_change
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.search.alert_results import preview_body
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.search.alerts.alert_search import preview_suppression
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts.users import id_of
from vedette.state.policy import suppressions
from vedette.state.policy.suppressions import Suppression, SuppressionChange

router = Router(prefix="/api/v1/alert/suppression", tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.get("", summary="All suppressions")
def listed(here: Here, scope: Within) -> Response:
    """Also those that are disabled or have expired, by id; `hits` is 0 for users who do not see all
    hosts."""
    now_us = here.clock.now_us()
    with here.database.reading() as connection:
        return json_answer(
            [counts_within(_body(one, now_us), scope) for one in suppressions.all_rules(connection)]
        )


@router.post("", summary="Add a suppression")
def create(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `query`, `name`, `reason`, `enabled` and `expires`, a time or null for never; without
    it 30 days. New alerts that the query matches are not made, and counted."""
    wanted = _wanted(here, caller, body, is_new=True)
    with here.database.writing() as connection:
        return json_answer(_body(suppressions.add(connection, wanted), wanted.time_us))


@router.post("/preview", summary="What a suppression would keep quiet")
async def preview(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """The stored alerts that `query` matches, of the hosts that the caller sees: how many, by day,
    host and title, with the newest."""
    query = body.get("query")
    if not isinstance(query, str):
        raise BadRequestError("query: must be a query over alerts")

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        return json_answer(
            preview_body(preview_suppression(engine, scope, query, here.settings, now_us))
        )

    return await run_search(request, here, work)


@router.get("/{suppression_id}", summary="One suppression")
def one(suppression_id: str, here: Here, scope: Within) -> Response:
    with here.database.reading() as connection:
        found = suppressions.get(connection, _number(suppression_id))
    return json_answer(counts_within(_body(found, here.clock.now_us()), scope))


@router.put("/{suppression_id}", summary="Change a suppression")
def change(suppression_id: str, here: Here, caller: Caller, body: Body) -> Response:
    """What is not given stays. The answer is the record."""
    wanted = _wanted(here, caller, body, is_new=False)
    with here.database.writing() as connection:
        changed = suppressions.change(connection, _number(suppression_id), wanted)
    return json_answer(_body(changed, wanted.time_us))


@router.delete("/{suppression_id}", summary="Delete a suppression")
def delete(suppression_id: str, here: Here) -> Response:
    """Its count of hits goes with it; disabling keeps it."""
    with here.database.writing() as connection:
        suppressions.remove(connection, _number(suppression_id))
    return json_answer({"result": "success"})


def _wanted(
    here: Services, caller: Principal, body: dict[str, Any], *, is_new: bool
) -> SuppressionChange:
    now_us = here.clock.now_us()
    user_id = id_of(here.database, caller.name)
    wanted = suppression_change(body, user_id, caller.name, now_us, is_new=is_new)
    if wanted.query is not None:
        predicate_of(wanted.query, now_us)  # refuses what could not be matched
    return wanted


def _number(text: str) -> int:
    try:
        return bounded_number("suppression_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no suppression {text[:40]!r}") from None


def _body(rule: Suppression, now_us: int) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "query": rule.query,
        "reason": rule.reason,
        "enabled": rule.enabled,
        "in_force": rule.holds(now_us),
        "expires": known_instant(rule.expires_us),
        "created": instant(rule.created_us),
        "changed": instant(rule.changed_us),
        "user_id": rule.user_id,
        "username": rule.username,
        "hits": rule.hits,
        "last_hit": known_instant(rule.last_hit_us),
    }

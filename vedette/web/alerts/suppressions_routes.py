"""Routes of suppressions: list, add, change, delete, preview (docs/alerts.md#suppressions)."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.suppressed import predicate_of
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.alert_fields import ALERT
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.query import check, parse_stored
from vedette.query.check.coverage import matches_all
from vedette.record.answers import many
from vedette.record.bodies import Sent
from vedette.record.objects.suppression import (
    NEW_SUPPRESSION,
    SUPPRESSION,
    SUPPRESSION_CHANGE,
    SUPPRESSION_QUERY,
    Suppression,
    SuppressionQuery,
    SuppressionRequest,
)
from vedette.search.alerts.alert_search import preview_suppression
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.accounts.users import id_of
from vedette.state.policy import suppressions
from vedette.web.alerts.alert_results_json import preview_body
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.bulk_selection import check_selection
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.whole_counts import record_within

router = Router(prefix="/api/v1/alert/suppression", tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]

SUPPRESSION_DAYS_DEFAULT: Limit[int] = 30
"""Lifetime (days) of a suppression whose author sets no expiry."""

_DAY_US: Final = 24 * 3600 * 1_000_000


@router.get("", right=Right.VIEW, summary="List suppressions", response_model=many(SUPPRESSION))
def listed(here: Here, scope: Within) -> Response:
    """Returns all suppressions, including disabled and expired ones, by id. `hits` is 0 for users
    who do not see all hosts."""
    now_us = here.clock.now_us()
    with here.database.reading() as connection:
        found = suppressions.all_rules(connection)
    return json_answer([_body(one, scope, now_us) for one in found])


@router.post(
    "", right=Deed.CHANGE_SUPPRESSIONS, summary="Add a suppression", response_model=SUPPRESSION
)
def create(
    here: Here,
    caller: Caller,
    scope: Within,
    body: Annotated[Sent[SuppressionRequest], Depends(json_body(NEW_SUPPRESSION))],
) -> Response:
    """Creates a suppression and returns the record. The server counts new alerts that match the
    query instead of storing them. A query that matches every alert requires `allow_all`. Without an
    expiry the suppression ends after 30 days."""
    now_us = here.clock.now_us()
    ends = {"expires_us": now_us + SUPPRESSION_DAYS_DEFAULT * _DAY_US}
    new = Suppression(**ends | body.values | _author(here, caller, now_us), created_us=now_us)
    _check_expiry(body, 0, now_us)
    _check_query(body, now_us)
    with here.database.writing() as connection:
        made = suppressions.add(connection, new)
    return json_answer(_body(made, scope, now_us))


@router.post("/preview", right=Right.READ, reads=True, summary="Preview a suppression")
async def preview(
    request: Request,
    here: Here,
    scope: Within,
    body: Annotated[SuppressionQuery, Depends(json_body(SUPPRESSION_QUERY))],
) -> Response:
    """Returns the stored alerts that match `query`, on hosts that the caller sees: their number by
    day, host and title, and the newest alerts."""

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        return json_answer(
            preview_body(preview_suppression(engine, scope, body.query, here.settings, now_us))
        )

    return await run_search(request, here, work)


@router.get(
    "/{suppression_id}", right=Right.VIEW, summary="Get a suppression", response_model=SUPPRESSION
)
def one(suppression_id: str, here: Here, scope: Within) -> Response:
    with here.database.reading() as connection:
        found = suppressions.get(connection, _number(suppression_id))
    return json_answer(_body(found, scope, here.clock.now_us()))


@router.put(
    "/{suppression_id}",
    right=Deed.CHANGE_SUPPRESSIONS,
    summary="Change a suppression",
    response_model=SUPPRESSION,
)
def change(
    suppression_id: str,
    here: Here,
    caller: Caller,
    scope: Within,
    body: Annotated[Sent[SuppressionRequest], Depends(json_body(SUPPRESSION_CHANGE))],
) -> Response:
    """Changes the given members and returns the record. Error 409 `changed_meanwhile`: a member
    differs from its value in `was`."""
    number, now_us = _number(suppression_id), here.clock.now_us()
    author = _author(here, caller, now_us)
    _check_query(body, now_us)
    with here.database.writing() as connection:
        known = suppressions.locked(connection, number)
        body.check_unchanged(_body(known, scope, now_us))
        _check_expiry(body, known.expires_us, now_us)
        changed = suppressions.change(connection, replace(known, **body.values, **author))
    return json_answer(_body(changed, scope, now_us))


@router.delete("/{suppression_id}", right=Deed.CHANGE_SUPPRESSIONS, summary="Delete a suppression")
def delete(suppression_id: str, here: Here) -> Response:
    """Deletes the suppression with its hit count. Disable it to keep the count."""
    with here.database.writing() as connection:
        suppressions.remove(connection, _number(suppression_id))
    return json_answer({"result": "success"})


def _author(here: Services, caller: Principal, now_us: int) -> dict[str, Any]:
    user_id = id_of(here.database, caller.name)
    return {"user_id": user_id, "username": caller.name, "changed_us": now_us}


def _check_expiry(body: Sent[SuppressionRequest], known_us: int, now_us: int) -> None:
    """Raises BadRequestError for a new expiry in the past. The stored expiry `known_us` is
    allowed."""
    expires_us = body.values.get("expires_us", 0)
    if expires_us not in (0, known_us) and expires_us <= now_us:
        raise BadRequestError("expires: must be in the future; disable or delete it to end it now")


def _check_query(body: Sent[SuppressionRequest], now_us: int) -> None:
    """Raises QueryError or BadRequestError for a query that cannot be evaluated on new alerts, and
    for one that matches every alert without `allow_all`."""
    query = body.values.get("query")
    if query is not None:
        predicate_of(query, now_us)
        checked = check(parse_stored(query, ALERT), ALERT, now_us=now_us)
        check_selection(
            "query",
            selects_all=matches_all(checked, ALERT.always),
            allows_all=body.request.allow_all,
        )


def _number(text: str) -> int:
    try:
        return bounded_number("suppression_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"suppression {text[:40]!r} not found") from None


def _body(rule: Suppression, scope: Scope, now_us: int) -> dict[str, Any]:
    return record_within(rule, scope) | {"in_force": rule.holds(now_us)}

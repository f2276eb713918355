"""Sigma rules: what the server judges events by (docs/detection.md)."""

from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.alerting.rule_import import import_rules, load_files, trial_rules
from vedette.alerting.rule_trial import RuleTrial
from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.sigma_rule import (
    document_body,
    hit_body,
    ids,
    imported_body,
    in_force_body,
    optional_flag,
    rule_body,
    rule_file,
    wanted,
)
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.state.policy import rules

router = APIRouter(tags=["sigma rules"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_BASE: Final = "/api/v1/sigma"
_SUCCESS: Final = {"result": "success"}

_LISTED: Final = described(
    ("q", "occurs in title, id or text"),
    ("level", "informational, low, medium, high or critical"),
    ("state", "in_force, pending, disabled, stopped or unsupported"),
    ("reason", "why it cannot be evaluated"),
    ("origin", "occurs in the name of the file that it is from"),
    ("start", "how many to skip"),
    ("rows", f"how many, at most {limits.SIGMA_ROWS_MAX}"),
)


@router.get(_BASE, summary="Sigma rules", openapi_extra=_LISTED)
def listed(request: Request, here: Here) -> Response:
    """Rules, correlations and filters by title, without their texts; with what they cost and found.
    `reasons` counts those that cannot be evaluated."""
    query = request.query_params
    start = whole_number(query, "start", 0)
    rows = whole_number(query, "rows", limits.SIGMA_ROWS, most=limits.SIGMA_ROWS_MAX)
    found = rules.page(here.database, wanted(query), start, rows)
    in_force = rules.in_force(here.database)
    return json_answer(
        {
            "total_results": found.total,
            "start": start,
            "results": [
                rule_body(one, in_force.generation, with_text=False) for one in found.rules
            ],
            "in_force": in_force_body(in_force),
            "reasons": rules.reasons(here.database),
        }
    )


@router.post(_BASE, summary="Add Sigma rules")
def create(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `text`, YAML of one document or several; a document with a known id replaces that one.
    New rules are on unless their level is low or informational; `enabled` decides for all. The
    answer says of each document what became of it, and why it cannot be evaluated."""
    file, enabled = rule_file(body), optional_flag(body, "enabled")
    now_us = here.clock.now_us()
    done = import_rules(here.database, [file], caller.name, now_us, enabled=enabled)
    here.rules.reload()
    return json_answer({"results": [imported_body(n, one) for n, one in enumerate(done, 1)]})


@router.put(_BASE, summary="Switch Sigma rules on or off")
def switch_all(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `ids` and `enabled`. All are switched or none; 404 when there is one not."""
    return _switch(here, caller, ids(body), body)


@router.post(f"{_BASE}/test", summary="Try Sigma rules")
def test(here: Here, body: Body) -> Response:
    """Takes `text`, YAML of one document or several, and `events`, records as any sender writes
    them. Nothing is stored. The answer has the hits, what cannot be evaluated, and the records
    that cannot be read."""
    events = body.get("events")
    if not isinstance(events, list) or len(events) > limits.RULE_TRIAL_EVENTS_MAX:
        raise BadRequestError(
            f"events: must be a list of at most {limits.RULE_TRIAL_EVENTS_MAX} records"
        )
    documents = load_files([rule_file(body)])
    trial = RuleTrial(trial_rules(documents), here.clock.now_us())
    hits = trial.judge(
        [one.encode() if isinstance(one, str) else orjson.dumps(one) for one in events]
    )
    titles = {one.id: one.title for one in documents}
    return json_answer(
        {
            "documents": [document_body(n, one) for n, one in enumerate(documents, 1)],
            "hits": [hit_body(hit, titles) for hit in hits],
            "events": trial.events,
            "rejected": dict(trial.rejected),
        }
    )


@router.get(f"{_BASE}/{{rule_id}}", summary="One Sigma rule")
def one(rule_id: str, here: Here) -> Response:
    """With its text."""
    in_force = rules.in_force(here.database).generation
    return json_answer(rule_body(rules.get(here.database, rule_id), in_force, with_text=True))


@router.put(f"{_BASE}/{{rule_id}}", summary="Switch a Sigma rule on or off")
def switch(rule_id: str, here: Here, caller: Caller, body: Body) -> Response:
    """Takes `enabled`. Switched on, a rule that was stopped because of its cost begins anew."""
    return _switch(here, caller, [rule_id], body)


@router.delete(f"{_BASE}/{{rule_id}}", summary="Delete a Sigma rule")
def delete(rule_id: str, here: Here, caller: Caller) -> Response:
    """Alerts that it made stay."""
    rules.remove(here.database, [rule_id], caller.name, here.clock.now_us())
    here.rules.reload()
    return json_answer(_SUCCESS)


def _switch(here: Services, caller: Principal, chosen: list[str], body: dict[str, Any]) -> Response:
    enabled = optional_flag(body, "enabled")
    if enabled is None:
        raise BadRequestError("enabled: must be true or false")
    rules.switch(here.database, chosen, caller.name, here.clock.now_us(), enabled=enabled)
    here.rules.reload()
    return json_answer(_SUCCESS)

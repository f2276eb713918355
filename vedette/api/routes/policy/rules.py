"""Sigma rules: what the server judges events by (docs/detection.md)."""

from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from vedette import limits
from vedette.alerting.rule_backtest import backtest_rules
from vedette.alerting.rule_import import foresee_import, import_rules, load_files, trial_rules
from vedette.alerting.rule_trial import RuleTrial
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.parameters import described, flag, whole_number
from vedette.api.schemas.sigma_rule import (
    document_body,
    foreseen_body,
    hit_body,
    ids,
    imported_bodies,
    in_force_body,
    optional_flag,
    past_body,
    rule_body,
    rule_file,
    rule_files,
    wanted,
)
from vedette.api.schemas.watchlist import preview_bounds
from vedette.api.schemas.whole_counts import counts_within
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import rule_placeholders, rules
from vedette.state.policy.sigma_rule import NewSigmaRule
from vedette.store.plan.search_bounds import Reach

router = Router(tags=["sigma rules"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
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
def listed(request: Request, here: Here, scope: Within) -> Response:
    """Rules, correlations and filters by title, without their texts; with what they cost and found.
    Both are 0 for users who do not see all hosts. `reasons` counts those that cannot be
    evaluated."""
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
                counts_within(rule_body(one, in_force.generation, with_text=False), scope)
                for one in found.rules
            ],
            "in_force": in_force_body(in_force),
            "reasons": rules.reasons(here.database),
        }
    )


@router.post(
    _BASE,
    summary="Add Sigma rules",
    openapi_extra=described(("dry_run", "true: keep nothing, say what would become of each")),
)
def create(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Takes `text`, YAML of one document or several, or `files`, each with its `name` and its
    `text`; a document with a known id replaces that one.
    New rules are on unless their level is low or informational; `enabled` decides for all. The
    answer says of each document what became of it, and why it cannot be evaluated. With `dry_run`
    nothing is kept: the answer says what would become of each, with its line, and `counts` those
    that would be added, changed, unchanged or refused."""
    files, enabled = rule_files(body), optional_flag(body, "enabled")
    if flag(request.query_params, "dry_run"):
        return json_answer(foreseen_body(foresee_import(here.database, files, enabled=enabled)))
    now_us = here.clock.now_us()
    done = import_rules(here.database, files, caller.name, now_us, enabled=enabled)
    here.rules.reload()
    return json_answer({"results": imported_bodies(done)})


@router.put(_BASE, summary="Switch Sigma rules on or off")
def switch_all(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `ids` and `enabled`. All are switched or none; 404 when there is one not."""
    return _switch(here, caller, ids(body), body)


@router.post(f"{_BASE}/test", summary="Try Sigma rules")
async def test(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Takes `text`, YAML of one document or several, or `ids` of rules that are kept. With
    `events`, records as any sender writes them, the answer has the hits on them, what cannot be
    evaluated, and the records that cannot be read. Without, it says what the rules would have hit
    in the stored telemetry that the caller sees, between `from` and `to` (by default the last
    days): hits a day, hosts, samples and the alerts to expect. Nothing is stored."""
    if body.get("events") is not None:
        return await run_in_threadpool(_on_events, here, body)
    now_us = here.clock.now_us()
    from_ms, until_ms = preview_bounds(body, now_us, limits.RULE_PAST_DAYS)

    def work(engine: BoundedEngine) -> Response:
        documents = _documents(here, body)
        judged = trial_rules([*documents, *_filters(here)])
        if len(judged) > limits.RULE_PAST_RULES_MAX:
            raise BadRequestError(f"more than {limits.RULE_PAST_RULES_MAX} rules at once")
        reach = Reach.within(here.settings.search_deadline_s, cancel=engine.cancel)
        past = backtest_rules(engine, judged, scope, from_ms, until_ms, reach)
        return json_answer(past_body(documents, past))

    return await run_search(request, here, work)


def _documents(here: Services, body: dict[str, Any]) -> list[NewSigmaRule]:
    """The documents of a request's text, or the kept ones that it names."""
    if "text" in body:
        return load_files([rule_file(body)], rule_placeholders.load(here.database).by_name)
    return [rules.get(here.database, one).rule for one in ids(body)]


def _filters(here: Services) -> list[NewSigmaRule]:
    """Those that narrow the rules of this server."""
    return [one for one in rules.evaluated(here.database)[1] if one.kind == "filter"]


def _on_events(here: Services, body: dict[str, Any]) -> Response:
    events = body["events"]
    if not isinstance(events, list) or len(events) > limits.RULE_TRIAL_EVENTS_MAX:
        raise BadRequestError(
            f"events: must be a list of at most {limits.RULE_TRIAL_EVENTS_MAX} records"
        )
    documents = _documents(here, body)
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
def one(rule_id: str, here: Here, scope: Within) -> Response:
    """With its text."""
    in_force = rules.in_force(here.database).generation
    body = rule_body(rules.get(here.database, rule_id), in_force, with_text=True)
    return json_answer(counts_within(body, scope))


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

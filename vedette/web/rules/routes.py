"""Sigma rules, which the server evaluates on events (docs/detection-rules.md)."""

from typing import Annotated, Any, Final

import orjson
from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from vedette import limits
from vedette.alerting.rule_backtest import backtest_rules
from vedette.alerting.rule_import import foresee_import, import_rules, load_files, trial_rules
from vedette.alerting.rule_trial import RuleTrial
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.state.policy import rule_placeholders, rules
from vedette.state.policy.sigma_rule import NewSigmaRule
from vedette.store.plan.search_bounds import Reach
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.parameters import described, flag, whole_number
from vedette.web.json.whole_counts import counts_within
from vedette.web.rules.models import (
    RuleSituation,
    document_body,
    foreseen_body,
    hit_body,
    ids,
    imported_bodies,
    in_force_body,
    past_body,
    past_time,
    rule_body,
    rule_files,
    wanted,
)
from vedette.web.watchlists.models import preview_bounds

RULE_PAST_RULES_MAX: Limit[int] = 20_000
"""Rules per request to test on stored telemetry; the public set has 3,800. The search deadline
limits the time."""

SIGMA_ROWS: Limit[int] = 100
"""Default number of Sigma rules in a response."""

SIGMA_ROWS_MAX: Limit[int] = 1_000
"""Maximum number of Sigma rules in a response."""

RULE_TRIAL_EVENTS_MAX: Limit[int] = 10_000
"""Records per request to test rules on."""


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
    ("rows", f"how many, at most {SIGMA_ROWS_MAX}"),
)


@router.get(_BASE, right=Right.VIEW, summary="List Sigma rules", openapi_extra=_LISTED)
def listed(request: Request, here: Here, scope: Within) -> Response:
    """Returns rules, correlations and filters by title, without their texts, and with their cost
    and hits. Both are 0 for users who do not see all hosts. `reasons` counts the documents that
    cannot be evaluated."""
    query = request.query_params
    start = whole_number(query, "start", 0)
    rows = whole_number(query, "rows", SIGMA_ROWS, most=SIGMA_ROWS_MAX)
    found = rules.page(here.database, wanted(query), start, rows)
    in_force = rules.in_force(here.database)
    situation = RuleSituation.load(here.database, here.clock.now_us())
    return json_answer(
        {
            "total_results": found.total,
            "start": start,
            "results": [
                counts_within(rule_body(one, situation, with_text=False), scope)
                for one in found.rules
            ],
            "in_force": in_force_body(in_force),
            "reasons": rules.reasons(here.database),
        }
    )


@router.post(
    _BASE,
    right=Deed.CHANGE_RULES,
    summary="Add Sigma rules",
    openapi_extra=described(("dry_run", "true: keep nothing, say what would become of each")),
)
def create(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `text`, YAML with one or more documents, or `files`, each with `name` and `text`. A
    document with an existing id replaces the stored one. New rules are enabled unless their level
    is low or informational; `enabled` sets all of them. Returns the outcome of each document, and
    the reason if it cannot be evaluated. With `dry_run` nothing is stored: the response has the
    outcome of each document with its line, and `counts` by outcome (added, changed, unchanged,
    duplicate, refused)."""
    files, enabled = rule_files(body), flag_of(body, "enabled")
    if flag(request.query_params, "dry_run"):
        return json_answer(foreseen_body(foresee_import(here.database, files, enabled=enabled)))
    now_us = here.clock.now_us()
    done = import_rules(here.database, files, caller.name, now_us, enabled=enabled)
    here.rules.reload()
    return json_answer({"results": imported_bodies(done)})


@router.put(_BASE, right=Deed.CHANGE_RULES, summary="Enable or disable Sigma rules")
def switch_all(here: Here, caller: Caller, body: Body) -> Response:
    """Body: `ids` and `enabled`. Changes all of them or none; returns 404 if an id does not
    exist."""
    return _switch(here, caller, ids(body), body)


@router.post(f"{_BASE}/test", right=Right.ACT, reads=True, summary="Test Sigma rules")
async def test(request: Request, here: Here, scope: Within, body: Body) -> Response:
    """Body: `text`, YAML with one or more documents; `files`, objects with `name` and `text`; or
    `ids` of stored rules. With `events`, records in the format of any sender, returns the hits on
    them, documents that cannot be evaluated, and records that cannot be parsed. Without `events`,
    tests the rules on the stored telemetry that the caller sees between `from` and `to` (default:
    the last days), and returns hits per day, hosts, samples and expected alerts. `by` is `event`
    (default) for the event time on the host, or `arrival`. Stores nothing."""
    if body.get("events") is not None:
        return await run_in_threadpool(_on_events, here, body)
    now_us = here.clock.now_us()
    from_ms, until_ms = preview_bounds(body, now_us, limits.RULE_PAST_DAYS)
    by = past_time(body)

    def work(engine: BoundedEngine) -> Response:
        documents = _documents(here, body)
        judged = trial_rules([*documents, *_filters(here)])
        if len(judged) > RULE_PAST_RULES_MAX:
            raise BadRequestError(f"more than {RULE_PAST_RULES_MAX} rules at once")
        reach = Reach.within(here.settings.search_deadline_s, cancel=engine.cancel)
        past = backtest_rules(engine, judged, scope, from_ms, until_ms, reach, by)
        return json_answer(past_body(documents, past))

    return await run_search(request, here, work)


def _documents(here: Services, body: dict[str, Any]) -> list[NewSigmaRule]:
    """Returns the documents in a request's text, or the stored documents that it names."""
    if "text" in body or "files" in body:
        return load_files(rule_files(body), rule_placeholders.load(here.database).by_name)
    return [rules.get(here.database, one).rule for one in ids(body)]


def _filters(here: Services) -> list[NewSigmaRule]:
    """Returns the filters that apply to the rules of this server."""
    return [one for one in rules.evaluated(here.database)[1] if one.kind == "filter"]


def _on_events(here: Services, body: dict[str, Any]) -> Response:
    events = body["events"]
    if not isinstance(events, list) or len(events) > RULE_TRIAL_EVENTS_MAX:
        raise BadRequestError(f"events: must be a list of at most {RULE_TRIAL_EVENTS_MAX} records")
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


@router.get(f"{_BASE}/{{rule_id}}", right=Right.VIEW, summary="Get a Sigma rule")
def one(rule_id: str, here: Here, scope: Within) -> Response:
    """Returns the rule with its text. `log_source` tells whether events that the rule applies to
    arrive: `arrives`, `stopped` (none for a day) or `never`; null for users who do not see all
    hosts."""
    situation = RuleSituation.load(here.database, here.clock.now_us())
    body = rule_body(rules.get(here.database, rule_id), situation, with_text=True)
    return json_answer(counts_within(body, scope))


@router.put(
    f"{_BASE}/{{rule_id}}", right=Deed.CHANGE_RULES, summary="Enable or disable a Sigma rule"
)
def switch(rule_id: str, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `enabled`. Enabling a rule that was stopped for its cost resets its measured cost."""
    return _switch(here, caller, [rule_id], body)


@router.delete(f"{_BASE}/{{rule_id}}", right=Deed.CHANGE_RULES, summary="Delete a Sigma rule")
def delete(rule_id: str, here: Here, caller: Caller) -> Response:
    """Deletes the rule. Its alerts remain."""
    rules.remove(here.database, [rule_id], caller.name, here.clock.now_us())
    here.rules.reload()
    return json_answer(_SUCCESS)


def _switch(here: Services, caller: Principal, chosen: list[str], body: dict[str, Any]) -> Response:
    enabled = flag_of(body, "enabled")
    if enabled is None:
        raise BadRequestError("enabled: must be true or false")
    rules.switch(here.database, chosen, caller.name, here.clock.now_us(), enabled=enabled)
    here.rules.reload()
    return json_answer(_SUCCESS)

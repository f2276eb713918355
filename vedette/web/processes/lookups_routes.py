"""Input assistance: recognizes values and looks up related data, lists query fields, completes
queries."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.record.objects.ban import Ban
from vedette.search.alerts.alert_search import alert
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.lookup import Recognised, look_up, recognise
from vedette.search.suggest import CATALOGUES, suggest
from vedette.state.policy import bans, rules
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, whole_number
from vedette.web.processes.lookups_json import field_body, lookup_body, suggestion_body

LOOKUP_CHARS_MAX: Limit[int] = 1_024
"""Characters of a value to look up: the longest useful path."""


router = Router(tags=["queries"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_VALUE: Final = described(
    ("value", "md5, sha256, address, network, domain, path, host, process id, rule id, alert id")
)
_SUGGEST: Final = described(
    ("index", f"One of {', '.join(CATALOGUES)}; default process"),
    ("q", "The query as it is typed so far"),
    ("at", "Position of the caret in characters; default the end"),
)
_FIELDS: Final = described(("index", f"One of {', '.join(CATALOGUES)}; default process"))


@router.get(
    "/api/v1/lookup",
    right=Right.READ,
    summary="Look up a value",
    openapi_extra=_VALUE,
)
async def lookup(request: Request, here: Here, scope: Within) -> Response:
    """Recognizes the types of a value by its format, even if it is defanged. Returns counts of
    processes, hosts and alerts within the caller's scope, for all times. `meanings` has the
    processes of each type. Also returns the ban of a hash, and `targets`: hosts, alerts and rules
    with that name."""
    text = request.query_params.get("value", "").strip()
    if not text or len(text) > LOOKUP_CHARS_MAX:
        raise BadRequestError(f"value: from 1 to {LOOKUP_CHARS_MAX:,} characters")
    value = recognise(text)

    def work(engine: BoundedEngine) -> Response:
        known = look_up(engine, scope, value, here.settings, here.clock.now_us())
        targets = _targets(here, engine, scope, value)
        return json_answer(lookup_body(value, known, _ban(here, value), targets))

    return await run_search(request, here, work)


@router.get(
    "/api/v1/fields", right=Right.READ, summary="List the fields of queries", openapi_extra=_FIELDS
)
async def fields(request: Request) -> Response:
    """Returns name, aliases, type and meaning of each field, and whether queries without a field
    name search it."""
    index = request.query_params.get("index") or "process"
    if index not in CATALOGUES:
        raise BadRequestError(f"index: {index[:40]!r} is not one of {', '.join(CATALOGUES)}")
    return json_answer([field_body(one, index) for one in CATALOGUES[index].fields])


@router.get(
    "/api/v1/query/suggest",
    right=Right.READ,
    summary="Complete a query",
    openapi_extra=_SUGGEST,
)
async def suggestions(request: Request, here: Here, scope: Within) -> Response:
    """Suggests field names, and values of fields with facets, within the caller's scope. Each
    suggestion has the `text` that replaces the query from `start` to the caret."""
    params = request.query_params
    query = params.get("q", "")
    if len(query) > limits.SAVED_SEARCH_CHARS_MAX:
        raise BadRequestError(f"q: at most {limits.SAVED_SEARCH_CHARS_MAX:,} characters")
    at = whole_number(params, "at", len(query))
    index = params.get("index") or "process"

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = suggest(engine, scope, index, query, at, here.settings, now_us)
        return json_answer([suggestion_body(one) for one in found])

    return await run_lookup(request, here, work)


def _ban(here: Services, value: Recognised) -> Ban | None:
    if "md5" not in value.kinds:
        return None
    try:
        return bans.get(here.database, value.value)
    except NotFoundError:
        return None


def _targets(
    here: Services, engine: BoundedEngine, scope: Scope, value: Recognised
) -> list[dict[str, Any]]:
    """Returns the alert, rules and sensors that the value names."""
    found: list[dict[str, Any]] = []
    if "md5" in value.kinds:
        try:
            row = alert(engine, scope, value.value)
        except NotFoundError:
            pass
        else:
            found.append({"kind": "alert", "id": row["id"], "name": row["title"]})
    if "process" in value.kinds:
        known = rules.named(here.database, [value.value[:36]])
        found += [
            {"kind": "rule", "id": one, "name": ours.rule.title} for one, ours in known.items()
        ]
    if "host" in value.kinds and "ip" not in value.kinds:
        query = SensorQuery(
            hostname=value.value.lower(),
            rows=limits.LOOKUP_HOSTS_SHOWN,
            sort="hostname",
            is_descending=False,
        )
        page = sensor_list.page(here.database, scope, query, here.clock.now_us())
        found += [
            {"kind": "sensor", "id": str(one.id), "name": one.hostname} for one in page.sensors
        ]
    return found

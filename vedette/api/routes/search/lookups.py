"""Help while somebody types or pastes: what a value is and what is known of it, the fields of
queries, completions."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_lookup, run_search
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.search.lookup import field_body, lookup_body, suggestion_body
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.scope import Scope
from vedette.search.alerts.alert_search import alert
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.lookup import Recognised, look_up, recognise
from vedette.search.suggest import CATALOGUES, suggest
from vedette.state.policy import bans, rules
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_list import SensorQuery

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
    "/api/v1/lookup", summary="What a value is, and what is known of it", openapi_extra=_VALUE
)
async def lookup(request: Request, here: Here, scope: Within) -> Response:
    """Recognises the value by its form; defanged ones too. Counts processes, hosts and alerts of
    the hosts that the caller sees, with the ban of a hash. `targets` are records of that name:
    hosts, alerts, rules."""
    text = request.query_params.get("value", "").strip()
    if not text or len(text) > limits.LOOKUP_CHARS_MAX:
        raise BadRequestError(f"value: from 1 to {limits.LOOKUP_CHARS_MAX:,} characters")
    value = recognise(text)

    def work(engine: BoundedEngine) -> Response:
        known = look_up(engine, scope, value, here.settings, here.clock.now_us())
        targets = _targets(here, engine, scope, value)
        return json_answer(lookup_body(value, known, _ban(here, value), targets))

    return await run_search(request, here, work)


@router.get("/api/v1/fields", summary="The fields of queries", openapi_extra=_FIELDS)
async def fields(request: Request) -> Response:
    """Name, type and meaning of each, and whether a bare word looks into it."""
    index = request.query_params.get("index") or "process"
    if index not in CATALOGUES:
        raise BadRequestError(f"index: {index[:40]!r} is none of {', '.join(CATALOGUES)}")
    return json_answer([field_body(one, index) for one in CATALOGUES[index].fields])


@router.get("/api/v1/query/suggest", summary="Completions of a query", openapi_extra=_SUGGEST)
async def suggestions(request: Request, here: Here, scope: Within) -> Response:
    """Fields, and values of fields that have a facet, of what the caller sees. Each has the `text`
    that replaces the query from `start` to the caret."""
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


def _ban(here: Services, value: Recognised) -> bans.Ban | None:
    if value.kind != "md5":
        return None
    try:
        return bans.get(here.database, value.value)
    except NotFoundError:
        return None


def _targets(
    here: Services, engine: BoundedEngine, scope: Scope, value: Recognised
) -> list[dict[str, Any]]:
    """Records that the value names."""
    found: list[dict[str, Any]] = []
    if value.kind == "md5":
        try:
            row = alert(engine, scope, value.value)
        except NotFoundError:
            pass
        else:
            found.append({"kind": "alert", "id": row["id"], "name": row["title"]})
    if value.kind == "process":
        known = rules.named(here.database, [value.value[:36]])
        found += [
            {"kind": "rule", "id": one, "name": ours.rule.title} for one, ours in known.items()
        ]
    if value.kind in ("name", "domain"):
        query = SensorQuery(
            hostname=value.value.lower(), rows=limits.LOOKUP_HOSTS_SHOWN, sort="hostname",
            is_descending=False,
        )  # fmt: skip
        page = sensor_list.page(here.database, scope, query, here.clock.now_us())
        found += [
            {"kind": "sensor", "id": str(one.id), "name": one.hostname} for one in page.sensors
        ]
    return found

"""The rule hits behind an alert, and those that a storm held back."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.alerting.rule_hits import processed_seq
from vedette.limits import Limit
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search, hit_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.document_search import Results
from vedette.state.policy.sigma.correlation_rules import base_rules
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.wire_values import instant
from vedette.web.page.query_terms import phrase
from vedette.web.page.render import render
from vedette.web.processes.search_parameters_json import search_request

ALERT_HITS: Limit[int] = 10
"""Hits that an alert shows, the newest; `/api/v1/hit` has all."""

ALERT_HIT_HOSTS: Limit[int] = 20
"""Hosts that a storm shows, those with the most hits."""

STORM: Final = "storm rule "
"""Beginning of the source id of the alert of a storm of rule hits."""

router = Router(tags=[PAGE_TAG], include_in_schema=False)


@router.get(
    "/ui/_/alerts/{alert_id}/hits",
    right=Right.READ,
    summary="The newest rule hits behind an alert, and their hosts",
)
async def alert_hits(
    alert_id: str,
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    """Shows the hits of a rule's alert. Of a storm, shows the hits that the storm held back; of a
    correlation, the hits of its rules between its first and its last event."""

    def work(engine: BoundedEngine) -> tuple[Results, bool]:
        alert = alert_search.alert(engine, scope, alert_id)
        with here.database.reading() as connection:
            counted = base_rules(connection, alert["source_id"])
        query = _correlated_query(alert, counted) if counted else hits_query(alert)
        wanted = search_request(
            [
                ("q", query),
                ("rows", str(ALERT_HITS)),
                ("facet", "true"),
                ("facet.field", "hostname"),
                ("facet.limit", str(ALERT_HIT_HOSTS)),
            ],
            "time asc" if counted else hit_search.HIT_SORT_DEFAULT,
        )
        seq = processed_seq(here.database)
        now_us = here.clock.now_us()
        results = hit_search.search(engine, scope, wanted, here.settings, seq, now_us)
        return results, bool(counted)

    results, is_correlation = await run_search(request, here, work)
    return render(request, "alerts/hits.html", found=results, is_correlation=is_correlation)


def _correlated_query(alert: AlertRow, rule_ids: Sequence[str]) -> str:
    any_rule = " OR ".join(phrase("rule_id", rule_id) for rule_id in rule_ids)
    first, last = (instant(alert[name]) for name in ("first_event_time", "last_event_time"))
    host = f" sensor_id:{alert['sensor_id']}" if alert["sensor_id"] else ""
    return f"({any_rule}) time:[{first} TO {last}]{host}"


def has_hits(alert: AlertRow) -> bool:
    """Whether rule hits are behind an alert."""
    kind, source_id = str(alert["source_kind"]), str(alert["source_id"])
    return kind == "rule" or (kind == "server" and source_id.startswith(STORM))


def hits_query(alert: AlertRow) -> str:
    """The query for the hits behind an alert."""
    if alert["source_kind"] == "rule":
        return f"alert_id:{alert['id']}"
    return phrase("rule_id", alert["source_id"].removeprefix(STORM)) + " outcome:storm"

"""Bulk changes of alerts, which apply exactly to the alerts counted before, and undo
(docs/alerts.md#changing-alerts)."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.alerting.triage import (
    Analyst,
    BulkChanged,
    change_alerts_at_once,
    except_ids_condition,
    ids_condition,
    newest_alert_us,
    undo_change,
    until_condition,
)
from vedette.feeds.ignored import show_ignored
from vedette.model.principal import Principal
from vedette.model.rights.authorization import EVERYWHERE, Deed, may, require
from vedette.model.scope import Scope
from vedette.query import Condition
from vedette.query.compile.alerts_sql import all_conditions
from vedette.search.alerts.alert_search import selected_by_query
from vedette.state.accounts.users import id_of
from vedette.store.read.detection.alert_selection import summary
from vedette.store.read.detection.alerts import count_alerts
from vedette.web.alerts.alert_changes_json import BulkChange, bulk_change
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.bulk_selection import check_selection
from vedette.web.json.wire_values import instant, known_instant

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.post("/api/v1/alerts", right=Right.ACT, summary="Change many alerts at once")
def change_many(here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Body: a selection by `alert_ids` (also `ids`), `query`, or both (their intersection), without
    `except_ids` and alerts created after `snapshot`; and the new `requested_status`, `assigned_to`,
    `notes` (also `comment`), `set_ignored`. Changes all selected alerts or none. `changed` counts
    the alerts whose values differed. With `expected`, a different number of alerts returns 409.
    With `dry_run` nothing changes: the response counts the alerts and has the `snapshot` to send
    with the change. `action_id` undoes the change. A query that matches every alert needs
    `allow_all`. `set_ignored` needs a global administrator, because it affects hosts of every
    group."""
    wanted = bulk_change(body)
    if wanted.wanted.report_ignored is not None:
        require(caller, Deed.IGNORE_REPORTS, EVERYWHERE)
    if not wanted.is_exact:
        require(caller, Deed.TRIAGE_UNCOUNTED, EVERYWHERE)
    acting = here.scopes.acting(caller, Deed.TRIAGE)
    if wanted.is_dry_run:
        return _counted(here, caller, scope, acting, wanted)
    where, selected, selects_all = _selection(here, wanted)
    check_selection("query", selects_all=selects_all, allows_all=wanted.allows_all)
    done = change_alerts_at_once(
        here.engine,
        here.database,
        acting,
        where,
        selected,
        wanted.wanted,
        _analyst(here, caller),
        wanted.expected,
    )
    _show(here, done)
    answer = {"result": "success", "changed": done.changed}
    if wanted.is_exact:  # older clients compare the complete response
        answer["action_id"] = done.action_id or None
        answer["reports"] = len(done.reports)
    return json_answer(answer)


def _show(here: Services, done: BulkChanged) -> None:
    if done.reports:
        show_ignored(here.engine, here.database, here.clock, done.reports, ignored=done.ignored)


@router.post("/api/v1/undo/{action_id}", right=Right.ACT, summary="Undo a bulk change of alerts")
def undo(action_id: str, here: Here, caller: Caller) -> Response:
    """Restores status, assignee and notes, except for alerts that were changed again. Only the
    author of the change may undo it, within ten minutes. `restored` counts the alerts. `reports`
    counts threat reports whose ignored state was restored."""
    acting, by = here.scopes.acting(caller, Deed.TRIAGE), _analyst(here, caller)
    done = undo_change(here.engine, here.database, acting, action_id, by)
    _show(here, done)
    return json_answer(
        {"result": "success", "restored": done.changed, "reports": len(done.reports)}
    )


def _counted(
    here: Services, caller: Principal, scope: Scope, acting: Scope, wanted: BulkChange
) -> Response:
    """Counts the selected alerts. The snapshot is the creation time of the newest selected alert,
    because the newest of all alerts would reveal alerts that the caller may not see."""
    now_us = here.clock.now_us()
    until_us = wanted.until_us
    if until_us is None:
        until_us = newest_alert_us(here.engine, here.database, now_us)
    where, _, selects_all = _selection(here, wanted, until_us=until_us)
    found = summary(here.engine, where, acting, caller.name)
    snapshot_us = found.newest_us or now_us if wanted.until_us is None else wanted.until_us
    seen = found.alerts if acting == scope else count_alerts(here.engine, where, scope)
    return json_answer(
        {
            "result": "success",
            "dry_run": True,
            "alerts": found.alerts,
            "hosts": found.hosts,
            "oldest": known_instant(found.oldest_us),
            "newest": known_instant(found.newest_us),
            "assigned_to_others": found.of_others,
            "reports": found.reports,
            "not_permitted": seen - found.alerts,
            "selects_all": selects_all,
            "snapshot": instant(snapshot_us),
        }
    )


def _selection(
    here: Services, wanted: BulkChange, until_us: int | None = None
) -> tuple[Condition, str, bool]:
    """Returns the condition on alerts, its text for the audit log, and whether it selects all
    alerts. Excluded ids and a snapshot do not count as restrictions."""
    parts, names, selects_all = [], [], False
    if wanted.ids is not None:
        parts.append(ids_condition(wanted.ids))
        names.append(f"{len(wanted.ids)} ids")
    if wanted.query is not None:
        now_us = here.clock.now_us()
        where, is_match_all = selected_by_query(here.engine, wanted.query, here.settings, now_us)
        parts.append(where)
        selects_all = is_match_all and wanted.ids is None
        names.append(wanted.query)
    if wanted.except_ids:
        parts.append(except_ids_condition(wanted.except_ids))
        names.append(f"not {len(wanted.except_ids)} ids")
    last_us = wanted.until_us if until_us is None else until_us
    if last_us is not None:
        parts.append(until_condition(last_us))
        names.append(f"made by {instant(last_us)}")
    return all_conditions(parts), " AND ".join(names), selects_all


def _analyst(here: Services, caller: Principal) -> Analyst:
    user_id = id_of(here.database, caller.name)
    may_ignore = may(caller, Deed.IGNORE_REPORTS, EVERYWHERE)
    return Analyst(user_id, caller.name, here.clock.now_us(), may_ignore)

"""Changing many alerts at once, exactly those that were counted, and taking it back
(docs/alerts.md#changing-alerts)."""

from typing import Annotated, Any, Final

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
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.alert_changes import BulkChange, bulk_change
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.errors import ForbiddenError
from vedette.feeds.ignored import show_ignored
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.query import Condition
from vedette.query.compile.alerts_sql import all_conditions
from vedette.search.alerts.alert_search import selected_by_query
from vedette.state.accounts.users import id_of
from vedette.store.read.detection.alert_selection import summary
from vedette.store.read.detection.alerts import count_alerts

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_UNCOUNTED: Final = (
    "may change many alerts at once only with `expected`, the number that a `dry_run` counted; "
    "without it that is for global administrators"
)
_IGNORES: Final = (
    "may not ignore reports, which holds for every sensor group: that is for global administrators"
)


@router.post("/api/v1/alerts", summary="Change many alerts at once")
def change_many(here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `alert_ids` (also `ids`), `query`, or both for what both select, without `except_ids`
    and those made after `snapshot`; and `requested_status`, `assigned_to`, `notes` (also
    `comment`), `set_ignored`. All of them change or none; `changed` counts those that were not so
    already. With `expected`, another number of alerts is refused with 409. With `dry_run` nothing
    changes: the answer counts them and has the `snapshot` to send back. `action_id` undoes it.
    `set_ignored` is for global administrators, since it holds for the hosts of every group."""
    wanted = bulk_change(body)
    if wanted.wanted.report_ignored is not None:
        _check_may_ignore(caller)
    if not wanted.is_exact and not caller.is_global_admin:
        raise ForbiddenError(f"{caller.name} {_UNCOUNTED}")
    acting = here.scopes.acting(caller)
    if wanted.is_dry_run:
        return _counted(here, caller, scope, acting, wanted)
    where, selected = _selection(here, wanted)
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
    if wanted.is_exact:  # older clients compare the whole answer
        answer["action_id"] = done.action_id or None
        answer["reports"] = len(done.reports)
    return json_answer(answer)


def _check_may_ignore(caller: Principal) -> None:
    if not caller.is_global_admin:
        raise ForbiddenError(f"{caller.name} {_IGNORES}")


def _show(here: Services, done: BulkChanged) -> None:
    if done.reports:
        show_ignored(here.engine, here.database, here.clock, done.reports, ignored=done.ignored)


@router.post("/api/v1/undo/{action_id}", summary="Undo a bulk change of alerts")
def undo(action_id: str, here: Here, caller: Caller) -> Response:
    """Within ten minutes, by who made it. Status, assignee and notes become what they were, but for
    alerts that were changed again since. `restored` counts them, `reports` those that are not
    ignored any more, or are again."""
    acting, by = here.scopes.acting(caller), _analyst(here, caller)
    done = undo_change(here.engine, here.database, acting, action_id, by)
    _show(here, done)
    return json_answer(
        {"result": "success", "restored": done.changed, "reports": len(done.reports)}
    )


def _counted(
    here: Services, caller: Principal, scope: Scope, acting: Scope, wanted: BulkChange
) -> Response:
    """What a change would be. The snapshot is when the newest of them was made: the newest of all
    alerts would reveal those that the caller may not see."""
    now_us = here.clock.now_us()
    until_us = wanted.until_us
    if until_us is None:
        until_us = newest_alert_us(here.engine, here.database, now_us)
    where, _ = _selection(here, wanted, until_us=until_us)
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
            "snapshot": instant(snapshot_us),
        }
    )


def _selection(
    here: Services, wanted: BulkChange, until_us: int | None = None
) -> tuple[Condition, str]:
    """The condition on alerts, and how the audit calls it."""
    parts, names = [], []
    if wanted.ids is not None:
        parts.append(ids_condition(wanted.ids))
        names.append(f"{len(wanted.ids)} ids")
    if wanted.query is not None:
        now_us = here.clock.now_us()
        parts.append(selected_by_query(here.engine, wanted.query, here.settings, now_us))
        names.append(wanted.query)
    if wanted.except_ids:
        parts.append(except_ids_condition(wanted.except_ids))
        names.append(f"not {len(wanted.except_ids)} ids")
    last_us = wanted.until_us if until_us is None else until_us
    if last_us is not None:
        parts.append(until_condition(last_us))
        names.append(f"made by {instant(last_us)}")
    return all_conditions(parts), " AND ".join(names)


def _analyst(here: Services, caller: Principal) -> Analyst:
    user_id = id_of(here.database, caller.name)
    return Analyst(user_id, caller.name, here.clock.now_us(), caller.is_global_admin)

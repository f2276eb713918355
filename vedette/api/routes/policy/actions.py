"""Actions of watchlists, feeds and rules: what happens when they find something."""

from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.policy.action_sources import ACTION_SOURCES, ActionSource, number_of
from vedette.api.schemas.action import (
    action_data,
    action_type,
    is_enabled,
    legacy_body,
    numbered_type,
)
from vedette.api.services import Services, services
from vedette.errors import BusyError, ConflictError
from vedette.limits import OUTBOX_TRIALS_KEY_CHARS, OUTBOX_TRIALS_PER_MINUTE
from vedette.model.findings.action import Action, ActionType
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal, Role
from vedette.notify import action_settings
from vedette.notify.action_settings import Editor
from vedette.notify.mail_page import TEMPLATES
from vedette.notify.trial import enqueue_trial, target_of, trial_notice
from vedette.state.accounts.users import id_of

router = Router(tags=["actions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_SUCCESS = {"result": "success"}


def _editor(here: Services, caller: Principal) -> Editor:
    return Editor(
        id_of(here.database, caller.name),
        caller.is_global_admin,
        here.sealing,
        here.clock.now_us(),
        bool(here.settings.webhook_url),
        here.settings.data / TEMPLATES,
    )


def _changed(kind: ActionSource, here: Services, caller: Principal, source_id: str) -> Source:
    """A source whose actions the caller may change."""
    return kind.source(here.database, caller, source_id, Role.ANALYST)


def _add_types(kind: ActionSource) -> None:
    """The routes of one kind of source, by type of action."""
    types = f"{kind.base}/{{source_id}}/action_type"

    @router.get(types, summary="Which actions are on")
    def listed(source_id: str, here: Here, caller: Caller) -> Response:
        """All four; `email` is that of the caller."""
        source = kind.source(here.database, caller, source_id)
        user_id = id_of(here.database, caller.name)
        with here.database.reading() as connection:
            found = action_settings.action_types(connection, source, user_id)
        return json_answer(
            [{"action_type": name, "enabled": is_on} for name, is_on in found.items()]
        )

    @router.get(f"{types}/{{action}}", summary="Whether an action is on")
    def one(source_id: str, action: str, here: Here, caller: Caller) -> Response:
        """`email` is that of the caller."""
        wanted = action_type(action)
        source = kind.source(here.database, caller, source_id)
        user_id = id_of(here.database, caller.name)
        with here.database.reading() as connection:
            found = action_settings.action_types(connection, source, user_id)
        return json_answer({"enabled": list(found.values())[wanted]})

    @router.put(f"{types}/{{action}}", summary="Switch an action")
    def switch(source_id: str, action: str, here: Here, caller: Caller, body: Body) -> Response:
        """Takes `enabled`; for `http` also where it leads: `url`, `template`, `secret`,
        `authorization`, `params` (docs/notifications.md#webhooks)."""
        wanted, is_on = action_type(action), is_enabled(body, needed=True)
        source, by = _changed(kind, here, caller, source_id), _editor(here, caller)
        members = {
            name: value for name, value in body.items() if name not in ("enabled", "action_type")
        }
        with here.database.writing() as connection:
            action_settings.switch(connection, source, wanted, bool(is_on), by, members)
        return json_answer(_SUCCESS)

    @router.post(f"{types}/{{action}}/test", summary="Try an action")
    def test(source_id: str, action: str, here: Here, caller: Caller) -> Response:
        """A message that is marked as a test goes where the action sends to: `email` to the caller,
        `http` to each webhook of the source and of the caller that is on. `targets` names them; at
        most 6 a minute go to one. 409 where the action is off."""
        wanted = action_type(action)
        source, by = _changed(kind, here, caller, source_id), _editor(here, caller)
        with here.database.reading() as connection:
            found = action_settings.listed(connection, source, by)
        targets = {target_of(one, by.user_id): one.id for one in found if _is_on(one, wanted, by)}
        if not targets:
            raise ConflictError(f"the action {action[:20]} is off")
        for target, action_id in targets.items():
            check_trials(here, target)
            notice = trial_notice(caller.name, by.now_us)
            enqueue_trial(here.database, target, notice, action_id)
        return json_answer(_SUCCESS | {"targets": sorted(targets)})


def _is_on(action: Action, wanted: ActionType, by: Editor) -> bool:
    is_theirs = action.type is not ActionType.EMAIL or by.user_id in action.recipients
    return action.enabled and action.type is wanted and is_theirs


def check_trials(here: Services, target: str) -> None:
    """Raises BusyError for a target that was tried too often."""
    per_minute = OUTBOX_TRIALS_PER_MINUTE
    counted = f"trials of {target[:OUTBOX_TRIALS_KEY_CHARS]}"
    if not here.rates.take(counted, per_minute, here.clock.now_us()):
        raise BusyError("this target was tried too often within a minute", reason="too_many_trials")


def _add_legacy(kind: ActionSource) -> None:
    """The routes of one kind of source, by stored action."""
    legacy = f"{kind.base}/{{source_id}}/action"

    @router.get(legacy, summary="Stored actions (legacy)")
    def stored(source_id: str, here: Here, caller: Caller) -> Response:
        """Those of the source and of the caller; global administrators see all."""
        source, by = kind.source(here.database, caller, source_id), _editor(here, caller)
        with here.database.reading() as connection:
            found = action_settings.listed(connection, source, by)
        return json_answer([legacy_body(action) for action in found])

    @router.post(legacy, summary="Add an action (legacy)")
    def create(source_id: str, here: Here, caller: Caller, body: Body) -> Response:
        """Takes `action_type` as a number and `action_data`."""
        wanted, data = numbered_type(body.get("action_type")), action_data(body)
        source, by = _changed(kind, here, caller, source_id), _editor(here, caller)
        with here.database.writing() as connection:
            made = action_settings.add(connection, source, wanted, data, by)
        return json_answer({"action_id": made})

    @router.get(f"{legacy}/{{action_id}}", summary="One stored action (legacy)")
    def stored_one(source_id: str, action_id: str, here: Here, caller: Caller) -> Response:
        number = number_of(action_id, "action")
        source, by = kind.source(here.database, caller, source_id), _editor(here, caller)
        with here.database.reading() as connection:
            return json_answer(legacy_body(action_settings.get(connection, source, number, by)))

    @router.put(f"{legacy}/{{action_id}}", summary="Change an action (legacy)")
    def change(source_id: str, action_id: str, here: Here, caller: Caller, body: Body) -> Response:
        """Takes `action_data` and `enabled`; its type stays."""
        number, data = number_of(action_id, "action"), action_data(body)
        is_on = is_enabled(body, needed=False)
        source, by = _changed(kind, here, caller, source_id), _editor(here, caller)
        with here.database.writing() as connection:
            action_settings.change(connection, source, number, by, is_on, data)
        return json_answer(_SUCCESS)

    @router.delete(f"{legacy}/{{action_id}}", summary="Delete an action (legacy)")
    def delete(source_id: str, action_id: str, here: Here, caller: Caller) -> Response:
        number = number_of(action_id, "action")
        source, by = _changed(kind, here, caller, source_id), _editor(here, caller)
        with here.database.writing() as connection:
            action_settings.remove(connection, source, number, by)
        return json_answer(_SUCCESS)


for _kind in ACTION_SOURCES:
    _add_types(_kind)
    _add_legacy(_kind)

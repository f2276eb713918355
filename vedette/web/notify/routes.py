"""Routes of actions, which watchlists, feeds and rules run on each hit."""

from typing import Annotated

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BusyError, ConflictError
from vedette.limits import Limit
from vedette.model.findings.action import Action, ActionType
from vedette.model.findings.detection import Source
from vedette.model.principal import Principal
from vedette.notify import action_settings
from vedette.notify.action_settings import Editor
from vedette.notify.mail_page import TEMPLATES
from vedette.notify.trial import enqueue_trial, target_of, trial_notice
from vedette.record.answers import many
from vedette.record.objects.action import (
    ACTION_CHANGE,
    ACTION_SWITCH,
    NEW_ACTION,
    ActionChange,
    ActionEnabled,
    ActionState,
    ActionSwitch,
    ActionTrial,
    AddedAction,
    NewActionRequest,
    StoredAction,
)
from vedette.state.accounts.users import id_of
from vedette.web.http.access import principal_of
from vedette.web.http.action_sources import ACTION_SOURCES, ActionSource, number_of
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.notify.models import (
    action_type,
    legacy_body,
)

OUTBOX_TRIALS_PER_MINUTE: Limit[int] = 6
"""Maximum test messages per target and minute: sufficient for setting up a target, too few to flood
the recipients."""

OUTBOX_TRIALS_KEY_CHARS: Limit[int] = 200
"""Characters of the target name in the rate-limit key of test messages."""


router = Router(tags=["actions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Switch = Annotated[ActionSwitch, Depends(json_body(ACTION_SWITCH))]
New = Annotated[NewActionRequest, Depends(json_body(NEW_ACTION))]
Change = Annotated[ActionChange, Depends(json_body(ACTION_CHANGE))]

_SUCCESS = {"result": "success"}


def editing(
    kind: ActionSource, here: Services, caller: Principal, source_id: str
) -> tuple[Source, Editor]:
    """Returns the source that a path names, and the caller as editor of its actions. Raises
    NotFoundError."""
    source, source_right = kind.source(here.database, caller, source_id)
    editor = Editor(
        id_of(here.database, caller.name),
        caller,
        source_right,
        here.sealing,
        here.clock.now_us(),
        bool(here.settings.webhook_url),
        here.settings.data / TEMPLATES,
    )
    return source, editor


def _add_types(kind: ActionSource) -> None:
    """Adds the routes of a kind of source, by action type."""
    types = f"{kind.base}/{{source_id}}/action_type"

    @router.get(
        types,
        right=Right.VIEW,
        summary="List the actions that are on",
        response_model=many(ActionState),
    )
    def listed(source_id: str, here: Here, caller: Caller) -> Response:
        """Returns the state of all four types; `email` refers to mail to the caller."""
        source, _ = kind.source(here.database, caller, source_id)
        user_id = id_of(here.database, caller.name)
        with here.database.reading() as connection:
            found = action_settings.action_types(connection, source, user_id)
        return json_answer(
            [{"action_type": name, "enabled": is_on} for name, is_on in found.items()]
        )

    @router.get(
        f"{types}/{{action}}",
        right=Right.ACT,
        summary="Get whether an action is on",
        response_model=ActionEnabled,
    )
    def one(source_id: str, action: str, here: Here, caller: Caller) -> Response:
        """Returns whether an action is enabled; `email` refers to mail to the caller."""
        wanted = action_type(action)
        source, _ = kind.source(here.database, caller, source_id)
        user_id = id_of(here.database, caller.name)
        with here.database.reading() as connection:
            found = action_settings.action_types(connection, source, user_id)
        return json_answer({"enabled": list(found.values())[wanted]})

    @router.put(f"{types}/{{action}}", right=Right.ACT, summary="Switch an action")
    def switch(source_id: str, action: str, here: Here, caller: Caller, body: Switch) -> Response:
        """Enables or disables an action. All members except `enabled` configure `http`
        (docs/notifications.md#webhooks). If the caller may not change the action of the source,
        only the caller's own action changes."""
        wanted = action_type(action)
        source, by = editing(kind, here, caller, source_id)
        members = body.model_dump(exclude_unset=True, exclude={"enabled", "action_type"})
        with here.database.writing() as connection:
            action_settings.switch(connection, source, wanted, body.enabled, by, members)
        return json_answer(_SUCCESS)

    @router.post(
        f"{types}/{{action}}/test",
        right=Right.ACT,
        summary="Try an action",
        response_model=ActionTrial,
    )
    def test(source_id: str, action: str, here: Here, caller: Caller) -> Response:
        """Sends a test message to the action's target: `email` to the caller; `http` to each
        enabled webhook of the caller and, if the caller may change it, of the source. `targets`
        lists them, with at most 6 test messages per minute each. Returns 409 if the action is
        disabled."""
        wanted = action_type(action)
        source, by = editing(kind, here, caller, source_id)
        with here.database.reading() as connection:
            found = action_settings.listed(connection, source, by)
        is_on = [one for one in found if _is_on(one, wanted, by)]
        # Mail goes to the caller only, even if others receive this action too.
        tried = is_on if wanted is ActionType.EMAIL else action_settings.changeable(is_on, by)
        targets = {target_of(one, by.user_id): one.id for one in tried}
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
    """Raises BusyError if a target was tested too often."""
    per_minute = OUTBOX_TRIALS_PER_MINUTE
    counted = f"trials of {target[:OUTBOX_TRIALS_KEY_CHARS]}"
    if not here.rates.take(counted, per_minute, here.clock.now_us()):
        raise BusyError(
            "this target was tested too often within a minute", reason="too_many_trials"
        )


def _add_legacy(kind: ActionSource) -> None:
    """Adds the routes of a kind of source for stored actions."""
    legacy = f"{kind.base}/{{source_id}}/action"

    @router.get(
        legacy,
        right=Right.VIEW,
        summary="Stored actions (legacy)",
        response_model=many(StoredAction),
    )
    def stored(source_id: str, here: Here, caller: Caller) -> Response:
        """Returns the actions of the source and the caller's own; global administrators see all."""
        source, by = editing(kind, here, caller, source_id)
        with here.database.reading() as connection:
            found = action_settings.listed(connection, source, by)
        return json_answer([legacy_body(action) for action in found])

    @router.post(
        legacy, right=Right.ACT, summary="Add an action (legacy)", response_model=AddedAction
    )
    def create(source_id: str, here: Here, caller: Caller, body: New) -> Response:
        """Adds an action and returns its number."""
        wanted, data = ActionType(body.action_type), body.action_data
        source, by = editing(kind, here, caller, source_id)
        with here.database.writing() as connection:
            made = action_settings.add(connection, source, wanted, data, by)
        return json_answer({"action_id": made})

    @router.get(
        f"{legacy}/{{action_id}}",
        right=Right.VIEW,
        summary="Get a stored action (legacy)",
        response_model=StoredAction,
    )
    def stored_one(source_id: str, action_id: str, here: Here, caller: Caller) -> Response:
        number = number_of(action_id, "action")
        source, by = editing(kind, here, caller, source_id)
        with here.database.reading() as connection:
            return json_answer(legacy_body(action_settings.get(connection, source, number, by)))

    @router.put(f"{legacy}/{{action_id}}", right=Right.ACT, summary="Change an action (legacy)")
    def change(
        source_id: str, action_id: str, here: Here, caller: Caller, body: Change
    ) -> Response:
        """Changes an action, except its type."""
        number, data = number_of(action_id, "action"), body.action_data
        source, by = editing(kind, here, caller, source_id)
        with here.database.writing() as connection:
            action_settings.change(connection, source, number, by, body.enabled, data)
        return json_answer(_SUCCESS)

    @router.delete(f"{legacy}/{{action_id}}", right=Right.ACT, summary="Delete an action (legacy)")
    def delete(source_id: str, action_id: str, here: Here, caller: Caller) -> Response:
        number = number_of(action_id, "action")
        source, by = editing(kind, here, caller, source_id)
        with here.database.writing() as connection:
            action_settings.remove(connection, source, number, by)
        return json_answer(_SUCCESS)


for _kind in ACTION_SOURCES:
    _add_types(_kind)
    _add_legacy(_kind)

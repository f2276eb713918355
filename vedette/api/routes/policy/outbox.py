"""The outbox: what waits to be sent, what fails and why, what was given up."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.policy.actions import check_trials
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError
from vedette.limits import OUTBOX_LIST_MAX
from vedette.model.principal import Principal
from vedette.notify.trial import send_trial, trial_notice
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import Message, MessageState, Target

router = Router(tags=["outbox"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_STATES: Final = {state.name.lower(): state for state in MessageState}
_PAGE: Final = described(
    ("state", f"One of {', '.join(_STATES)}; default dead"),
    ("target", "Only messages to this target"),
    ("after", "Only messages with a higher id"),
    ("rows", f"Messages of the answer; default 100, at most {OUTBOX_LIST_MAX}"),
)


@router.get("/api/v1/outbox", summary="How sending goes, by target")
def targets(here: Here) -> Response:
    """Every target that ever had a message, with the error of its latest attempt."""
    dead = outbox.dead_counts(here.database)
    found = outbox.targets(here.database)
    return json_answer([_target_body(one, dead.get(one.name, 0)) for one in found])


@router.get("/api/v1/outbox/message", summary="Messages of the outbox", openapi_extra=_PAGE)
def messages(request: Request, here: Here) -> Response:
    """In the order of sending. What was sent has no body any more."""
    wanted = request.query_params
    state = wanted.get("state", "dead")
    if state not in _STATES:
        raise BadRequestError(f"state: must be one of {', '.join(_STATES)}")
    found = outbox.messages(
        here.database,
        _STATES[state],
        wanted.get("target", ""),
        whole_number(wanted, "after", 0),
        min(whole_number(wanted, "rows", 100), OUTBOX_LIST_MAX),
    )
    return json_answer([_message_body(one) for one in found])


@router.post("/api/v1/outbox/retry", summary="Send again")
def retry(here: Here, body: Body) -> Response:
    """Takes `ids` of dead messages, which are sent after all, or `target`, whose backoff ends now
    and whose dead messages are sent."""
    check_members(body, "ids", "target", of="the request")
    ids, target = _ids(body), body.get("target")
    if not isinstance(target, str) or not target:
        target = ""
        if not ids:
            raise BadRequestError("ids or target: one is needed")
    else:
        dead = outbox.messages(here.database, MessageState.DEAD, target, count=OUTBOX_LIST_MAX)
        ids += [one.id for one in dead]
    count = outbox.retry(here.database, ids, here.clock.now_us(), target)
    return json_answer({"result": "success", "count": count})


@router.post("/api/v1/outbox/discard", summary="Give messages up")
def discard(here: Here, body: Body) -> Response:
    """Takes `ids` of messages that wait or are dead. They are not sent, nor enqueued again."""
    check_members(body, "ids", of="the request")
    ids = _ids(body)
    if not ids:
        raise BadRequestError("ids: is missing")
    count = outbox.discard(here.database, ids, here.clock.now_us())
    return json_answer({"result": "success", "count": count})


@router.post("/api/v1/outbox/test", summary="Try a target")
def test(here: Here, caller: Caller, body: Body) -> Response:
    """A message that is marked as a test and says nothing of any host goes to `target`, behind what
    waits there; a backoff ends. Also to targets that never had a message: `syslog`, webhooks of
    actions that are on, `email:ID` of a user. `id` is that of the message, whose state `GET
    /api/v1/outbox/message` tells; at most 6 a minute for one target."""
    check_members(body, "target", of="the request")
    target = body.get("target")
    if not isinstance(target, str) or not target:
        raise BadRequestError("target: is missing")
    check_trials(here, target)
    notice = trial_notice(caller.name, here.clock.now_us())
    found = send_trial(here.database, here.settings, target, notice)
    return json_answer({"result": "success", "id": found})


def _ids(body: dict[str, Any]) -> list[int]:
    found = body.get("ids", [])
    if not isinstance(found, list) or len(found) > OUTBOX_LIST_MAX:
        raise BadRequestError(f"ids: must be a list of at most {OUTBOX_LIST_MAX} ids")
    for one in found:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 < one < 1 << 31:
            raise BadRequestError("ids: must be ids of messages")
    return list(found)


def _target_body(one: Target, dead: int) -> dict[str, Any]:
    return {
        "target": one.name,
        "waiting": one.waiting,
        "dead": dead,
        "sent": one.sent,
        "last_sent": instant(one.sent_us) if one.sent_us else None,
        "failures": one.failures,
        "failing_since": instant(one.failing_since_us) if one.failing_since_us else None,
        "next_attempt": instant(one.next_us) if one.next_us else None,
        "error": one.error,
        "overflow": one.refused,
        "last_overflow": instant(one.refused_us) if one.refused_us else None,
    }


def _message_body(one: Message) -> dict[str, Any]:
    return {
        "id": one.id,
        "key": one.key,
        "target": one.target,
        "state": one.state.name.lower(),
        "action_id": one.action_id or None,
        "created": instant(one.created_us),
        "due": instant(one.due_us) if one.due_us else None,
        "changed": instant(one.changed_us),
        "attempts": one.attempts,
        "error": one.error,
        "body": one.body,
    }

"""The outbox: messages waiting to be sent, failures with reasons, and dead messages."""

from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.notify.trial import send_trial, trial_notice
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import Message, MessageState, Target
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members
from vedette.web.json.parameters import described, whole_number
from vedette.web.json.wire_values import instant
from vedette.web.notify.routes import check_trials

OUTBOX_LIST_MAX: Limit[int] = 1_000
"""Messages per page of the outbox."""


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


@router.get("/api/v1/outbox", right=Right.ADMINISTER, summary="List outbox targets")
def targets(here: Here) -> Response:
    """Returns every target that ever had a message, with counts and the error of its latest
    attempt."""
    dead = outbox.dead_counts(here.database)
    found = outbox.targets(here.database)
    return json_answer([_target_body(one, dead.get(one.name, 0)) for one in found])


@router.get(
    "/api/v1/outbox/message",
    right=Right.ADMINISTER,
    summary="List outbox messages",
    openapi_extra=_PAGE,
)
def messages(request: Request, here: Here) -> Response:
    """Returns messages in sending order. Sent messages no longer have a body."""
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


@router.post("/api/v1/outbox/retry", right=Deed.CHANGE_OUTBOX, summary="Retry messages")
def retry(here: Here, body: Body) -> Response:
    """Body: `ids` of dead messages to send again, or `target`, to end its backoff and send its dead
    messages again. Returns the number of messages."""
    check_members(body, "ids", "target", of="the request")
    ids, target = _ids(body), body.get("target")
    if not isinstance(target, str) or not target:
        target = ""
        if not ids:
            raise BadRequestError("ids or target is required")
    else:
        dead = outbox.messages(here.database, MessageState.DEAD, target, count=OUTBOX_LIST_MAX)
        ids += [one.id for one in dead]
    count = outbox.retry(here.database, ids, here.clock.now_us(), target)
    return json_answer({"result": "success", "count": count})


@router.post("/api/v1/outbox/discard", right=Deed.CHANGE_OUTBOX, summary="Discard messages")
def discard(here: Here, body: Body) -> Response:
    """Body: `ids` of waiting or dead messages. They are neither sent nor enqueued again."""
    check_members(body, "ids", of="the request")
    ids = _ids(body)
    if not ids:
        raise BadRequestError("ids: is required")
    count = outbox.discard(here.database, ids, here.clock.now_us())
    return json_answer({"result": "success", "count": count})


@router.post("/api/v1/outbox/test", right=Deed.CHANGE_OUTBOX, summary="Test a target")
def test(here: Here, caller: Caller, body: Body) -> Response:
    """Body: `target`. Enqueues a test message without host data after the messages already waiting,
    and ends a backoff. Also accepts targets that never had a message: `syslog`, webhooks of enabled
    actions, `email:ID` of a user. Returns the message's `id`; `GET /api/v1/outbox/message` has its
    state. At most 6 test messages per minute and target."""
    check_members(body, "target", of="the request")
    target = body.get("target")
    if not isinstance(target, str) or not target:
        raise BadRequestError("target: is required")
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

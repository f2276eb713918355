"""Test messages for targets: marked as tests and without facts about hosts, so that users without
hosts may get them, too."""

import secrets
from typing import Final

from msgspec.structs import replace

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.model.findings.action import Action, ActionType
from vedette.notify.notice import Notice, encode
from vedette.notify.targets import (
    APP_CONTROL,
    MAIL,
    SYSLOG,
    WEBHOOK,
    kind_of,
    mail_target,
    webhook_target,
)
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import NewMessage
from vedette.state.policy import actions, app_control

_KIND: Final = "server"
_ID: Final = "test"


def trial_notice(by: str, now_us: int) -> Notice:
    """Returns a test message; `by` is the sender's name."""
    return Notice(
        id=f"test-{secrets.token_hex(8)}",
        source_kind=_KIND,
        source_id=_ID,
        source_name=by,
        title="Vedette test message",
        description="This is a test of message delivery. It reports no detection.",
        severity=0,
        level="informational",
        created_us=now_us,
        time_us=now_us,
    )


def is_trial(notice: Notice) -> bool:
    return (notice.source_kind, notice.source_id) == (_KIND, _ID)


def targets_to_try(database: Database, settings: Settings, user_id: int) -> list[str]:
    """Returns the names of targets that ever had a message or that settings and actions name now;
    includes mail to `user_id` unless it is 0."""
    found = {one.name for one in outbox.targets(database)}
    with database.reading() as connection:
        found |= {webhook_target(one) for one in actions.webhooks(connection)}
        is_exporting = app_control.load(connection).is_exporting
    named = (
        (mail_target(user_id), settings.smtp_host and user_id),
        (SYSLOG, settings.syslog_host),
        (APP_CONTROL, is_exporting),
    )
    return sorted(found | {name for name, is_set in named if is_set})


def target_of(action: Action, user_id: int) -> str:
    """Returns the target of an action; mail goes to this user. Raises BadRequestError for alerts,
    which are not messages."""
    match action.type:
        case ActionType.EMAIL:
            return mail_target(user_id)
        case ActionType.SYSLOG:
            return SYSLOG
        case ActionType.HTTP:
            return webhook_target(action)
        case ActionType.ALERT:
            raise BadRequestError("alerts are not messages")


def send_trial(database: Database, settings: Settings, target: str, notice: Notice) -> int:
    """Queues a test message, which ends the target's backoff, and returns its id. Raises
    NotFoundError, ConflictError for a webhook that no action uses, BusyError if the target's queue
    is full."""
    recipient = _recipient(target)
    if target not in targets_to_try(database, settings, recipient):
        raise NotFoundError(f"target {target[:80]!r} not found")
    action_id = _webhook(database, target).id if kind_of(target) == WEBHOOK else 0
    return enqueue_trial(database, target, notice, action_id)


def enqueue_trial(database: Database, target: str, notice: Notice, action_id: int = 0) -> int:
    """Like `send_trial`, for a target that is known to exist."""
    body = encode(replace(notice, recipient_id=_recipient(target)))
    message = NewMessage(f"{notice.id}:{target}", target, body, action_id)
    return outbox.enqueue_trial(database, message, notice.created_us)


def _recipient(target: str) -> int:
    """Returns the user id in the target; 0 if it is not mail."""
    kind, _, number = target.partition(":")
    is_mail = kind == MAIL and number.isascii() and number.isdigit() and len(number) < 10
    return int(number) if is_mail else 0


def _webhook(database: Database, target: str) -> Action:
    with database.reading() as connection:
        for action in actions.webhooks(connection):
            if webhook_target(action) == target:
                return action
    raise ConflictError("no enabled action uses this webhook")

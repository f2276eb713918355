"""Queues messages for detections: one per enabled action, in the transaction that counts the
detection as processed.

Keys combine detection and action, so that writing a detection again adds no message. A person gets
a detection once, however many actions name that person.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from vedette.alerting.hooks import WrittenDetection
from vedette.clock import Clock
from vedette.model.address import address_text
from vedette.model.event import UNKNOWN_IP
from vedette.model.findings.action import Action, ActionType
from vedette.model.findings.alert import THOUSAND
from vedette.model.findings.detection import Source
from vedette.notify.notice import Notice, encode, notice_of
from vedette.notify.targets import APP_CONTROL, SYSLOG, mail_target, webhook_target
from vedette.state.db.database import Transaction
from vedette.state.jobs.outbox import NewMessage, enqueue
from vedette.state.policy import app_control
from vedette.state.policy.actions import enabled_actions

_SECOND_US: Final = 1_000_000

_FROM_ALERT: Final = (
    "hostname",
    "group",
    "os_type",
    "username",
    "process_name",
    "process_path",
    "cmdline",
    "parent_name",
    "process_id",
    "segment_id",
    "md5",
    "sha256",
    "description",
    "title",
    "level",
    "tags",
    "techniques",
    "report_id",
    "ioc_type",
    "ioc_value",
    "alert_type",
    "matched",
    "sensor_id",
    "source_kind",
    "source_id",
    "source_name",
)
"""Members of a notice that are columns of an alert."""


class OutboxHook:
    """Queues messages (see `alerting/hooks.py`). `digest_s` is the time for which mails wait for
    others."""

    def __init__(self, clock: Clock, digest_s: int) -> None:
        self._clock = clock
        self._digest_us = digest_s * _SECOND_US

    def __call__(self, transaction: Transaction, detections: Sequence[WrittenDetection]) -> None:
        new = [one for one in detections if one.is_new]
        if not new:
            return
        now_us = self._clock.now_us()
        sources: set[Source] = {one.detection.source for one in new}
        enabled = enabled_actions(transaction, sources)
        is_exporting = app_control.load(transaction).is_exporting
        messages: list[NewMessage] = []
        for one in new:
            actions = enabled[one.detection.source].messages
            exported = is_exporting and one.detection.source.kind == "watchlist"
            if actions or exported:
                notice = _notice(one, now_us)
                messages += self._messages(notice, actions, now_us)
                if exported:
                    key = f"{notice.id}:{APP_CONTROL}"
                    messages.append(NewMessage(key, APP_CONTROL, encode(notice)))
        enqueue(transaction, messages, now_us)

    def _messages(
        self, notice: Notice, actions: Sequence[Action], now_us: int
    ) -> Iterator[NewMessage]:
        for action in actions:
            key = f"{notice.id}:{action.id}"
            match action.type:
                case ActionType.EMAIL:
                    yield from self._mails(notice, action, now_us)
                case ActionType.SYSLOG:
                    yield NewMessage(f"{notice.id}:{SYSLOG}", SYSLOG, encode(notice), action.id)
                case ActionType.HTTP:
                    yield NewMessage(key, webhook_target(action), encode(notice), action.id)
                case ActionType.ALERT:
                    raise AssertionError("alerts are not messages")

    def _mails(self, notice: Notice, action: Action, now_us: int) -> Iterator[NewMessage]:
        for user_id in action.recipients:
            body = encode(msgspec.structs.replace(notice, recipient_id=user_id))
            key, due_us = f"{notice.id}:mail:{user_id}", now_us + self._digest_us
            yield NewMessage(key, mail_target(user_id), body, action.id, due_us)


def _notice(one: WrittenDetection, now_us: int) -> Notice:
    row, found = one.alert, one.detection
    values: dict[str, Any] = {name: row[name] for name in _FROM_ALERT if name in row}
    return notice_of(
        values
        | {
            "id": found.id,
            "has_alert": one.has_alert,
            "title": found.title,
            "reference": found.link,
            "severity": found.severity,
            "report_score": row.get("report_score", 0) / THOUSAND,
            "time_us": found.time_us,
            "created_us": now_us,
            "interface_ip": address_text(row.get("interface_ip", UNKNOWN_IP)),
            "count": found.count,
        }
    )

"""Stored receivers of webhooks: the URL and the keys of an action are one sealed JSON document.

An action of a user who does not see all hosts posts only about hosts that the user may see.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import orjson

from vedette.model.findings.action import Action
from vedette.notify.delivery import Envelope, TargetError
from vedette.notify.trial import is_trial
from vedette.notify.webhook import Receiver
from vedette.settings import Settings
from vedette.state.accounts.readers import may_see
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing
from vedette.state.policy import actions

_PURPOSE: Final = "webhook"


def sealed(sealing: Sealing, receiver: Receiver) -> str:
    """Returns the stored form of a receiver."""
    return sealing.seal(orjson.dumps(asdict(receiver)).decode(), _PURPOSE)


def opened(sealing: Sealing, text: str) -> Receiver:
    """Decrypts a receiver. Raises UnavailableError if it was sealed with another key."""
    found: Mapping[str, Any] = orjson.loads(sealing.open(text, _PURPOSE))
    return Receiver(**found)


class StoredReceivers:
    """Looks up a receiver at the time of sending."""

    def __init__(self, database: Database, sealing: Sealing, settings: Settings) -> None:
        self._database = database
        self._sealing = sealing
        self._settings = settings

    def __call__(self, envelope: Envelope) -> Receiver | None:
        """Returns the receiver; None if the message is no longer needed. Raises TargetError,
        UnavailableError."""
        with self._database.reading() as connection:
            action = actions.by_id(connection, [envelope.action_id]).get(envelope.action_id)
            text = actions.sealed_secret(connection, envelope.action_id)
        if action is None or not action.enabled or not self._may_know(action, envelope):
            return None
        return opened(self._sealing, text) if text else self._default()

    def _may_know(self, action: Action, envelope: Envelope) -> bool:
        return (
            not action.user_id
            or is_trial(envelope.notice)
            or may_see(self._database, action.user_id, envelope.notice.sensor_id)
        )

    def _default(self) -> Receiver:
        settings = self._settings
        if not settings.webhook_url:
            raise TargetError("the action has no URL: set webhook_url")
        return Receiver(settings.webhook_url, settings.webhook_template, settings.webhook_secret)

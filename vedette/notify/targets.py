"""Names of targets in the outbox, the units that fail independently. The part before the colon is
the kind, which selects the sender (`senders.py`)."""

from hashlib import sha256
from typing import Final

from vedette.model.findings.action import Action

MAIL: Final = "email"
SYSLOG: Final = "syslog"
WEBHOOK: Final = "http"
APP_CONTROL: Final = "app_control"

RECEIVER: Final = "receiver"
"""Member of the data of an http action that identifies its receiver without revealing the URL."""


def mail_target(user_id: int) -> str:
    """Returns the target of a reader. Each reader is a target, so that mails to one reader stay in
    order."""
    return f"{MAIL}:{user_id}"


def webhook_target(action: Action) -> str:
    """Returns the target of a webhook. Actions with the same URL share a target."""
    return f"{WEBHOOK}:{action.data.get(RECEIVER, 'default')}"


def receiver_name(place: str, url: str) -> str:
    """Returns scheme and host of a URL with a hash of all of it, since the rest may be secret."""
    return f"{place} {sha256(url.encode()).hexdigest()[:10]}"


def kind_of(target: str) -> str:
    return target.partition(":")[0]

"""Names of targets in the outbox: what can fail alone. The part before the colon is the kind, which
has a sender (`senders.py`)."""

from hashlib import sha256
from typing import Final

from vedette.model.findings.action import Action

MAIL: Final = "email"
SYSLOG: Final = "syslog"
WEBHOOK: Final = "http"
APP_CONTROL: Final = "app_control"

RECEIVER: Final = "receiver"
"""Member of the data of an http action that names its receiver without giving it away."""


def mail_target(user_id: int) -> str:
    """Each reader is one, so that mails to one come in order and those to all go out at once."""
    return f"{MAIL}:{user_id}"


def webhook_target(action: Action) -> str:
    """Actions with the same URL share a target."""
    return f"{WEBHOOK}:{action.data.get(RECEIVER, 'default')}"


def receiver_name(place: str, url: str) -> str:
    """Scheme and host of a URL, with a hash of all of it: the rest may be a secret."""
    return f"{place} {sha256(url.encode()).hexdigest()[:10]}"


def kind_of(target: str) -> str:
    return target.partition(":")[0]

"""Webhooks: signed HTTP POSTs of a notice in the receiver's format.

Signatures follow Standard Webhooks: `webhook-signature: v1,BASE64` is the HMAC-SHA256 of
`ID.TIMESTAMP.BODY`, with `webhook-id` and `webhook-timestamp` (seconds). The id is identical in
every attempt, so that receivers can deduplicate.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from vedette.clock import Clock
from vedette.errors import VedetteError
from vedette.limits import WEBHOOK_BATCH
from vedette.notify.delivery import Envelope, TargetError, UnwantedError
from vedette.notify.http_post import PostRules, checked_url, post
from vedette.notify.json_template import fill_in, template_of
from vedette.notify.mail import alert_link
from vedette.notify.notice import Notice

_ENCODED: Final = "whsec_"
"""Prefix of base64 secrets, according to Standard Webhooks."""


@dataclass(frozen=True, slots=True, repr=False)
class Receiver:
    """Settings of a webhook, all of them secret."""

    url: str
    template: str = "vedette"
    secret: str = ""
    authorization: str = ""
    """Value of the Authorization header; "" for none."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Values of the template's placeholders `{params.NAME}`."""


Receivers = Callable[[Envelope], Receiver | None]
"""Returns the current receiver of a message; None if its action is gone. Raises VedetteError if it
is unreadable."""


class WebhookSender:
    """Posts one message at a time. `folder` contains the operator's templates."""

    batch = WEBHOOK_BATCH

    def __init__(
        self,
        receivers: Receivers,
        rules: PostRules,
        clock: Clock,
        public_url: str = "",
        folder: Path | None = None,
    ) -> None:
        self._receivers = receivers
        self._rules = rules
        self._clock = clock
        self._public_url = public_url
        self._folder = folder

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """Posts the first message. Raises TargetError, RefusedError, UnwantedError."""
        first = envelopes[0]
        try:
            receiver = self._receivers(first)
            if receiver is None:
                raise UnwantedError("its action was deleted or disabled")
            body = self._body(receiver, first.notice)
            url = checked_url(receiver.url)
        except UnwantedError:
            raise
        except VedetteError as error:
            raise TargetError(error.message) from None
        headers = signed_headers(
            body, first.key, self._clock.now_us() // 1_000_000, receiver.secret
        )
        if receiver.authorization:
            headers["Authorization"] = receiver.authorization
        post(url, body, headers, self._rules)
        return 1

    def _body(self, receiver: Receiver, notice: Notice) -> bytes:
        template = template_of(receiver.template, self._folder)
        return fill_in(template, template_values(notice, receiver.params, self._public_url))


def signed_headers(body: bytes, message_id: str, timestamp_s: int, secret: str) -> dict[str, str]:
    """Returns the headers of Standard Webhooks; without a secret, omits the signature."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp_s)}
    if secret:
        signed = f"{message_id}.{timestamp_s}.".encode() + body
        digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(digest).decode("ascii")
    return headers


def template_values(notice: Notice, params: Mapping[str, str], public_url: str) -> dict[str, Any]:
    """Returns the values of a template's placeholders (docs/notifications.md#templates)."""
    values: dict[str, Any] = {
        name: value if isinstance(value, str | list | dict) else str(value)
        for name, value in msgspec.structs.asdict(notice).items()
    }
    values |= {f"params.{name}": value for name, value in params.items()}
    values["alert_link"] = alert_link(public_url, notice)
    values["hash"] = notice.sha256 or notice.md5
    values["source_name"] = notice.source_name or notice.source_id
    values["time"] = _time(notice.time_us or notice.created_us)
    values["created"] = _time(notice.created_us)
    values["pagerduty_severity"] = _pagerduty(notice.severity)
    return values


def _key(secret: str) -> bytes:
    if secret.startswith(_ENCODED):
        try:
            return base64.b64decode(secret.removeprefix(_ENCODED), validate=True)
        except ValueError:
            pass  # a secret that merely starts like one
    return secret.encode()


def _time(time_us: int) -> str:
    if not time_us:
        return ""
    return datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _pagerduty(severity: int) -> str:
    steps = ((90, "critical"), (70, "error"), (40, "warning"))
    return next((name for least, name in steps if severity >= least), "info")

"""Exports watchlist hits to an application-control server, by HTTPS POST.

The setting is only the host name. Hits go to `https://HOST/api/watchlist_hit` with the server's
token, in the format of the webhook template `vedette`
(docs/notifications.md#application-control-server).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vedette.clock import Clock
from vedette.errors import VedetteError
from vedette.limits import WEBHOOK_BATCH
from vedette.notify.delivery import Envelope, TargetError, UnwantedError
from vedette.notify.http_post import PostRules, checked_url, post
from vedette.notify.json_template import fill_in, template_of
from vedette.notify.webhook import signed_headers, template_values

PATH: Final = "/api/watchlist_hit"


@dataclass(frozen=True, slots=True, repr=False)
class AppControlServer:
    """Current settings of the server."""

    host: str
    """Host name or address, with a port unless it is 443."""
    is_verified: bool
    token: str
    is_exporting: bool


class AppControlSender:
    """Posts one hit at a time."""

    batch = WEBHOOK_BATCH

    def __init__(
        self,
        server: Callable[[], AppControlServer],
        rules: PostRules,
        clock: Clock,
        public_url: str = "",
    ) -> None:
        self._server = server
        self._rules = rules
        self._clock = clock
        self._public_url = public_url

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """Posts the first hit. Raises TargetError, RefusedError, UnwantedError."""
        first = envelopes[0]
        try:
            server = self._server()
            url = checked_url(f"https://{server.host}{PATH}", "server_url")
        except VedetteError as error:
            raise TargetError(error.message) from None
        if not server.is_exporting:
            raise UnwantedError("watchlist_export is disabled")
        values = template_values(first.notice, {}, self._public_url)
        body = fill_in(template_of("vedette", None), values)
        headers = signed_headers(body, first.key, self._clock.now_us() // 1_000_000, "")
        if server.token:
            headers["X-Auth-Token"] = server.token
        post(url, body, headers, self._rules, is_verified=server.is_verified)
        return 1

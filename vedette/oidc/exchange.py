"""Sends one request to a provider and reads a JSON object as the answer.

The request goes through the guard of outgoing connections, follows no redirect, and reads an answer
of limited size. It ends within `PROVIDER_TOTAL_S`, however slowly the provider answers. Blocks, so
it is for threads only.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from vedette import __version__
from vedette.errors import UnauthorizedError, UnavailableError
from vedette.limits import PROVIDER_DOCUMENT_BYTES_MAX, REASON_SHOWN_CHARS, Limit
from vedette.notify.delivery import TargetError
from vedette.notify.http_post import PostRules, exchange, place_of

PROVIDER_TOTAL_S: Limit[int] = 10
"""Seconds that one request to a provider may take once it is connected. A user is waiting for the
page."""


_HEADERS: Final = {"Accept": "application/json", "User-Agent": f"vedette/{__version__}"}
_OK: Final = 200


class ProviderError(UnavailableError):
    """The provider cannot be asked, or its answer cannot be used. The message says why."""

    reason = "provider_unavailable"


class ProviderRefusalError(UnauthorizedError):
    """The provider answers a code with an error (RFC 6749 5.2)."""

    reason = "provider_refuses"


def fetch_json(
    url: str,
    rules: PostRules,
    *,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Sends a GET request, or a POST request with a form. Raises ProviderError; with a form also
    ProviderRefusalError."""
    place = place_of(url)
    sent = {**_HEADERS, **(headers or {})}
    if form is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        answer = exchange(
            "GET" if form is None else "POST",
            url,
            urlencode(form or {}).encode(),
            sent,
            rules,
            seconds=PROVIDER_TOTAL_S,
            answer_bytes=PROVIDER_DOCUMENT_BYTES_MAX + 1,
        )
    except TargetError as error:
        raise ProviderError(error.message) from None
    status, body = answer.status, answer.said
    if len(body) > PROVIDER_DOCUMENT_BYTES_MAX:
        raise ProviderError(f"{place}: the answer is larger than {PROVIDER_DOCUMENT_BYTES_MAX:,}")
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if status != _OK:
        if form is not None and isinstance(found, dict) and "error" in found:
            said = str(found["error"])[:REASON_SHOWN_CHARS].encode("ascii", "replace").decode()
            raise ProviderRefusalError(f"{place}: HTTP {status} {said!r}")
        raise ProviderError(f"{place}: HTTP {status}")
    if not isinstance(found, dict):
        raise ProviderError(f"{place}: the response is not a JSON object")
    return found

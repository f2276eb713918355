"""Alert search v7 of a server, with retries.

During an export a server may be busy, or restart on another port and with other tokens. Behind a
load balancer each request may reach a different server.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import httpx
import typer

from vedette.bootstrap.local_access import ELSEWHERE, LocalAccess, read_access
from vedette.cli.options import local_headers
from vedette.errors import BadRequestError, StartError, UnavailableError
from vedette.limits import Limit
from vedette.simulate.bulk_client import tls_context

ALERT_EXPORT_REQUEST_S: Limit[float] = 300.0
"""Timeout of an export request (s): a full page from a busy server takes seconds."""

ALERT_EXPORT_CONNECT_S: Limit[float] = 10.0
"""Connection timeout of an export (s), after which a load balancer may choose another server."""

ALERT_EXPORT_REFUSED_S: Limit[float] = 600.0
"""Seconds for which an export retries requests to a busy server (429, 503)."""

ALERT_EXPORT_PAUSE_S: Limit[float] = 1.0
"""Minimum seconds between retries of an export."""

ALERT_EXPORT_PAUSE_MAX_S: Limit[float] = 60.0
"""Maximum seconds that an export waits on request of the server."""


_BUSY: Final = frozenset({429, 502, 503, 504})

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts to which tokens are sent without TLS."""

Json = dict[str, Any]

Find = Callable[[], LocalAccess | None]
"""Returns current address, token and certificate of a server; None if there is none."""


def local_server(data: Path) -> Find:
    """Finds the server that runs on a data directory."""
    return lambda: read_access(data)


def remote_server(url: str, token_file: Path, ca: Path | None) -> Find:
    """Finds a server, or a load balancer, by its URL. The token in the file may be replaced at any
    time. Raises BadRequestError."""
    _check(url, ca)

    def find() -> LocalAccess:
        try:
            token = token_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise BadRequestError(f"--token-file: {error}") from None
        if not token or " " in token or not token.isprintable():
            raise BadRequestError(f"--token-file: {token_file} does not hold a token")
        return LocalAccess(url, token, "", str(ca or ""), ELSEWHERE)

    return find


def _check(url: str, ca: Path | None) -> None:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise BadRequestError(f"--server: {error}") from None
    is_local = parts.scheme == "http" and parts.host in _LOOPBACK
    if not parts.host or not (parts.scheme == "https" or is_local):
        raise BadRequestError("--server: must be https://HOST:PORT")
    try:
        tls_context(ca)
    except OSError as error:
        raise BadRequestError(f"--ca {ca}: {error}") from None


class AlertSearch:
    """Searches alerts with retries: forever with `waits_forever`, else for `ALERT_EXPORT_REFUSED_S`
    seconds. Raises StartError if no server runs at the start."""

    def __init__(self, find: Find, org_key: str, *, waits_forever: bool) -> None:
        self._find = find
        self._path = f"/api/alerts/v7/orgs/{org_key}/alerts/_search"
        self._waits_forever = waits_forever
        access = find()
        if access is None:
            raise StartError("no server runs on the data directory: start one with vedette serve")
        self._access = access
        self._client = _client(access)
        self._export: Json | None = None

    def close(self) -> None:
        self._client.close()

    def __call__(self, body: Json) -> list[Json]:
        """Returns the results of a search. Raises BadRequestError if the server rejects it,
        UnavailableError if the server stays unavailable."""
        self._note_export()
        found: list[Json] = self._answered("POST", self._path, body).json()["results"]
        return found

    def begin_export(self, params: str, form: str) -> None:
        """Requests that the server records the export in its audit log before the first search."""
        self._export = {"view": "alerts", "params": params, "format": form}

    def _note_export(self) -> None:
        """Records the export. An app of the cloud API may search but not record exports, which
        prints a warning."""
        export, self._export = self._export, None
        if export is None:
            return
        try:
            self._answered("POST", "/api/v1/export", export)
        except BadRequestError as error:
            typer.echo(f"the export is not in the audit log: {error.message}", err=True)

    def now(self) -> datetime:
        """Returns the time of the server's clock, which sets the times of alerts."""
        if self._access.pid != ELSEWHERE:
            return datetime.now(UTC)
        date = self._answered("GET", "/healthz").headers.get("Date", "")
        try:
            return parsedate_to_datetime(date).astimezone(UTC)
        except ValueError:
            raise BadRequestError("--server: responses have no Date header") from None

    def _answered(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        until_s, is_printed = time.monotonic() + ALERT_EXPORT_REFUSED_S, False
        while True:
            answer = self._ask(method, path, body)
            if isinstance(answer, httpx.Response) and answer.is_success:
                return answer
            if not self._waits_forever and time.monotonic() >= until_s:
                raise UnavailableError(f"the server does not respond: {_reason(answer)}")
            if not is_printed:
                typer.echo(f"waiting for the server: {_reason(answer)}", err=True)
                is_printed = True
            time.sleep(_pause_s(answer))

    def _ask(self, method: str, path: str, body: Json | None) -> httpx.Response | httpx.HTTPError:
        """Sends a request. A returned response without success is worth a retry."""
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            self._follow()
            return error
        is_other = answer.status_code == 401 and self._follow()
        if not answer.is_success and answer.status_code not in _BUSY and not is_other:
            raise BadRequestError(f"the server returned {answer.status_code}: {answer.text}")
        return answer

    def _follow(self) -> bool:
        """Switches to the address and token of a restarted server. Returns whether there is one."""
        try:
            access = self._find()
        except BadRequestError:  # the token file is being replaced
            return False
        if access is None or access == self._access:
            return False
        self._client.close()
        self._access, self._client = access, _client(access)
        return True


def _client(access: LocalAccess) -> httpx.Client:
    return httpx.Client(
        base_url=access.url,
        headers=local_headers(access),
        verify=tls_context(Path(access.certificate) if access.certificate else None),
        timeout=httpx.Timeout(ALERT_EXPORT_REQUEST_S, connect=ALERT_EXPORT_CONNECT_S),
    )


def _reason(answer: httpx.Response | httpx.HTTPError) -> str:
    return str(answer.status_code) if isinstance(answer, httpx.Response) else str(answer)


def _pause_s(answer: httpx.Response | httpx.HTTPError) -> float:
    """Returns the delay that a busy server requests, within limits."""
    asked = answer.headers.get("Retry-After", "") if isinstance(answer, httpx.Response) else ""
    seconds = float(asked) if asked.isascii() and asked.isdecimal() else ALERT_EXPORT_PAUSE_S
    return min(max(seconds, ALERT_EXPORT_PAUSE_S), ALERT_EXPORT_PAUSE_MAX_S)

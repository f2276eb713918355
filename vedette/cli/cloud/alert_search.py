"""Alert search v7 of a server, asked until it answers.

Between two pages of an export a server may be busy, or be restarted on another port and with other
tokens. Behind a balancer another one may answer each request.
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
from vedette.limits import (
    ALERT_EXPORT_CONNECT_S,
    ALERT_EXPORT_PAUSE_MAX_S,
    ALERT_EXPORT_PAUSE_S,
    ALERT_EXPORT_REFUSED_S,
    ALERT_EXPORT_REQUEST_S,
)
from vedette.simulate.bulk_client import tls_context

_BUSY: Final = frozenset({429, 502, 503, 504})

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts that a token is sent to without TLS."""

Json = dict[str, Any]

Find = Callable[[], LocalAccess | None]
"""Address, token and certificate of a server, as they are now; None while there is none."""


def local_server(data: Path) -> Find:
    """The one that runs on a data directory."""
    return lambda: read_access(data)


def remote_server(url: str, token_file: Path, ca: Path | None) -> Find:
    """One at an address, or a balancer before several. The token may be replaced in its file.
    Raises BadRequestError."""
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
    """With `waits_forever` it waits for a server that is away or busy for ever, else for
    `ALERT_EXPORT_REFUSED_S` seconds. Raises StartError when no server runs at the beginning."""

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
        """The results of a search. Raises BadRequestError when the server refuses it,
        UnavailableError when it stays away."""
        self._note_export()
        found: list[Json] = self._answered("POST", self._path, body).json()["results"]
        return found

    def begin_export(self, params: str, form: str) -> None:
        """Before the first search the server writes into its audit log that its alerts are taken as
        files."""
        self._export = {"view": "alerts", "params": params, "format": form}

    def _note_export(self) -> None:
        """An app of the cloud side may search, and cannot note an export: a warning
        says so."""
        export, self._export = self._export, None
        if export is None:
            return
        try:
            self._answered("POST", "/api/v1/export", export)
        except BadRequestError as error:
            typer.echo(f"the export is not in the audit log: {error.message}", err=True)

    def now(self) -> datetime:
        """By the clock of the server, which alerts have their times from."""
        if self._access.pid != ELSEWHERE:
            return datetime.now(UTC)
        date = self._answered("GET", "/healthz").headers.get("Date", "")
        try:
            return parsedate_to_datetime(date).astimezone(UTC)
        except ValueError:
            raise BadRequestError("--server: its answers have no Date") from None

    def _answered(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        until_s, is_printed = time.monotonic() + ALERT_EXPORT_REFUSED_S, False
        while True:
            answer = self._ask(method, path, body)
            if isinstance(answer, httpx.Response) and answer.is_success:
                return answer
            if not self._waits_forever and time.monotonic() >= until_s:
                raise UnavailableError(f"the server does not answer: {_reason(answer)}")
            if not is_printed:
                typer.echo(f"waiting for the server: {_reason(answer)}", err=True)
                is_printed = True
            time.sleep(_pause_s(answer))

    def _ask(self, method: str, path: str, body: Json | None) -> httpx.Response | httpx.HTTPError:
        """One request; an answer other than success is one that may be different the next time."""
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            self._follow()
            return error
        is_other = answer.status_code == 401 and self._follow()
        if not answer.is_success and answer.status_code not in _BUSY and not is_other:
            raise BadRequestError(f"the server answered {answer.status_code}: {answer.text}")
        return answer

    def _follow(self) -> bool:
        """Uses the address and token of a server that was started since; whether there is one."""
        try:
            access = self._find()
        except BadRequestError:  # its token is being replaced
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
    """What a busy server asks to wait, within bounds."""
    asked = answer.headers.get("Retry-After", "") if isinstance(answer, httpx.Response) else ""
    seconds = float(asked) if asked.isascii() and asked.isdecimal() else ALERT_EXPORT_PAUSE_S
    return min(max(seconds, ALERT_EXPORT_PAUSE_S), ALERT_EXPORT_PAUSE_MAX_S)

"""Alert search v7 of the server on this machine, asked until it answers.

Between two pages of an export a server may be busy, or be restarted on another port and with other
tokens."""

import time
from pathlib import Path
from typing import Any, Final

import httpx

from vedette.bootstrap.local_access import LocalAccess, read_access
from vedette.errors import BadRequestError, StartError, UnavailableError
from vedette.limits import (
    ALERT_EXPORT_PAUSE_MAX_S,
    ALERT_EXPORT_PAUSE_S,
    ALERT_EXPORT_REFUSED_S,
    ALERT_EXPORT_REQUEST_S,
)
from vedette.simulate.bulk_client import tls_context

_BUSY: Final = frozenset({429, 502, 503, 504})


class AlertSearch:
    """Raises StartError when no server runs at the beginning. With `is_patient` it waits for one
    that is away or busy for ever, else for `ALERT_EXPORT_REFUSED_S` seconds."""

    def __init__(self, data: Path, org_key: str, *, is_patient: bool) -> None:
        self._data = data
        self._path = f"/api/alerts/v7/orgs/{org_key}/alerts/_search"
        self._is_patient = is_patient
        access = read_access(data)
        if access is None:
            raise StartError(f"no server runs on {data}: start one with vedette serve")
        self._access = access
        self._client = _client(access)

    def close(self) -> None:
        self._client.close()

    def __call__(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The results of a search. Raises BadRequestError when the server refuses it,
        UnavailableError when it stays away."""
        until_s = time.monotonic() + ALERT_EXPORT_REFUSED_S
        while True:
            answer = self._ask(body)
            if isinstance(answer, httpx.Response) and answer.is_success:
                found: list[dict[str, Any]] = answer.json()["results"]
                return found
            if not self._is_patient and time.monotonic() >= until_s:
                raise UnavailableError(f"the server does not answer: {_reason(answer)}")
            time.sleep(_pause_s(answer))

    def _ask(self, body: dict[str, Any]) -> httpx.Response | httpx.HTTPError:
        """One request; an answer other than success is one that may be different the next time."""
        try:
            answer = self._client.post(self._path, json=body)
        except httpx.HTTPError as error:
            self._follow()
            return error
        is_other = answer.status_code == 401 and self._follow()
        if not answer.is_success and answer.status_code not in _BUSY and not is_other:
            raise BadRequestError(f"the server answered {answer.status_code}: {answer.text}")
        return answer

    def _follow(self) -> bool:
        """Uses the address and token of a server that was started since; whether there is one."""
        access = read_access(self._data)
        if access is None or access == self._access:
            return False
        self._client.close()
        self._access, self._client = access, _client(access)
        return True


def _client(access: LocalAccess) -> httpx.Client:
    return httpx.Client(
        base_url=access.url,
        headers={"X-Auth-Token": access.token},
        verify=tls_context(Path(access.certificate) if access.certificate else None),
        timeout=ALERT_EXPORT_REQUEST_S,
    )


def _reason(answer: httpx.Response | httpx.HTTPError) -> str:
    return str(answer.status_code) if isinstance(answer, httpx.Response) else str(answer)


def _pause_s(answer: httpx.Response | httpx.HTTPError) -> float:
    """What a busy server asks to wait, within bounds."""
    asked = answer.headers.get("Retry-After", "") if isinstance(answer, httpx.Response) else ""
    seconds = float(asked) if asked.isascii() and asked.isdecimal() else ALERT_EXPORT_PAUSE_S
    return min(max(seconds, ALERT_EXPORT_PAUSE_S), ALERT_EXPORT_PAUSE_MAX_S)

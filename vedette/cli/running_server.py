"""Access to the server that runs on a data directory, for commands that send it requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from vedette.bootstrap.local_access import read_access
from vedette.cli.options import load_settings, local_headers
from vedette.errors import BadRequestError, StartError, UnavailableError
from vedette.limits import Limit
from vedette.simulate.bulk_client import tls_context

FEED_REQUEST_S: Limit[float] = 120.0
"""Timeout (s) of `vedette feed` for the server, which may be fetching a document."""


@contextmanager
def running_server(data: Path | None, config: Path | None) -> Iterator[httpx.Client]:
    """Yields a client with the rights of an administrator. Raises StartError if no server runs."""
    settings = load_settings(data, config).settings
    access = read_access(settings.data)
    if access is None:
        raise StartError(f"no server runs on {settings.data}: start one with vedette serve")
    ca = Path(access.certificate) if access.certificate else None
    with httpx.Client(
        base_url=access.url,
        headers=local_headers(access),
        verify=tls_context(ca),
        timeout=FEED_REQUEST_S,
    ) as client:
        try:
            yield client
        except httpx.HTTPError as error:
            raise UnavailableError(f"the server does not respond: {error}") from None


def answered(answer: httpx.Response) -> Any:
    """Returns the body of a successful response. Raises BadRequestError with the server's
    message."""
    body = answer.json()
    if answer.is_success:
        return body
    raise BadRequestError(str(body.get("message", body)))

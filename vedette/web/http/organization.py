"""Dependencies that all cloud API routes share: the organization in the path, and the caller."""

from typing import Annotated

from fastapi import Depends, Request

from vedette.model.principal import Principal
from vedette.web.http.access import principal_of
from vedette.web.http.services import Services, services


async def organization(here: Annotated[Services, Depends(services)]) -> str:
    """Returns the organization's key. `web/http/access.py` has checked that the path contains
    it."""
    return here.settings.org_key


def owner_of(caller: Principal) -> str:
    """Returns the owner under which the caller's jobs are stored."""
    return f"app {caller.token_id}" if caller.kind == "app" else f"user {caller.name}"


async def caller_of(request: Request) -> Principal:
    return principal_of(request)

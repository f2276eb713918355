"""What all routes of the cloud side share: the organization in the path, and the caller's name."""

from typing import Annotated

from fastapi import Depends, Request

from vedette.api.http.access import principal_of
from vedette.api.services import Services, services
from vedette.model.principal import Principal


async def organization(here: Annotated[Services, Depends(services)]) -> str:
    """The organization's key, which is the one in the path (`api/http/access.py`)."""
    return here.settings.org_key


def owner_of(caller: Principal) -> str:
    """Who the jobs of a caller belong to."""
    return f"app {caller.token_id}" if caller.kind == "app" else f"user {caller.name}"


async def caller_of(request: Request) -> Principal:
    return principal_of(request)

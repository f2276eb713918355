"""The sign-in page. Its form calls the API."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.limits import Limit
from vedette.state.accounts import identity_providers
from vedette.state.accounts import license as licenses
from vedette.web.http.client_address import is_proxy
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.page.render import render

NEXT_CHARS_MAX: Limit[int] = 2_048
"""Characters of the path to open after sign-in: the length of a URL that tools handle."""


router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]


@router.get("/ui/sign-in", right=Right.OPEN, summary="Sign in")
async def sign_in(request: Request, here: Here) -> Response:
    return await sign_in_page(request, here)


async def sign_in_page(
    request: Request, here: Services, *, problem: str = "", status: int = 200
) -> Response:
    """Returns the sign-in page, with the error message of a previous attempt."""
    wanted = own_path(request.query_params.get("next", ""))

    def work() -> dict[str, Any]:
        known = identity_providers.all_providers(here.database)
        license = licenses.applied(here.database, here.settings.license_provider_key)
        return {
            "providers": [one for one in known if one.is_enabled],
            "is_licensed": license is not None,
        }

    known = await to_thread.run_sync(work, limiter=here.authentications)
    return render(
        request,
        "accounts/sign_in.html",
        status=status,
        next=wanted,
        problem=problem,
        fingerprint=_fingerprint(request, here),
        **known,
    )


def _fingerprint(request: Request, here: Services) -> str:
    """Returns the fingerprint of the certificate that this browser sees; "" behind a proxy or
    without TLS."""
    facts = here.presented.facts
    peer = request.client.host if request.client is not None else ""
    is_ours = facts is not None and not is_proxy(peer, here.settings.trusted_proxies)
    return facts.fingerprint if facts is not None and is_ours else ""


def own_path(text: str) -> str:
    """Returns a console path to open after sign-in. For any other text, returns the user's start
    page."""
    is_own = text.startswith("/ui/") and len(text) <= NEXT_CHARS_MAX
    is_plain = text.isprintable() and "\\" not in text and not text.startswith("/ui/sign-in")
    return text if is_own and is_plain else "/ui"

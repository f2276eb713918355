"""The sign-in. The form speaks to the API; this is only the page around it."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.client_address import is_proxy
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.limits import NEXT_CHARS_MAX
from vedette.state.accounts import identity_providers
from vedette.state.accounts import license as licenses

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]


@router.get("/ui/sign-in", summary="Sign in")
async def sign_in(request: Request, here: Here) -> Response:
    return await sign_in_page(request, here)


async def sign_in_page(
    request: Request, here: Services, *, problem: str = "", status: int = 200
) -> Response:
    """The page, with what went wrong before."""
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
        "screens/sign_in.html",
        status=status,
        next=wanted,
        problem=problem,
        fingerprint=_fingerprint(request, here),
        **known,
    )


def _fingerprint(request: Request, here: Services) -> str:
    """Of the certificate that this browser was shown; "" where that is a proxy's, or there is
    none."""
    facts = here.presented.facts
    peer = request.client.host if request.client is not None else ""
    is_ours = facts is not None and not is_proxy(peer, here.settings.trusted_proxies)
    return facts.fingerprint if facts is not None and is_ours else ""


def own_path(text: str) -> str:
    """A path of the console to go on to; for anything else the page that the user begins with."""
    is_own = text.startswith("/ui/") and len(text) <= NEXT_CHARS_MAX
    is_plain = text.isprintable() and "\\" not in text and not text.startswith("/ui/sign-in")
    return text if is_own and is_plain else "/ui"

"""Sign-in through an identity provider: redirects to it and handles the way back.

Every failure leads to the sign-in page with the reason in words. The page reveals nothing that the
holder of the identity does not already know.
"""

from typing import Annotated, Final
from urllib.parse import quote

import structlog
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import RedirectResponse, Response

from vedette.errors import (
    BusyError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
    VedetteError,
)
from vedette.limits import REASON_SHOWN_CHARS
from vedette.oidc.code_flow import CALLBACK, FlowError, Proved
from vedette.state.accounts import audit_trail, identity_providers, identity_sign_in, tokens
from vedette.state.accounts.identity_providers import Provider
from vedette.state.db.audit_log import Entry
from vedette.state.db.author import Author, set_author
from vedette.web.accounts.sign_in_screen import own_path, sign_in_page
from vedette.web.http.access import check_address
from vedette.web.http.client_address import client_address
from vedette.web.http.credentials import is_of_own_site
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.http.session_cookie import (
    ATTEMPT_COOKIE,
    session_name,
    set_attempt_cookie,
    set_session_cookie,
)
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)
log = structlog.get_logger(__name__)

Here = Annotated[Services, Depends(services)]

WORDS: Final = {
    "identity_unknown": "No user is linked to this identity. Ask an administrator to link it.",
    "user_disabled": "This user is disabled.",
    "no_team": "This identity does not belong to a team.",
    "username_taken": "Another user has this user name. Ask an administrator to link them.",
    "claims_unusable": "The identity provider sent incomplete user data.",
    "provider_refuses": "The identity provider denied the sign-in.",
    "sign_in_not_begun": "This sign-in was started in another browser. Try again.",
    "sign_in_expired": "The sign-in timed out. Try again.",
    "sign_in_spent": "This sign-in was already used. Try again.",
    "locked_out": "Too many sign-in attempts. Wait 15 minutes.",
    "provider_unavailable": "The identity provider is unreachable or returned an invalid response.",
    "public_url_needed": "The server setting public_url is required.",
}
"""Maps reason to the text on the sign-in page."""

FAILED: Final = "Sign-in failed. Try again."
"""Text for all other reasons."""

_STATUSES: Final = ((BusyError, 429), (UnavailableError, 503), (NotFoundError, 404))


@router.get("/ui/sign-in/with/{provider}", right=Right.OPEN, summary="Sign in with an identity")
async def begin(provider: str, request: Request, here: Here) -> Response:
    """Redirects the browser to the provider. A link on another site leads only to the sign-in page,
    so that nobody is signed in unintentionally."""
    wanted = own_path(request.query_params.get("next", ""))
    if not is_of_own_site(request):
        return RedirectResponse(f"/ui/sign-in?next={quote(wanted, safe='/')}", status_code=303)
    check_address(request, here)

    def work() -> Response:
        begun = here.code_flow.begin(_provider(here, provider), wanted)
        answer = RedirectResponse(begun.url, 303, {"Referrer-Policy": "no-referrer"})
        set_attempt_cookie(answer, begun.cookie)
        return answer

    try:
        return await to_thread.run_sync(work, limiter=here.provider_requests)
    except VedetteError as error:
        return await _failed(request, here, provider, error)


@router.get(
    CALLBACK.format("{provider}"), right=Right.OPEN, summary="Finish a sign-in with an identity"
)
async def finish(provider: str, request: Request, here: Here) -> Response:
    """Starts a session if the provider vouches for a user of this server in the browser that
    started the sign-in. Returns a page that navigates further by itself: a redirect would still
    count as coming from the provider's site, and the browser would not send the session cookie."""
    check_address(request, here)
    try:
        proved, secret = await to_thread.run_sync(
            _finished, here, provider, request, limiter=here.provider_requests
        )
    except VedetteError as error:
        return await _failed(request, here, provider, error)
    answer = render(request, "accounts/signed_in.html", next=own_path(proved.next))
    set_session_cookie(answer, secret)
    set_attempt_cookie(answer, "")
    return answer


def _finished(here: Services, name: str, request: Request) -> tuple[Proved, str]:
    """Returns the person that the provider vouches for, and the secret of the new session."""
    address = client_address(request, here.settings.trusted_proxies)
    set_author(Author("server", "sign-in", address, request.state.request_id))
    identity_sign_in.count_attempt(here.database, address, here.clock.now_us())
    provider = _provider(here, name)
    subject = ""
    try:
        proved = here.code_flow.finish(
            provider, dict(request.query_params), request.cookies.get(ATTEMPT_COOKIE, "")
        )
        subject, now_us = proved.vouched.subject, here.clock.now_us()
        admitted = identity_sign_in.admit(here.database, provider, proved.vouched, now_us)
    except FlowError:
        raise  # only logged, not audited: anybody can make such a request
    except UnauthorizedError as error:
        after = {"refused": error.reason, "why": error.message[:REASON_SHOWN_CHARS]}
        entry = Entry("run", "sign-in", f"{provider.name}/{subject}", None, after)
        audit_trail.record(here.database, entry)
        raise
    here.tokens.clear_cache()  # teams may have changed
    set_author(Author("user", admitted.username, address, request.state.request_id))
    issued = tokens.begin_session(
        here.database,
        admitted.user_id,
        session_name(request, address),
        now_us,
        admitted.identity_id,
    )
    return proved, issued.secret


def _provider(here: Services, name: str) -> Provider:
    """Returns a provider by name. Raises NotFoundError if it is missing or disabled."""
    found = identity_providers.named(here.database, name)
    if not found.is_enabled:
        raise NotFoundError(f"identity provider {name[:60]!r} not found")
    return found


async def _failed(request: Request, here: Services, name: str, error: VedetteError) -> Response:
    status = next((number for kind, number in _STATUSES if isinstance(error, kind)), 401)
    log.warning(
        "a sign-in with an identity failed",
        provider=name[:60],
        reason=error.reason,
        why=error.message[:REASON_SHOWN_CHARS],
        request_id=request.state.request_id,
    )
    words = WORDS.get(error.reason, FAILED)
    answer = await sign_in_page(request, here, problem=words, status=status)
    set_attempt_cookie(answer, "")
    return answer

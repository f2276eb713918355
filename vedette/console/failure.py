"""How the failure of a page looks: the sign-in for whoever is not signed in, else the reason in
words, as a page or, where a part of one was asked for, as a region."""

from typing import Any, Final
from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from vedette.console.render import render

_NOT_SIGNED_IN: Final = 401


def failure_page(request: Request, status: int, body: dict[str, Any]) -> Response:
    """The answer with the status of a failed page and what its error body says."""
    is_part = request.headers.get("hx-request") == "true" or request.url.path.startswith("/ui/_/")
    if status == _NOT_SIGNED_IN and not is_part:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/ui/sign-in?next={quote(here, safe='/')}", status_code=303)
    template = "fragments/failure.html" if is_part else "screens/failure.html"
    headers = {"HX-Trigger": "session-ended"} if status == _NOT_SIGNED_IN else None
    return render(
        request,
        template,
        status=status,
        headers=headers,
        reason=body.get("reason", ""),
        message=body.get("message", ""),
        failed_status=status,
    )

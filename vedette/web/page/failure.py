"""Renders failed requests of the console: redirects signed-out readers to the sign-in, otherwise
shows the reason as a page, or as a fragment if the request was for a part of a page."""

from typing import Any, Final
from urllib.parse import quote

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from vedette.web.page.render import render

_NOT_SIGNED_IN: Final = 401


def failure_page(request: Request, status: int, body: dict[str, Any]) -> Response:
    """Returns the response for a failed page with its status and the contents of its error body."""
    is_part = request.headers.get("hx-request") == "true" or request.url.path.startswith("/ui/_/")
    if status == _NOT_SIGNED_IN and not is_part:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/ui/sign-in?next={quote(here, safe='/')}", status_code=303)
    template = "page/fragments/failure.html" if is_part else "page/failure.html"
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

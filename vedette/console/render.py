"""Templates to answers, with the headers of every page.

A page's policy names one nonce and allows no other script; htmx attributes need it too. Fragments,
whose addresses begin with `/ui/_/`, have a policy of their own with their own nonce, which the
browser's part maps to that of the page it puts them in.
"""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Final

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

import vedette
from vedette.api.http.credentials import Credential, credential_of, csrf_token
from vedette.api.http.server_url import server_url
from vedette.api.schemas.wire_values import milli_instant
from vedette.api.services import services_of
from vedette.console import html
from vedette.console.catalogue import ENGLISH, LANGUAGES, translate
from vedette.console.language import language_of
from vedette.console.navigation import ENTRIES, may_open
from vedette.console.static_files import static_url
from vedette.console.template_text import TemplateText
from vedette.errors import BadRequestError, UnauthorizedError
from vedette.model.principal import Principal

_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{}'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx; "
    "report-uri /api/v1/csp-report"  # all browsers know it, and send to no other host
)

_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Language, Cookie, HX-Request",
}


def render(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """The answer made of a template below `templates/`, with `values` and what all pages know."""
    nonce = secrets.token_urlsafe(18)
    language = language_of(request)
    known = _known(request, nonce) | {"language": language}
    text = templates(language).get_template(template).render(known | values)
    policy = {"Content-Security-Policy": _POLICY.format(nonce)}
    content = text.encode("utf-8", "replace")
    given = {**_HEADERS, **policy, **(headers or {})}
    return Response(content, status, given, media_type="text/html; charset=utf-8")


@cache
def templates(language: str = ENGLISH) -> Environment:
    """All templates in a language; a name that is not given raises, markup that is not ours is
    escaped."""
    environment = Environment(
        loader=PackageLoader("vedette.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do", TemplateText],
    )
    words = partial(translate, language)
    environment.translate = words  # type: ignore[attr-defined]
    environment.globals |= {
        "_": words,
        "languages": tuple(LANGUAGES),
        "hx": html.hx,
        "icon": html.icon,
        "needs": html.needs,
        "severity": partial(html.severity, words),
        "static": partial(static_url, language=language),
        "version": vedette.__version__,
        "whole": html.whole,
    }
    environment.filters |= {
        "untrusted": html.untrusted,
        "untrusted_lines": html.untrusted_lines,
        "whole_text": partial(html.whole_text, words),
        "short": lambda value: html.untrusted(value, short=True),
        "number": number,
        "bytes": byte_size,
        "cell": html.cell,
        "marked": html.marked,
        "plain": html.plain,
        "duration": html.duration,
        "when_short": html.when_short,
        "when": html.when,
    }
    return environment


def number(value: float | None) -> str:
    """A count with thin spaces between thousands."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u2009")


def byte_size(value: float) -> str:
    """A number of bytes in the unit that fits."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1_000:
            return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:,.1f} TB"


def _known(request: Request, nonce: str) -> dict[str, Any]:
    """What every template may name."""
    caller, now_us = getattr(request.state, "principal", None), services_of(request).clock.now_us()
    user = caller if isinstance(caller, Principal) else None
    return {
        "nonce": nonce,
        "user": user,
        "csrf": _csrf(request, user),
        "path": request.url.path,
        "query": str(request.url.query),
        "entries": [one for one in ENTRIES if user is not None and may_open(user, one)],
        "now_us": now_us,
        "moment": milli_instant(now_us)[:-1],
        "here": _address(request),
        "printed": datetime.now(UTC).strftime("%Y-%m-%d %H:%MZ"),
        "request_id": getattr(request.state, "request_id", ""),
        "is_fragment": request.headers.get("hx-request") == "true",
    }


def _address(request: Request) -> str:
    """The server's, for commands that are pasted into a shell: of what the Host header may hold
    only what names a host."""
    try:
        return server_url(request)
    except BadRequestError:
        return "https://SERVER"


def _csrf(request: Request, user: Principal | None) -> str:
    """What changes of this session need; "" without a session."""
    if user is None or not user.is_session:
        return ""
    try:
        credential = credential_of(request)
    except UnauthorizedError:
        credential = Credential("")
    return csrf_token(credential.secret)

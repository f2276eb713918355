"""Renders templates to responses, with the headers of every page.

The content security policy of a page names a nonce and allows no other script; htmx attributes need
the nonce too. Fragments, with addresses below `/ui/_/`, have their own policy and nonce, which the
script in the browser maps to the nonce of the enclosing page.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Final

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

import vedette
from vedette.errors import BadRequestError, UnauthorizedError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import of_groups, owned_by
from vedette.web.http.bodies.compression import HTML
from vedette.web.http.credentials import Credential, credential_of, masked_csrf_token
from vedette.web.http.server_url import server_url
from vedette.web.http.services import services_of
from vedette.web.json.wire_values import milli_instant
from vedette.web.page import html
from vedette.web.page.catalogue import ENGLISH, LANGUAGES, translate
from vedette.web.page.language import language_of
from vedette.web.page.navigation import ENTRIES, may_open
from vedette.web.page.order_keys import ORDER_KEYS
from vedette.web.page.static_files import static_url
from vedette.web.page.template_text import TemplateText
from vedette.web.page.web_files import WEB

_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{}'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types htmx; "
    "report-uri /api/v1/csp-report"  # all browsers support it and send reports to no other host
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
    """Renders a template (`page/web_files.py`) with `values` and shared values."""
    nonce = secrets.token_urlsafe(18)
    language = language_of(request)
    known = _known(request, nonce) | {"language": language}
    text = templates(language).get_template(template).render(known | values)
    policy = {"Content-Security-Policy": _POLICY.format(nonce)}
    content = text.encode("utf-8", "replace")
    given = {**_HEADERS, **policy, **(headers or {})}
    return Response(content, status, given, media_type=HTML)


@cache
def templates(language: str = ENGLISH) -> Environment:
    """Returns the template environment of a language. Undefined names raise an error, and untrusted
    text is escaped."""
    environment = Environment(
        loader=FileSystemLoader(WEB),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do", TemplateText],
    )
    words = partial(translate, language)
    environment.translate = words  # type: ignore[attr-defined]
    environment.globals |= {
        "_": partial(html.message, words),
        "languages": tuple(LANGUAGES),
        "follow": html.follow,
        "hx": html.hx,
        "icon": html.icon,
        "allows": html.allows,
        "needs": html.needs,
        "needs_analyst": html.needs_analyst,
        "needs_somewhere": html.needs_somewhere,
        "of_groups": of_groups,
        "owned_by": owned_by,
        "order_keys": ORDER_KEYS,
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
        "compact": compact,
        "bytes": byte_size,
        "given": given,
        "cell": html.cell,
        "marked": html.marked,
        "plain": html.plain,
        "duration": html.duration,
        "when_short": html.when_short,
        "when": html.when,
    }
    return environment


def given(params: Sequence[tuple[str, object]]) -> list[tuple[str, object]]:
    """Drops empty parameters, which the API would reject."""
    return [(name, value) for name, value in params if value not in ("", None)]


def number(value: float | None) -> str:
    """Formats a count with thin spaces between thousands."""
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u2009")


def compact(value: int) -> str:
    """Formats a count in at most four characters, for narrow columns: `999`, `1.4k`, `13k`,
    `2.0M`."""
    size = float(value)
    if size < 1_000:
        return str(value)
    units = iter("kMG")
    unit = ""
    while size >= 999.5 and unit != "G":
        size, unit = size / 1_000, next(units)
    return f"{size:.1f}{unit}" if size < 9.95 else f"{size:.0f}{unit}"


def byte_size(value: float) -> str:
    """Formats a number of bytes in a suitable unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1_000:
            return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:,.1f} TB"


def _known(request: Request, nonce: str) -> dict[str, Any]:
    """Returns the values that every template may use."""
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
    """Returns the server's URL for commands that readers paste into a shell. An invalid Host header
    yields a placeholder."""
    try:
        return server_url(request)
    except BadRequestError:
        return "https://SERVER"


def _csrf(request: Request, user: Principal | None) -> str:
    """Returns the masked CSRF token for changes of this session; "" without a session."""
    if user is None or not user.is_session:
        return ""
    try:
        credential = credential_of(request)
    except UnauthorizedError:
        credential = Credential("")
    return masked_csrf_token(credential.secret)

"""Language of a page: the reader's choice, else the browser's preference."""

from typing import Final

from fastapi import Request

from vedette.limits import Limit
from vedette.web.page.catalogue import ENGLISH, LANGUAGES, PSEUDO

LANGUAGES_ASKED_MAX: Limit[int] = 10
"""Entries of `Accept-Language` that the server evaluates; real headers have a handful."""


COOKIE: Final = "language"
"""Cookie that scripts set from the reader's preferences, for all pages."""


def language_of(request: Request) -> str:
    chosen = request.cookies.get(COOKIE, "")
    if chosen in (*LANGUAGES, PSEUDO):
        return chosen
    return preferred(request.headers.get("accept-language", ""))


def preferred(wish: str) -> str:
    """Returns the supported language with the highest weight in `Accept-Language`:
    `de-AT,de;q=0.9,en;q=0.8`."""
    found: list[tuple[float, str]] = []
    for one in wish.split(",", LANGUAGES_ASKED_MAX)[:LANGUAGES_ASKED_MAX]:
        name, _, weight = one.partition(";")
        language = name.strip().lower().partition("-")[0]
        if language in LANGUAGES:
            found.append((_weight(weight), language))
    best = max(found, key=lambda pair: pair[0], default=(0.0, ENGLISH))
    return best[1] if best[0] > 0 else ENGLISH


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0

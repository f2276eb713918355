"""Recognise field names in a query, and suggest known ones for an unknown name."""

import re
from difflib import get_close_matches

from vedette.errors import QueryError
from vedette.model.field import Catalogue

NEAR_COLON = re.compile(r"(alliance_[a-z]+_[\w.-]+|[A-Za-z_]\w*):", re.IGNORECASE | re.ASCII)
"""An identifier and its colon. Names of feeds, which end a field's name, may hold `-` and `.`."""

_SUGGESTIONS_MAX = 3


def is_field_like(text: str, name: re.Match[str]) -> bool:
    r"""Whether an unknown name was meant as a field: not a drive (`c:`), nor a scheme (`x://`)."""
    following = text[name.end() : name.end() + 1]
    return len(name[1]) > 1 and following not in ("\\", "/")


def unknown_field(name: str, catalogue: Catalogue, start: int, end: int) -> QueryError:
    """The error for an unknown field, with the nearest known names
    (docs/query-language.md#words-fields-operators)."""
    near = get_close_matches(name.lower(), catalogue.by_name, n=_SUGGESTIONS_MAX)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return QueryError(f"unknown field {name!r}{hint}", start, end)

"""Recognizes field names in a query, and suggests names for an unknown field."""

import re
from difflib import get_close_matches

from vedette.errors import QueryError
from vedette.limits import Limit
from vedette.model.field import Catalogue

QUERY_SUGGESTIONS_MAX: Limit[int] = 3
"""Maximum similar field names that the error for an unknown name suggests; they fit on one line."""


_NEAR_COLON = re.compile(r"(alliance_[a-z]+_[\w.-]+|[A-Za-z_]\w*):", re.IGNORECASE | re.ASCII)
"""An identifier and its colon. Names of feeds, which end a field's name, may contain `-` and
`.`."""

_DOTTED = re.compile(r"([A-Za-z_]\w*+(?:\.\w[\w-]*+)*+):", re.ASCII)
"""An identifier, with names after dots, and its colon: for catalogues with `data.NAME`."""


def name_at(text: str, position: int, catalogue: Catalogue) -> re.Match[str] | None:
    """Matches a possible field name at `position`, with its colon."""
    if catalogue.has_data:
        return _DOTTED.match(text, position)
    return _NEAR_COLON.match(text, position)


def is_field_like(text: str, name: re.Match[str]) -> bool:
    """Whether an unknown name was meant as a field, and is neither a drive (`c:`) nor a scheme
    (`x://`)."""
    following = text[name.end() : name.end() + 1]
    return len(name[1]) > 1 and following not in ("\\", "/")


def unknown_field(name: str, catalogue: Catalogue, start: int, end: int) -> QueryError:
    """Returns the error for an unknown field, with the most similar names
    (docs/query-language.md#words-fields-operators)."""
    near = get_close_matches(name.lower(), catalogue.by_name, n=QUERY_SUGGESTIONS_MAX)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return QueryError(f"unknown field {name!r}{hint}", start, end)

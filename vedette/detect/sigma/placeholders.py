"""Replaces placeholders in rules (`|expand`, `%name%`) with the server's values.

The replacement happens in the document, before pySigma applies other modifiers. Otherwise pySigma
would silently encode the name of a placeholder (`base64`) or compare with it (`re`, `fieldref`).
Values are read as if they were written in the rule, so `*` is a wildcard, and a value within `re`
is a pattern.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Final

from vedette.detect.sigma.errors import UnsupportedError
from vedette.limits import Limit

SIGMA_EXPANSIONS_MAX: Limit[int] = 2_000
"""Maximum combinations of placeholder values in a value of a rule, or in a selection."""


Placeholders = Mapping[str, Sequence[str]]
"""Maps the name of a placeholder, without its `%`, to its values."""

NO_VALUES: Final[Placeholders] = {}

_NAME: Final = re.compile(r"%([^%\\]+)%")
_EXPAND: Final = "expand"
_ALL: Final = "all"


def resolved(section: Any, values: Placeholders) -> Any:
    """Returns the `detection` of a rule, or the `filter` of a filter, with placeholders replaced.
    Raises UnsupportedError for a placeholder without a value, and for too many combinations."""
    if not isinstance(section, dict):
        return section
    return {name: _selection(part, values) for name, part in section.items()}


def placeholders_of(text: str) -> set[str]:
    """Returns the names in a text that may be placeholders."""
    return set(_NAME.findall(text)) if _EXPAND in text else set()


def _selection(part: Any, values: Placeholders) -> Any:
    if isinstance(part, dict):
        found = _maps(part, values)
        return found[0] if len(found) == 1 else found
    if isinstance(part, list):
        return [two for one in part for two in _alternatives(one, values)]
    return part


def _alternatives(one: Any, values: Placeholders) -> list[Any]:
    return list(_maps(one, values)) if isinstance(one, dict) else [one]


def _maps(one: dict[Any, Any], values: Placeholders) -> list[dict[Any, Any]]:
    """Returns the alternative maps that replace a map. There are several only if all values of a
    field are required and one of them has a placeholder with several values."""
    items = [list(_items(key, value, values)) for key, value in one.items()]
    if prod(map(len, items)) > SIGMA_EXPANSIONS_MAX:
        raise _too_many()
    found = [dict(chosen) for chosen in product(*items)]
    if len(found[0]) < len(one):
        # A single map would lose one of two conditions with the same key.
        message = "a field has the same modifiers with and without `expand`"
        raise UnsupportedError("unsupported_placeholder", message)
    return found


def _items(key: Any, value: Any, values: Placeholders) -> Iterator[tuple[Any, Any]]:
    field, *modifiers = str(key).split("|")
    if _EXPAND not in modifiers:
        yield key, value
        return
    rest = [one for one in modifiers if one != _EXPAND]
    plain = "|".join((field, *rest)) or None
    texts = value if isinstance(value, list) else [value]
    expanded = [_expanded(one, values) for one in texts]
    if _ALL not in rest:
        yield plain, [two for some in expanded for two in some]
        return
    if prod(map(len, expanded)) > SIGMA_EXPANSIONS_MAX:
        raise _too_many()
    for combined in product(*expanded):
        yield plain, list(combined)


def _expanded(value: Any, values: Placeholders) -> list[Any]:
    """Returns a value for each combination of the values of its placeholders."""
    if not isinstance(value, str):
        return [value]
    # Pieces with odd index are names.
    pieces = _NAME.split(value)
    choices = [
        _values(piece, values) if number % 2 else (piece,) for number, piece in enumerate(pieces)
    ]
    if prod(map(len, choices)) > SIGMA_EXPANSIONS_MAX:
        raise _too_many()
    return ["".join(combined) for combined in product(*choices)]


def _values(name: str, values: Placeholders) -> Sequence[str]:
    found = values.get(name)
    if not found:
        raise UnsupportedError("unresolved_placeholder", f"placeholder {name!r} has no value")
    return found


def _too_many() -> UnsupportedError:
    most = SIGMA_EXPANSIONS_MAX
    return UnsupportedError("too_large", f"placeholders make more than {most:,} combinations")

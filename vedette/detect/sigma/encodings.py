"""Rewrites encoding modifiers in a rule for pySigma, which has no name `utf16le`.

A UTF-16 modifier is accepted only before `base64` or `base64offset`: the values of events are
decoded text, so that UTF-16 bytes alone could never match.
"""

from typing import Any, Final

from vedette.detect.sigma.errors import UnsupportedError

_UTF16: Final = frozenset({"wide", "utf16", "utf16le", "utf16be"})
_BASE64: Final = frozenset({"base64", "base64offset"})


def with_encodings(part: Any) -> Any:
    """Returns a part of a `detection` with its modifiers rewritten. Raises UnsupportedError."""
    if isinstance(part, dict):
        return {_key(name): with_encodings(value) for name, value in part.items()}
    if isinstance(part, list):
        return [with_encodings(one) for one in part]
    return part


def _key(name: Any) -> Any:
    if not isinstance(name, str) or "|" not in name:
        return name
    field, *modifiers = name.split("|")
    for place, one in enumerate(modifiers):
        if one in _UTF16 and (place + 1 == len(modifiers) or modifiers[place + 1] not in _BASE64):
            message = f"modifier {one}: must be followed by base64 or base64offset"
            raise UnsupportedError("unsupported_modifier", message)
    return "|".join((field, *("wide" if one == "utf16le" else one for one in modifiers)))

"""Merges documents with `action: global` into the rules after them in a file.

Values of the global document take precedence, as in pySigma, except its `id`: rules without an id
of their own get one each. The merged text begins with the global document, so that it loads as the
same rule on its own. Correlations and filters are not merged.
"""

from copy import deepcopy
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from vedette import limits
from vedette.detect.sigma.errors import UnsupportedError
from vedette.limits import Limit

SIGMA_MERGED_CHARS_MAX: Limit[int] = 4 * 1024 * 1024
"""Maximum characters of all merged rules of a file. Each repeats its global document."""

SEPARATOR: Final = "---\n"


class GlobalDocument:
    """The global document that applies to the next document of a file."""

    def __init__(self) -> None:
        self._text = ""
        self._members: dict[Any, Any] = {}
        self._rules = 0
        """Number of rules that the global document was merged into."""
        self._chars = 0

    def apply(self, text: str, document: Any) -> tuple[str, Any] | None:
        """Returns the next document of the file, merged; None if it is an action itself. Raises
        UnsupportedError."""
        action = document.get("action") if isinstance(document, dict) else None
        if action == "global":
            members = {name: value for name, value in document.items() if name != "action"}
            self._text, self._members, self._rules = text, members, 0
            return None
        if action == "reset":
            self._text, self._members = "", {}
            return None
        if action is not None:
            message = f"action: must be global or reset, not {str(action)[:40]!r}"
            raise UnsupportedError("unsupported_document", message)
        if not self._text or not isinstance(document, dict):
            return text, document
        if "correlation" in document or "filter" in document:
            return text, document
        return self._merged(text, document)

    def _merged(self, text: str, document: dict[Any, Any]) -> tuple[str, Any]:
        self._rules += 1
        own_id = document.get("id")
        shared_id = self._members.get("id")
        if own_id is None and shared_id is not None and self._rules > 1:
            own_id = str(uuid5(NAMESPACE_URL, f"{shared_id}#{self._rules}"))
            text = _with_id(text, own_id)
        text = f"{self._text.rstrip()}\n{SEPARATOR}{text}"
        self._chars += len(text)
        if len(text) > limits.SIGMA_FILE_CHARS_MAX or self._chars > SIGMA_MERGED_CHARS_MAX:
            message = f"rules of a global document: over {SIGMA_MERGED_CHARS_MAX:,} characters"
            raise UnsupportedError("too_large", message)
        merged = _updated(document, deepcopy(self._members))
        return text, merged if own_id is None else merged | {"id": own_id}


def own_text(text: str) -> str:
    """Returns a rule's text without the text of its global document, which begins a merged text."""
    first, separator, own = text.partition(f"\n{SEPARATOR}")
    is_merged = separator and "action" in first and "global" in first
    return own if is_merged else text


def _with_id(text: str, id_: str) -> str:
    """Adds the id as the first line of a document."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    if text[len(indent) : len(indent) + 1] == "{":
        message = "a rule after a global document needs an id if it is written in braces"
        raise UnsupportedError("malformed", message)
    return f"{indent}id: {id_}\n{text}"


def _updated(document: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    """Returns `document` with the members of `other`, mappings merged member by member."""
    merged = dict(document)
    for name, value in other.items():
        present = merged.get(name)
        if isinstance(value, dict) and isinstance(present, dict):
            merged[name] = _updated(present, value)
        else:
            merged[name] = value
    return merged

"""Translates the texts of scripts.

A script marks texts for readers as `_("…")` or as a template `_`…``, whose expressions are the
message's placeholders. The server replaces the marks by the translated text, so scripts need no
lookup and the marks cost no bytes.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from vedette.web.page.catalogue import PLACEHOLDER

_MARK: Final = re.compile(r"(?<![\w$.])_(?:\(\"((?:[^\"\\]|\\.)*)\"\)|`)")
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "`": "\\`", "$": "\\$"})


def with_text(script: str, translate: Callable[[str], str]) -> str:
    """Returns a script with marked texts replaced by the result of `translate`."""
    made, at = "", 0
    while found := _MARK.search(script, at):
        made += script[at : found.start()]
        if found[1] is not None:
            made += json.dumps(translate(json.loads(f'"{found[1]}"')), ensure_ascii=False)
            at = found.end()
        else:
            template, at = _template(script, found.end(), translate)
            made += template
    return made + script[at:]


def _template(script: str, at: int, translate: Callable[[str], str]) -> tuple[str, int]:
    """Returns the translated template that starts at `at`, after its mark, and the position of its
    end."""
    message, values = "", list[str]()
    while script[at] != "`":
        if script.startswith("${", at):
            end = _end_of_expression(script, at + 2)
            values.append(with_text(script[at + 2 : end], translate))
            message += f"{{{len(values)}}}"
            at = end + 1
        else:
            message += script[at]
            at += 1
    parts = PLACEHOLDER.split(translate(message))
    shown = (
        f"${{{values[int(part) - 1]}}}" if number % 2 else part.translate(_ESCAPED)
        for number, part in enumerate(parts)
    )
    return f"`{''.join(shown)}`", at + 1


def _end_of_expression(script: str, at: int) -> int:
    """Returns the position of the `}` that ends the expression starting at `at`, skipping nested
    ones."""
    while script[at] != "}":
        if script[at] == "{":
            at = _end_of_expression(script, at + 1)
        elif script[at] in "\"'":
            at = script.index(script[at], at + 1)
        elif script[at] == "`":
            at = _end_of_template(script, at + 1)
        at += 1
    return at


def _end_of_template(script: str, at: int) -> int:
    while script[at] != "`":
        at = _end_of_expression(script, at + 2) + 1 if script.startswith("${", at) else at + 1
    return at

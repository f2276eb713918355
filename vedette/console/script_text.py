"""The text of scripts, in the language of the reader.

A script marks what people read as `_("…")` or as a template `_`…``, whose expressions are the
message's placeholders. The marks are taken off when the script is served, with the translation in
place of the English text: no script looks anything up, and the marks cost no bytes.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from vedette.console.catalogue import PLACEHOLDER

_MARK: Final = re.compile(r"(?<![\w$.])_(?:\(\"((?:[^\"\\]|\\.)*)\"\)|`)")
_ESCAPED: Final = str.maketrans({"\\": "\\\\", "`": "\\`", "$": "\\$"})


def with_text(script: str, translate: Callable[[str], str]) -> str:
    """A script without marks, its texts as `translate` has them."""
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
    """The template that begins at `at`, behind its mark, and where it ends."""
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
    """Where the `}` is that ends the expression beginning at `at`, with what is nested in it."""
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

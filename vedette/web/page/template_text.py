"""Translates the texts of templates.

Text between tags, and in attributes that readers see or hear, is translated without any mark in the
template, so that no text can be forgotten. An expression within a text becomes a placeholder; a tag
or a statement ends the text. Words inside expressions use `_()`. Translation happens once, when a
template is compiled; each language has its own compiled templates.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape, unescape
from typing import Final

from jinja2 import Environment
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from vedette.web.page.catalogue import PLACEHOLDER, is_text

READ: Final = frozenset(
    (
        "alt",
        "aria-label",
        "data-done",
        "data-key-label",
        "data-label",
        "data-word",
        "placeholder",
        "title",
    )
)
"""Attributes whose values are texts for readers."""

_ASIDE: Final = frozenset(("icon", "severity"))
"""Calls that render icons. At the ends of a text they do not become placeholders."""

_TAG: Final = re.compile(r"[<>]|=\s*[\"']")
_CODE: Final = re.compile(r"</?(?:code|kbd|pre|script|style|template|textarea)\b")

Piece = str | tuple[Token, ...]
"""Literal text, or the tokens of an expression."""


class TemplateText(Extension):
    """Jinja extension that replaces messages by the result of `environment.translate`."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        if not hasattr(environment, "translate"):
            environment.extend(translate=str)

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        return TextReader(self.environment.translate).read(stream)  # type: ignore[attr-defined]


class TextReader:
    """Tracks the markup of a single template."""

    def __init__(self, translate: Callable[[str], str]) -> None:
        self._translate = translate
        self._run: list[Piece] = []
        self._line = 1
        self._in_tag = False
        self._in_code = False
        self._quote = ""
        self._attribute = ""

    def read(self, tokens: Iterable[Token]) -> Iterator[Token]:
        """Yields the tokens with translated texts."""
        expression: list[Token] = []
        for token in tokens:
            if token.type == "variable_begin" or expression:
                expression.append(token)
                if token.type == "variable_end":
                    yield from self._value(tuple(expression))
                    expression = []
            elif token.type == "data":
                self._line = token.lineno
                yield from self._data(token.value)
            else:
                yield from self._flush()
                yield token
        yield from self._flush()

    def _value(self, expression: tuple[Token, ...]) -> Iterator[Token]:
        if self._is_read():
            self._run.append(expression)
        else:
            yield from expression

    def _is_read(self) -> bool:
        return self._attribute in READ if self._in_tag else not self._in_code

    def _data(self, text: str) -> Iterator[Token]:
        at = 0
        while at < len(text):
            end, mark = self._next(text, at)
            if self._is_read():
                self._run.append(text[at:end])
            else:
                yield self._token(text[at:end])
            if mark is not None:
                yield from self._flush()
                self._enter(text, end, mark)
                yield self._token(mark)
            at = end + len(mark or "")

    def _next(self, text: str, at: int) -> tuple[int, str | None]:
        """Returns the position at which the current state ends, and the mark that ends it."""
        if self._quote:
            end, mark = text.find(self._quote, at), self._quote
        elif self._in_tag:
            found = _TAG.search(text, at)
            return (found.start(), found[0]) if found else (len(text), None)
        else:
            end, mark = text.find("<", at), "<"
        return (end, mark) if end >= 0 else (len(text), None)

    def _enter(self, text: str, at: int, mark: str) -> None:
        if self._quote:
            self._quote = self._attribute = ""
        elif mark == "<":
            self._in_tag = True
            if _CODE.match(text, at):
                self._in_code = text[at + 1] != "/"
        elif mark == ">":
            self._in_tag = False
        else:
            self._attribute, self._quote = _name_before(text, at), mark[-1]

    def _token(self, text: str) -> Token:
        return Token(self._line, "data", text)

    def _flush(self) -> Iterator[Token]:
        run, self._run = self._run, []
        start, end = 0, len(run)
        while start < end and _is_aside(run[start]):
            start += 1
        while end > start and _is_aside(run[end - 1]):
            end -= 1
        for piece in [*run[:start], *self._translated(run[start:end]), *run[end:]]:
            if isinstance(piece, str):
                yield self._token(piece)
            else:
                yield from piece

    def _translated(self, run: list[Piece]) -> list[Piece]:
        values = [piece for piece in run if not isinstance(piece, str)]
        numbers = iter(range(1, len(values) + 1))
        text = "".join(
            unescape(one) if isinstance(one, str) else f"{{{next(numbers)}}}" for one in run
        )
        message = " ".join(text.split())
        if not is_text(message):
            return run
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        found: list[Piece] = [before]
        for at, part in enumerate(PLACEHOLDER.split(self._translate(message))):
            found.append(values[int(part) - 1] if at % 2 else escape(part))
        return [*found, after]


def _is_aside(piece: Piece) -> bool:
    if isinstance(piece, str):
        return not piece.strip()
    return piece[1].value in _ASIDE


def _name_before(text: str, at: int) -> str:
    """Returns the name of the attribute whose equals sign is at `at`."""
    while at and text[at - 1].isspace():
        at -= 1
    start = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "-_"):
        start -= 1
    return text[start:at]

r"""Backslash escapes of a query (docs/query-language.md#quotes-and-backslashes). A backslash is
removed before whitespace, `(`, `)`, `"` and `\`. It is kept before other characters, so that
Windows paths need no escapes."""

import re

_ESCAPED = re.compile(r'\\([\s()"\\])')
_SPECIAL = re.compile(r'([\s()"\\])')


def unescape(source: str) -> str:
    """Returns the text of a word or phrase. `*` and `?` remain wildcards."""
    return _ESCAPED.sub(r"\1", source) if "\\" in source else source


def escape(text: str) -> str:
    """Returns the text with escapes. `*` and `?` remain wildcards."""
    return _SPECIAL.sub(r"\\\1", text)


def closed(source: str) -> str:
    """Returns the source with its final backslash doubled if that would escape the next
    character."""
    trailing = len(source) - len(source.rstrip("\\"))
    return source + "\\" if trailing % 2 else source

r"""Backslash escapes of a query (docs/query-language.md#quotes-and-backslashes): removed before
whitespace, `(`, `)`, `"` and
`\`; kept before anything else, so that Windows paths are written as they are."""

import re

_ESCAPED = re.compile(r'\\([\s()"\\])')
_SPECIAL = re.compile(r'([\s()"\\])')


def unescape(source: str) -> str:
    """The text of a word or phrase. `*` and `?` in it stay wildcards."""
    return _ESCAPED.sub(r"\1", source) if "\\" in source else source


def escape(text: str) -> str:
    """The text with escapes. `*` and `?` in it stay wildcards."""
    return _SPECIAL.sub(r"\\\1", text)


def closed(source: str) -> str:
    """The source with a final backslash doubled where it would escape what follows."""
    trailing = len(source) - len(source.rstrip("\\"))
    return source + "\\" if trailing % 2 else source

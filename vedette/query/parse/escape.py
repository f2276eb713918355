r"""Backslashes in a query (query-language 2.1): before whitespace, `(`, `)`, `"` and `\` one
disappears; anywhere else it stays, because that is how people write Windows paths."""

import re

_ESCAPED = re.compile(r'\\([\s()"\\])')
_SPECIAL = re.compile(r'([\s()"\\])')


def unescape(source: str) -> str:
    """The text a word or phrase stands for. `*` and `?` in it are live wildcards."""
    return _ESCAPED.sub(r"\1", source) if "\\" in source else source


def escape(text: str) -> str:
    """A spelling of the text; `*` and `?` in it stay live."""
    return _SPECIAL.sub(r"\\\1", text)


def closed(source: str) -> str:
    """The spelling without a last backslash that would escape what follows it."""
    trailing = len(source) - len(source.rstrip("\\"))
    return source + "\\" if trailing % 2 else source

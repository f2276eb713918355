"""Converts a test of a rule to a value of the query language, and decides whether both are
equivalent.

A value matches at least every text that passes the test. It is `exact` if it matches no other.
Differences that queries ignore do not count: letter case, `/` instead of a backslash, and doubled
separators.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from vedette.detect.nodes import Compare, Like, Network, Test, Text, Where
from vedette.model.field import FieldType
from vedette.query.nodes import Range
from vedette.query.nodes import Text as Word

_DRIVE: Final = re.compile(r"[a-z]:[\\/]", re.ASCII)
_HIVE: Final = re.compile(r"hk(?:lm|u|cu|cr)\\", re.ASCII)
_HIVE_ENDS: Final = frozenset({"hklm", "klm", "lm", "m", "hku", "ku", "u"})
_SEPARATOR_RUN: Final = re.compile(r"[\\/]{2}")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]+", re.ASCII)
_WORD: Final = re.compile(r"[0-9a-z_]+", re.ASCII)
_WORD_CHAR: Final = re.compile(r"\w")
_PIECE: Final = re.compile(r"[0-9a-z_.+%!#$@^~`-]+", re.ASCII)
_CUTS: Final = "\\/\"'()[]{},=<>&|;: \t\r\n*?"
_NEEDS_ESCAPE: Final = re.compile(r'\\(?=[\s()"\\]|$)|"')
_NAMED_HASH: Final = re.compile(r"(md5|sha1|sha256|imphash)=([0-9a-f]+)", re.ASCII)
_DIGITS: Final = {"md5": 32, "sha1": 40, "sha256": 64, "imphash": 32}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query value, and whether it is equivalent to the test."""

    value: Word | Range
    exact: bool = False


def asked(kind: FieldType, test: Test) -> Asked | None:
    """Returns the query value of a test; None if the type of field cannot express it."""
    match test:
        case Text(where=where, value=value, cased=cased):
            write = _TEXTS.get(kind)
            found = write(where, value.lower()) if write is not None and value.strip() else None
            return _weakened(found, is_weak=cased or "*" in value or "?" in value)
        case Like():
            return _like(kind, test)
        case Network(cidr=cidr) if kind in ("ipv4", "ipv6"):
            return Asked(Word(cidr)) if (":" in cidr) == (kind == "ipv6") else None
        case Compare(operator=operator, number=number) if kind == "integer":
            if number != int(number) or number < 0:
                return None
            end = str(int(number))
            if operator in ("gt", "gte"):
                return Asked(Range(end, "*", excludes_low=operator == "gt"), exact=True)
            return Asked(Range("0", end, excludes_high=operator == "lt"), exact=True)
    return None


def named_hash(value: str) -> tuple[str, str] | None:
    """Returns kind and digits of a value such as `MD5=…` of `Hashes`, if it is a complete hash."""
    found = _NAMED_HASH.fullmatch(value.lower())
    return (found[1], found[2]) if found and len(found[2]) == _DIGITS[found[1]] else None


def _weakened(found: Asked | None, *, is_weak: bool) -> Asked | None:
    return Asked(found.value) if found is not None and is_weak else found


def _like(kind: FieldType, test: Like) -> Asked | None:
    """Converts inner wildcards unchanged. Never exact, because a query may match from the start of
    any component of the text."""
    pieces = ["".join("?" if one is None else one for one in piece) for piece in test.pieces]
    text = "*".join(pieces).lower()
    if kind not in ("path", "registry", "keyword") or '"' in text or not text.strip("*?\\/"):
        return None
    if kind == "registry" and not text.startswith("*") and not _HIVE.match(text):
        return None
    return Asked(Word(text if kind != "keyword" else _escaped(text)))


def _escaped(text: str) -> str:
    return _NEEDS_ESCAPE.sub(r"\\\g<0>", text)


def _starred(where: Where, text: str) -> str:
    before = "*" if where in ("contains", "endswith") else ""
    return before + text + ("*" if where in ("contains", "startswith") else "")


def _path(where: Where, text: str) -> Asked | None:
    bare = text.lstrip("\\/")
    if not bare.strip("\\/") or '"' in text:
        return None
    begins_cut, ends_cut = text[0] in "\\/", text[-1] in "\\/"
    is_rooted = _DRIVE.match(text) is not None
    exact = not _SEPARATOR_RUN.search(text)
    if begins_cut and bare[0] in ".?" and not re.search(r"[\\/]", bare):
        exact = False  # a query reads the value as the extension of a name
    match where:
        case "equals" | "startswith":
            exact = exact and is_rooted and not (where == "equals" and ends_cut)
        case "endswith":
            exact = exact and not ends_cut
    return Asked(Word(_starred(where, text)), exact)


def _registry(where: Where, text: str) -> Asked | None:
    if not text.strip("\\") or '"' in text:
        return None
    first = text.partition("\\")[0]
    if _HIVE.match(text):
        if where == "endswith":
            return None
        where = "startswith" if where == "contains" else where
        exact = text.startswith(("hklm", "hku"))
    elif where in ("equals", "startswith") or first in _HIVE_ENDS:
        return None
    else:
        exact = not text.endswith("\\") or where == "contains"
        if text[0] == "\\" and text[1:2] in ".?":
            exact = False
    exact = exact and "controlset" not in text and not _SEPARATOR_RUN.search(text)
    return Asked(Word(_starred(where, text)), exact and "/" not in text)


def _name(where: Where, text: str) -> Asked | None:
    """Converts a test of the path of another process, of which queries only search the name. Values
    with a separator search the path."""
    inner = text.lstrip("\\/")
    if re.search(r"[\\/]", inner):
        return _path(where, text)
    if where != "endswith" or not inner or '"' in text:
        return None
    return Asked(Word(f"*{text}" if inner == text else inner), exact=inner[0] not in "?*")


def _cmdline(where: Where, text: str) -> Asked | None:
    """Converts to pieces at any position. Any separator in the value matches any separator in the
    text."""
    if not text.strip(_CUTS):
        return None
    exact = where == "contains" and _PIECE.fullmatch(text) is not None
    return Asked(Word(_escaped(f"*{text}*")), exact)


def _words(where: Where, text: str) -> Asked | None:
    if not _WORD_CHAR.search(text):
        return None
    exact = where == "contains" and _WORD.fullmatch(text) is not None
    return Asked(Word(_escaped(_starred(where, text))), exact)


def _keyword(where: Where, text: str) -> Asked | None:
    return Asked(Word(_escaped(_starred(where, text))), exact=True)


def _account(where: Where, text: str) -> Asked | None:
    exact = where in ("contains", "endswith") or "\\" in text.strip("\\")
    return Asked(Word(_escaped(_starred(where, text))), exact)


def _domain(where: Where, text: str) -> Asked | None:
    if not text.strip("."):
        return None
    exact = where in ("contains", "endswith") and not text.endswith(".")
    if where == "endswith":
        text = text.rstrip(".")
    return Asked(Word(_escaped(_starred(where, text))), exact)


def _digits(where: Where, text: str) -> Asked | None:
    if not _HEXADECIMAL.fullmatch(text):
        return None
    return Asked(Word(_starred(where, text)), exact=True)


def _integer(where: Where, text: str) -> Asked | None:
    if where != "equals" or not text.isascii() or not text.isdecimal():
        return None
    return Asked(Word(text), exact=True)


def _address(where: Where, text: str) -> Asked | None:
    """Converts whole addresses. The query check tells which address family the field has."""
    return Asked(Word(text)) if where == "equals" else None


_TEXTS: Final[Mapping[FieldType, Callable[[Where, str], Asked | None]]] = MappingProxyType(
    {
        "path": _path,
        "registry": _registry,
        "name": _name,
        "cmdline": _cmdline,
        "text": _words,
        "keyword": _keyword,
        "account": _account,
        "domain": _domain,
        "md5": _digits,
        "sha1": _digits,
        "sha256": _digits,
        "integer": _integer,
        "ipv4": _address,
        "ipv6": _address,
    }
)

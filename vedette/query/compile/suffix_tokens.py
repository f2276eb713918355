"""Suffix tokens of tests: event tests that a suffix index decides exactly, and tokens that other
tests require (`model/suffix_columns.py`).

A property test compares tests and tokens, with and without the index.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from vedette.limits import Limit
from vedette.model.suffix_columns import END, IPV4, SUFFIX_COLUMNS, is_askable
from vedette.query.typed import AddressTest, Test, TextTest

QUERY_ADDRESS_TOKENS_MAX: Limit[int] = 256
"""Maximum tokens of an address range; enough for any network."""

QUERY_SUFFIX_TOKENS_MAX: Limit[int] = 1_000
"""Maximum tokens of a column in a condition. Rows without an index are compared with each token."""


_DRIVE: Final = re.compile(r"[a-z]:")
_RENAMED: Final = ("currentcontrolset", "controlset")
"""Path components that the registry form replaces."""

_V4: Final = bytes(10) + b"\xff\xff"
"""Prefix of stored IPv4 addresses."""
_FREE_BITS: Final = (24, 16, 8, 0)


_LABELS_MAX: Final = 3
"""Maximum trailing labels of a domain in a token."""


def deciding_tokens(tests: Iterable[Test]) -> tuple[list[str], list[Test]]:
    """Returns tokens that decide some of the tests, and the remaining tests. A row has one of the
    tokens exactly if one of the decided tests is true."""
    tokens: dict[str, None] = {}
    others: list[Test] = []
    for test in tests:
        found = _deciding(test)
        if found and len(tokens) + len(found) <= QUERY_SUFFIX_TOKENS_MAX:
            tokens.update(dict.fromkeys(found))
        else:
            others.append(test)
    return list(tokens), others


def _deciding(test: Test) -> Collection[str]:
    """Returns the tokens that decide a test; () if tokens cannot decide it."""
    if isinstance(test, AddressTest):
        return _address_tokens(test) if test.column in SUFFIX_COLUMNS else ()
    token = _deciding_text(test) if isinstance(test, TextTest) else None
    return () if token is None else (token,)


def _deciding_text(test: TextTest) -> str | None:
    match SUFFIX_COLUMNS.get(test.column), test.form, test.shape:
        case "path" | "module" as kind, "path" | "registry", "ends" | "ends_after":
            return _path_token(test, kind == "module")
        case "domain", "domain", "ends":
            labels = _labels(test.needle)
            return _last_labels(labels) if len(labels) <= _LABELS_MAX else None
        case "domain", "domain", "contains" if test.needle.endswith("."):
            labels = _labels(test.needle[:-1])
            return labels[0] if len(labels) == 1 else None
    return None


def _address_tokens(test: AddressTest) -> list[str]:
    """Returns an IPv4 range as tokens of networks and single addresses; [] for other ranges and if
    there are too many tokens."""
    if not test.low.startswith(_V4) or not test.high.startswith(_V4):
        return []
    first, last = (int.from_bytes(one[len(_V4) :], "big") for one in (test.low, test.high))
    found: list[str] = []
    while first <= last and len(found) <= QUERY_ADDRESS_TOKENS_MAX:
        free = next(
            free
            for free in _FREE_BITS
            if not first % (1 << free) and first + (1 << free) - 1 <= last
        )
        numbers = first.to_bytes(4, "big")[: 4 - free // 8]
        dotted = ".".join(map(str, numbers))
        found.append(f"{dotted}." if free else f"{IPV4}{dotted}")
        first += 1 << free
    return found if len(found) <= QUERY_ADDRESS_TOKENS_MAX else []


def shown_tokens(tests: Iterable[Test]) -> list[str]:
    """Returns prefilter tokens: every row for which a test is true has one of them. [] if some test
    has none."""
    found = dict.fromkeys(map(_shown_token, tests))
    return [] if None in found else [token for token in found if token is not None]


def _shown_token(test: Test) -> str | None:
    if not isinstance(test, TextTest):
        return None
    match SUFFIX_COLUMNS.get(test.column), test.form, test.shape:
        case "path" | "module", "path" | "registry", "ends" | "ends_after":
            return _end_of_path(test)
        case "path" | "module", "path" | "registry", "starts" | "contains":
            return _folder(test)
        case "domain", "domain", "ends" | "ends_after" | "equals":
            labels = _labels(test.needle)
            return _last_labels(labels[-_LABELS_MAX:]) if labels else None
    return None


def _path_token(test: TextTest, is_module: bool) -> str | None:
    parts = test.needle.split("\\")
    if len(parts) == 1:
        is_extension = test.needle.count(".") == 1
        return _end_of_path(test) if is_extension else None
    if parts[0] or test.shape != "ends":
        return None
    if len(parts) == 2:  # a separator and the last component
        return _end_of_path(test)
    if not is_module or not _DRIVE.fullmatch(parts[1]):
        return None
    known = all(map(is_askable, parts[1:])) and not any(map(_DRIVE.fullmatch, parts[2:]))
    return "/".join(parts) if known else None


def _end_of_path(test: TextTest) -> str | None:
    """Returns the token of the needle's last component, or of its extension."""
    _, separator, last = test.needle.rpartition("\\")
    if not is_askable(last):
        return None
    if separator:
        is_renamed = test.form == "registry" and last.startswith(_RENAMED)
        return None if is_renamed else last + END
    return f"*.{last.rpartition('.')[2]}{END}" if last.startswith(".") else None


def _folder(test: TextTest) -> str | None:
    """Returns the token of the longest component between two separators of the needle."""
    folders = [
        part
        for part in test.needle.split("\\")[1:-1]
        if is_askable(part) and not (test.form == "registry" and part.startswith(_RENAMED))
    ]
    return max(folders, key=len, default=None)


def _labels(needle: str) -> list[str]:
    """Returns the labels of a needle; [] if any label cannot be a token."""
    labels = needle.split(".")
    known = not labels[0] and len(labels) > 1 and all(map(is_askable, labels[1:]))
    return labels[1:] if known else []


def _last_labels(labels: list[str]) -> str | None:
    if not labels:
        return None
    return labels[0] + END if len(labels) == 1 else f".{'.'.join(labels)}{END}"

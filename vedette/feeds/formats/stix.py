"""STIX 2.1: each `indicator` object of a bundle, or of a page of a TAXII collection, becomes a
report.

A pattern is accepted if it means a list of indicators, each of which is a hit by itself:
comparisons for equality (or IN) joined by OR, within one observation or several. Hashes of one file
may also be joined by AND. Any other pattern is an error of its object: using only part of it would
widen its meaning.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import re2

from vedette.feeds.formats.cbfeeds import decoded, text_of
from vedette.feeds.formats.indicator_values import UnreadableError, normal_value
from vedette.feeds.formats.json_pieces import ELEMENT, Path, Piece, cut
from vedette.limits import REPORT_IOCS_MAX, REPORT_TEXT_CHARS_MAX, Limit
from vedette.model.threat.feed import CONFIDENCE_UNKNOWN, BrokenPart, Ioc, IocType, Item, Report

REPORT_TITLE_OF_PATTERN_CHARS: Limit[int] = 200
"""Characters of a pattern that serve as the title of a report without one."""


OBJECTS: Final[Path] = ("objects", ELEMENT)

_TOKEN: Final = re2.compile(
    r"(?P<text>'(?:[^'\\]|\\.)*')|(?P<mark>[\[\](),=])"
    r"|(?P<word>[a-z0-9_-]+:[\w.'\[\]*-]+(?:'[^']*')?|[A-Z]+|[\d.]+)"
)
_BLANKS: Final = re2.compile(r"\s*")
_PATHS: Final[dict[str, IocType | None]] = {
    "ipv4-addr:value": "ipv4",
    "ipv6-addr:value": "ipv6",
    "domain-name:value": "dns",
    "file:hashes.md5": "md5",
    "file:hashes.sha-256": "sha256",
    "file:hashes.sha256": "sha256",
    "file:hashes.sha-1": None,
    "file:hashes.sha1": None,
    "file:hashes.sha-512": None,
    "file:hashes.ssdeep": None,
    "network-traffic:dst_ref.value": None,
}
"""Maps paths of patterns to indicator types; None for paths that are accepted but not matched,
beside others."""

_OTHER_HASHES: Final = frozenset(name for name in _PATHS if name.startswith("file:hashes."))
_SCORE_UNKNOWN: Final = 50


def items(chunks: Iterable[bytes]) -> Iterator[Item]:
    """Yields the reports of a bundle. Raises BrokenDocumentError."""
    for piece in cut(chunks, (OBJECTS,)):
        yield from object_items(piece)


def object_items(piece: Piece) -> Iterator[Item]:
    """Yields the report of an object; nothing for an object of another type."""
    object_id = ""
    try:
        body = decoded(piece)
        if body.get("type") != "indicator":
            return
        object_id = text_of(body, "id", REPORT_TEXT_CHARS_MAX, needed=True)
        yield _report(object_id, body)
    except UnreadableError as problem:
        yield BrokenPart(place=piece.place, problem=str(problem), report_id=object_id)


def pattern_iocs(pattern: str) -> list[tuple[IocType, str]]:
    """Returns the indicators that a pattern lists. Raises UnreadableError for any other pattern."""
    tokens = _tokens(pattern)
    found: list[tuple[IocType, str]] = []
    paths: list[str] = []
    joints: set[str] = set()
    at = 0
    while at < len(tokens):
        match tokens[at]:
            case "[" | "(":
                at += 1
            case "]" | ")":
                if tokens[at] == "]":
                    _check_observation(paths, joints)
                    paths, joints = [], set()
                at += 1
            case "OR" | "AND" as joint:
                if joint == "AND" and not paths:
                    raise UnreadableError("pattern: joins observations by AND")
                joints.add(joint)
                at += 1
            case path:
                values, at = _values(tokens, at)
                paths.append(path)
                kind = _kind(path)
                found += [normal_value(kind, value) for value in values if kind is not None]
    if not found:
        raise UnreadableError("pattern: has no hash, address, or name")
    return list(dict.fromkeys(found))


def _tokens(pattern: str) -> list[str]:
    tokens, at = [], 0
    text = pattern.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise UnreadableError(f"pattern: {text[at : at + 40]!r} is not understood")
        tokens.append(found[0])
        blanks = _BLANKS.match(text, found.end())
        at = blanks.end() if blanks else found.end()
    return tokens


def _kind(path: str) -> IocType | None:
    plain = path.replace("'", "").lower()
    if plain not in _PATHS:
        raise UnreadableError(f"pattern: {path[:60]!r} cannot be matched")
    return _PATHS[plain]


def _values(tokens: list[str], at: int) -> tuple[list[str], int]:
    """Returns the values that a path is compared with, and the position after them."""
    match tokens[at + 1 : at + 3]:
        case ["=", value] if value.startswith("'"):
            return [_unquoted(value)], at + 3
        case ["IN", "("]:
            end = tokens.index(")", at) if ")" in tokens[at:] else -1
            if end > 0:
                return [_unquoted(one) for one in tokens[at + 3 : end] if one != ","], end + 1
    raise UnreadableError(f"pattern: {tokens[at][:60]!r} is not compared for equality")


def _unquoted(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _check_observation(paths: list[str], joints: set[str]) -> None:
    plain = {path.replace("'", "").lower() for path in paths}
    if "AND" in joints and not plain <= _OTHER_HASHES:
        raise UnreadableError("pattern: joins by AND what is a hit only together")


def _report(object_id: str, body: dict[str, Any]) -> Report:
    pattern = text_of(body, "pattern", REPORT_TEXT_CHARS_MAX, needed=True)
    if body.get("pattern_type", "stix") != "stix":
        raise UnreadableError(f"pattern_type: {str(body['pattern_type'])[:40]!r} is not read")
    expires_us = _time_us(body, "valid_until")
    number = body.get("confidence")
    is_known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= 100
    confidence = number / 100 if is_known and number is not None else CONFIDENCE_UNKNOWN
    found = pattern_iocs(pattern)
    if len(found) > REPORT_IOCS_MAX:
        raise UnreadableError(f"pattern: lists more than {REPORT_IOCS_MAX:,} indicators")
    is_revoked = body.get("revoked") is True
    labels = body.get("labels") or body.get("indicator_types") or []
    references = body.get("external_references")
    return Report(
        id=object_id,
        title=text_of(body, "name", REPORT_TEXT_CHARS_MAX)
        or pattern[:REPORT_TITLE_OF_PATTERN_CHARS],
        description=text_of(body, "description", REPORT_TEXT_CHARS_MAX),
        link=_link(references if isinstance(references, list) else []),
        tags=tuple(one for one in labels if isinstance(one, str)),
        score=round(confidence * 100) if is_known else _SCORE_UNKNOWN,
        time_us=_time_us(body, "modified") or _time_us(body, "created"),
        valid_from_us=_time_us(body, "valid_from"),
        iocs=()
        if is_revoked
        else tuple(
            Ioc(kind, value, confidence=confidence, expires_us=expires_us) for kind, value in found
        ),
    )


def _link(references: list[Any]) -> str:
    urls = (one.get("url") for one in references if isinstance(one, dict))
    return next((url for url in urls if isinstance(url, str)), "")[:REPORT_TEXT_CHARS_MAX]


def _time_us(body: dict[str, Any], name: str) -> int:
    text = body.get(name)
    if text is None:
        return 0
    try:
        moment = datetime.fromisoformat(str(text))
        return max(0, int(moment.timestamp() * 1_000_000)) if moment.tzinfo else 0
    except (ValueError, OverflowError):
        raise UnreadableError(f"{name}: {str(text)[:40]!r} is not a time") from None

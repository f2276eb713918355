"""Recognizes the format of a document and reads its items.

The first bytes and the outermost member names determine the format, never a file name or text
within a report.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from vedette.feeds.formats import cbfeeds, misp, stix, value_list
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.model.threat.feed import BrokenPart, Item, Report

Reader = Callable[[Iterable[bytes]], Iterator[Item]]

_HEAD: Final = 4096
_OUTER: Final = re.compile(
    rb'"(feedinfo|reports|objects|spec_version|Event|Attribute|response)"\s*:'
)
_TYPE: Final = re.compile(rb'"type"\s*:\s*"bundle"')


def _outer(head: bytes) -> bytes:
    """Returns the first member name that distinguishes formats; b"" for non-JSON."""
    if head.lstrip()[:1] not in (b"{", b"["):
        return b""
    found = _OUTER.search(head)
    return found[1] if found else b""


def _is_stix(head: bytes) -> bool:
    if head.lstrip()[:1] != b"{":
        return False
    return _outer(head) in (b"objects", b"spec_version") or bool(_TYPE.search(head))


FORMATS: Final[tuple[tuple[str, Callable[[bytes], bool], Reader], ...]] = (
    ("cbfeeds", lambda head: _outer(head) in (b"feedinfo", b"reports"), cbfeeds.items),
    ("stix", _is_stix, stix.items),
    ("misp", lambda head: _outer(head) in (b"Event", b"Attribute", b"response"), misp.items),
    ("list", value_list.looks_like_list, value_list.items),
)
"""(name, recognizer of the first bytes, reader); the first match reads the document."""


_LACKS: Final = {
    "cbfeeds": "`reports` lists none with `iocs`",
    "stix": "no object is an indicator",
    "taxii": "no collection that may be read has an indicator",
    "misp": "no event or attribute was found that is for detection (`to_ids`)",
    "list": "no line is one",
}
"""Maps format to the reason why a document has no indicators."""

DOCUMENT: Final = "document"
"""Place of a problem that concerns the whole document."""


def or_problem(name: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yields the items of a document, and a problem if it has no indicator and no other problem:
    nothing would ever match, so its publisher or this reader probably misinterprets it."""
    reports = indicators = problems = 0
    for item in items:
        if isinstance(item, Report):
            reports += 1
            indicators += len(item.iocs)
        problems += isinstance(item, BrokenPart)
        yield item
    if not indicators and not problems:
        found = f"{reports} reports and no indicators" if reports else "no indicators"
        problem = f"it was read as {name} and has {found}: {_LACKS[name]}"
        yield BrokenPart(place=DOCUMENT, problem=problem)


def read_items(chunks: Iterable[bytes]) -> tuple[str, Iterator[Item]]:
    """Returns the name of the format and the items of a document, with a problem if it contains no
    indicators.

    Raises BrokenDocumentError for an unknown format, and while iterating for a document that ends
    early.
    """
    rest = iter(chunks)
    head = b""
    while len(head) < _HEAD and (chunk := next(rest, b"")):
        head += chunk
    head = head.removeprefix(b"\xef\xbb\xbf")
    for name, recognises, reader in FORMATS:
        if recognises(head):
            return name, or_problem(name, reader(chain((head,), rest)))
    raise BrokenDocumentError("the document is in no format of feeds that is known")

"""Recognises the format of a document and reads its items.

The format is decided by the first bytes and by the outermost member names, never by a name of a
file or by text inside a report.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from vedette.feeds.formats import cbfeeds, misp, stix, value_list
from vedette.feeds.formats.json_pieces import BrokenDocumentError
from vedette.model.threat.feed import Item

Reader = Callable[[Iterable[bytes]], Iterator[Item]]

_HEAD: Final = 4096
_OUTER: Final = re.compile(rb'"(feedinfo|reports|objects|spec_version|Event|response)"\s*:')
_TYPE: Final = re.compile(rb'"type"\s*:\s*"bundle"')


def _outer(head: bytes) -> bytes:
    """The first member name that distinguishes formats; b"" for what is no JSON."""
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
    ("misp", lambda head: _outer(head) in (b"Event", b"response"), misp.items),
    ("list", value_list.looks_like_list, value_list.items),
)
"""Name, how the first bytes look, and the reader; the first that recognises a document reads it."""


def read_items(chunks: Iterable[bytes]) -> tuple[str, Iterator[Item]]:
    """The name of the format, and what the document holds.

    Raises BrokenDocumentError for a format that nobody reads, and for a document that ends early
    (while the items are read).
    """
    rest = iter(chunks)
    head = b""
    while len(head) < _HEAD and (chunk := next(rest, b"")):
        head += chunk
    head = head.removeprefix(b"\xef\xbb\xbf")
    for name, recognises, reader in FORMATS:
        if recognises(head):
            return name, reader(chain((head,), rest))
    raise BrokenDocumentError("the document is in no format of feeds that is known")

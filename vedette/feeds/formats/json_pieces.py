"""Cuts single values out of a JSON document of any size, without storing the document.

The scanner only reads strings and brackets, so a report with invalid JSON within balanced brackets
affects only itself; the caller decodes each piece. The document ends where its outermost value
ends. The largest requested piece bounds the memory.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from vedette.errors import BadRequestError
from vedette.limits import FEED_PIECE_BYTES, Limit

REPORT_BYTES_MAX: Limit[int] = 32 * 2**20
"""Bytes of JSON of one report, all of which is in memory while it is read."""

REPORT_JSON_DEPTH_MAX: Limit[int] = 200
"""Nesting depth of JSON within one report; deeper reports are rejected before parsing."""


Path = tuple[str, ...]
"""Names of members from the outside in; `[]` for an array element, `*` for any member."""

ELEMENT: Final = "[]"
ANY: Final = "*"

_STRUCTURE: Final = re.compile(rb'["\[\]{}]')
_IN_STRING: Final = re.compile(rb'["\\]')
_AFTER_SCALAR: Final = re.compile(rb"[\s,\]}]")
_SPACE: Final = re.compile(rb"\s*")
_KEY_BYTES_MAX: Final = FEED_PIECE_BYTES


class Piece(Struct, frozen=True):
    """A value that was cut out."""

    path: Path
    """The pattern of `wanted` that matched."""
    place: str
    """Location of the value: `reports[17] at byte 9,211`."""
    data: bytes | None
    """Its JSON, not validated; None if it exceeds the limit."""
    name: str = ""
    """Name of the member; "" for an element."""


class BrokenDocumentError(BadRequestError):
    """The document itself ends early or is not JSON; pieces before that are valid."""

    reason = "feed_broken"


def cut(
    chunks: Iterable[bytes], wanted: Iterable[Path], bytes_max: int = REPORT_BYTES_MAX
) -> Iterator[Piece]:
    """Yields the values at the wanted paths, in document order.

    Raises BrokenDocumentError at the point of the error, after all earlier pieces.
    """
    return _Cutter(iter(chunks), tuple(wanted), bytes_max).value((), "")


class _Cutter:
    def __init__(self, chunks: Iterator[bytes], wanted: tuple[Path, ...], bytes_max: int) -> None:
        self._chunks = chunks
        self._wanted = wanted
        self._bytes_max = bytes_max
        self._buffer = b""
        self._at = 0
        self._before = 0  # bytes of the document before the buffer

    def value(self, path: Path, place: str) -> Iterator[Piece]:
        first = self._peek()
        found = _pattern(self._wanted, path)
        if found is not None:
            at = self._before + self._at
            data = self._scan(first)
            name = "" if not path or path[-1] == ELEMENT else path[-1]
            yield Piece(found, f"{place or 'document'} at byte {at:,}", data, name)
        elif first == b"{" and _leads(self._wanted, path):
            yield from self._members(path, place)
        elif first == b"[" and _leads(self._wanted, path):
            yield from self._elements(path, place)
        else:
            self._scan(first, keep=False)

    def _members(self, path: Path, place: str) -> Iterator[Piece]:
        self._at += 1
        while self._peek() != b"}":
            if self._peek() != b'"':
                raise self._broken("a name of a member is missing")
            name = self._key()
            if self._peek() != b":":
                raise self._broken("a colon is missing")
            self._at += 1
            yield from self.value((*path, name), f"{place}.{name}" if place else name)
            self._next_or(b"}")
        self._at += 1

    def _elements(self, path: Path, place: str) -> Iterator[Piece]:
        self._at += 1
        number = 0
        while self._peek() != b"]":
            yield from self.value((*path, ELEMENT), f"{place}[{number}]")
            self._next_or(b"]")
            number += 1
        self._at += 1

    def _next_or(self, end: bytes) -> None:
        match self._peek():
            case b",":
                self._at += 1
            case other if other != end:
                raise self._broken("a comma is missing")

    def _key(self) -> str:
        raw = self._scan(b'"', bytes_max=_KEY_BYTES_MAX)
        if raw is None:
            raise self._broken("a name of a member is too long")
        return raw[1:-1].decode("utf-8", "replace")

    def _scan(self, first: bytes, *, keep: bool = True, bytes_max: int = 0) -> bytes | None:
        """Skips the value that begins here. Returns its bytes, or None if they are not kept."""
        taken = _Taken(bytes_max or self._bytes_max if keep else 0)
        match first:
            case b'"':
                self._string(taken)
            case b"{" | b"[":
                self._container(taken)
            case _:
                self._scalar(taken)
        return taken.bytes()

    def _container(self, taken: "_Taken") -> None:
        depth = 0
        while True:
            found = _STRUCTURE.search(self._buffer, self._at)
            if found is None:
                self._take(taken, len(self._buffer))
                self._fill()
                continue
            match found[0]:
                case b'"':
                    self._take(taken, found.start())
                    self._string(taken)
                    continue
                case b"{" | b"[":
                    depth += 1
                case _:
                    depth -= 1
            if depth > REPORT_JSON_DEPTH_MAX:
                taken.drop()
            self._take(taken, found.end())
            if depth == 0:
                return

    def _string(self, taken: "_Taken") -> None:
        self._take(taken, self._at + 1)
        while True:
            found = _IN_STRING.search(self._buffer, self._at)
            if found is None:
                self._take(taken, len(self._buffer))
                self._fill()
            elif found[0] == b'"':
                self._take(taken, found.end())
                return
            else:
                self._take(taken, found.end())
                if self._at == len(self._buffer):
                    self._fill()
                self._take(taken, self._at + 1)

    def _scalar(self, taken: "_Taken") -> None:
        start = self._before + self._at
        while True:
            found = _AFTER_SCALAR.search(self._buffer, self._at)
            self._take(taken, len(self._buffer) if found is None else found.start())
            if found is not None:
                break
            if not self._more():
                break
        if self._before + self._at == start:
            raise self._broken("a value is missing")

    def _take(self, taken: "_Taken", until: int) -> None:
        taken.add(self._buffer[self._at : until])
        self._at = until

    def _peek(self) -> bytes:
        """Returns the next byte that is not white space."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            self._fill()

    def _fill(self) -> None:
        if not self._more():
            raise self._broken("it ends too early")

    def _more(self) -> bool:
        """Loads the next chunk; the buffer must be consumed. Returns whether there is one."""
        self._before += len(self._buffer)
        self._buffer, self._at = next(self._chunks, b""), 0
        return bool(self._buffer)

    def _broken(self, why: str) -> BrokenDocumentError:
        return BrokenDocumentError(
            f"the document is not valid JSON: {why}, at byte {self._place():,}"
        )

    def _place(self) -> int:
        return self._before + self._at


class _Taken:
    """Collects the bytes of a value up to a limit; above it, none."""

    def __init__(self, bytes_max: int) -> None:
        self._left = bytes_max
        self._parts: list[bytes] | None = [] if bytes_max else None

    def add(self, part: bytes) -> None:
        if self._parts is None:
            return
        self._left -= len(part)
        if self._left < 0:
            self.drop()
        else:
            self._parts.append(part)

    def drop(self) -> None:
        self._parts = None

    def bytes(self) -> bytes | None:
        return None if self._parts is None else b"".join(self._parts)


def _meets(pattern: Path, path: Path) -> bool:
    return all(
        one == name or (one == ANY and name != ELEMENT)
        for one, name in zip(pattern, path, strict=False)
    )


def _pattern(wanted: tuple[Path, ...], path: Path) -> Path | None:
    """Returns the pattern that a path matches, or None."""
    return next((one for one in wanted if len(one) == len(path) and _meets(one, path)), None)


def _leads(wanted: tuple[Path, ...], path: Path) -> bool:
    """Whether the value at a path may contain a wanted value."""
    return any(len(one) > len(path) and _meets(one, path) for one in wanted)

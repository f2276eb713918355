"""Data parts of the embedded engine as files: checks whether they are complete, by the sizes in the
part's `checksums.txt`, and removes parts that a failed write left incomplete.

Use it only for tables that the engine does not have open.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zstandard

from vedette.file_tree import matching
from vedette.limits import Limit

CHECKSUMS_BYTES_MAX: Limit[int] = 16 * 1024 * 1024
"""Maximum size of a part's list of its files: 165 files make 2 kB, 10 kB decompressed."""

REPLACED_PARTS_KEPT_S: Limit[int] = 45
"""Time for which parts replaced by a merge are certain to be on disk: the engine removes them after
`old_parts_lifetime` of the tables, 60 s."""


_NAME: Final = re.compile(r"([^_]{1,64})_(\d{1,20})_(\d{1,20})_(\d{1,10})(?:_(\d{1,20}))?")
"""Partition, first and last block, level, and the mutation that created the part."""

_HEAD: Final = b"checksums format version: 4\n"
_ZSTD: Final = 0x90
_HASH_LENGTH: Final = 16
_FRAME_LENGTH: Final = 9
"""Size of the header after the hash of a compressed block: method, compressed size including this
header, uncompressed size."""


class _UnknownFormatError(Exception):
    """A `checksums.txt` in a format that this module does not read: the engine decides about the
    part."""


@dataclass(frozen=True, slots=True)
class _Part:
    path: Path
    partition: str
    first: int
    last: int
    level: int
    mutation: int

    @property
    def is_inserted(self) -> bool:
        """Whether an insert created the part, not a merge or mutation of other parts."""
        return self.level == self.mutation == 0

    def replaces(self, other: "_Part") -> bool:
        return (
            self.partition == other.partition
            and self.first <= other.first
            and other.last <= self.last
            and self.level >= other.level
            and self.mutation >= other.mutation
            and self != other
        )


def discard_unfinished(table: Path, opened_s: float | None = None) -> list[str]:
    """Removes truncated parts from a table's directory if no stored row is lost: merged parts whose
    source parts still exist, and, if `opened_s` is given, parts of inserts since that time, none of
    which was acknowledged. Returns the names of the removed parts.
    """
    partitions: dict[str, list[_Part]] = {}
    for part in _parts(table):
        partitions.setdefault(part.partition, []).append(part)
    removed = []
    for parts in partitions.values():
        for part in parts:
            if _is_replaceable(part, parts, opened_s) and not is_whole(part.path):
                aside = table / f"delete_tmp_{part.path.name}"
                part.path.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)
                removed.append(part.path.name)
    if opened_s is not None:
        _discard_empty_mutations(table)
    return removed


def is_whole(part: Path) -> bool:
    """Whether all files listed by a part have their size, and the unlisted ones are not empty. True
    for a part whose list has another format."""
    try:
        sizes = _listed_sizes(part / "checksums.txt")
        listed = all(_is_as_listed(part / name, size) for name, size in sizes.items())
        others = (path for path in part.iterdir() if path.name not in sizes)
        return listed and all(path.is_dir() or path.stat().st_size for path in others)
    except _UnknownFormatError:
        return True
    except (OSError, ValueError, IndexError, zstandard.ZstdError):
        return False


def _is_as_listed(file: Path, size: int) -> bool:
    return is_whole(file) if file.suffix == ".proj" else file.stat().st_size == size


def _parts(table: Path) -> Iterator[_Part]:
    for path in sorted(table.iterdir()):
        found = _NAME.fullmatch(path.name)
        if found and path.is_dir():
            first, last, level, mutation = (int(number or 0) for number in found.groups()[1:])
            yield _Part(path, found[1], first, last, level, mutation)


def _is_replaceable(part: _Part, parts: list[_Part], opened_s: float | None) -> bool:
    made_s = part.path.stat().st_mtime
    if part.is_inserted:
        return opened_s is not None and made_s >= opened_s
    replaced = [one for one in parts if part.replaces(one)]
    # Replaced parts are removed in no particular order: all exist as long as none may be removed.
    # After that time, the sources are complete if no block is missing (block numbers of failed
    # inserts are).
    is_recent = part.path.parent.stat().st_mtime - made_s < REPLACED_PARTS_KEPT_S
    return bool(replaced) and (is_recent or _are_adjacent(part, replaced))


def _are_adjacent(part: _Part, replaced: list[_Part]) -> bool:
    """Whether the source parts cover all blocks of the part."""
    following = part.first
    for one in sorted(replaced, key=lambda one: (one.first, -one.last)):
        if one.first > following:
            return False
        following = max(following, one.last + 1)
    return following == part.last + 1


def _discard_empty_mutations(table: Path) -> None:
    """Removes empty mutation files, which keep the engine from opening the table; their statements
    failed."""
    for path in matching(table, "mutation_*.txt"):
        if not path.stat().st_size:
            path.unlink()


def _listed_sizes(checksums: Path) -> Mapping[str, int]:
    """Maps file names to sizes, read from `checksums.txt`: a header, then compressed blocks with a
    count and, for each file, its name, size, hash and, if it is compressed, the size and hash of
    its content."""
    if checksums.stat().st_size > CHECKSUMS_BYTES_MAX:
        raise _UnknownFormatError
    text = checksums.read_bytes()
    if not text.startswith(_HEAD):
        raise _UnknownFormatError if text.startswith(_HEAD[:-2]) else ValueError
    return _sizes(_inflated(text[len(_HEAD) :]))


def _inflated(blocks: bytes) -> bytes:
    pieces = []
    while blocks:
        frame = blocks[_HASH_LENGTH : _HASH_LENGTH + _FRAME_LENGTH]
        if frame[0] != _ZSTD:
            raise _UnknownFormatError
        end = _HASH_LENGTH + int.from_bytes(frame[1:5], "little")
        size = int.from_bytes(frame[5:9], "little")
        if not _HASH_LENGTH + _FRAME_LENGTH < end <= len(blocks) or size > CHECKSUMS_BYTES_MAX:
            raise ValueError
        packed = blocks[_HASH_LENGTH + _FRAME_LENGTH : end]
        pieces.append(zstandard.decompress(packed, max_output_size=size))
        blocks = blocks[end:]
    return b"".join(pieces)


def _sizes(listed: bytes) -> dict[str, int]:
    count, at = _number(listed, 0)
    sizes = {}
    for _ in range(count):
        length, at = _number(listed, at)
        name, at = listed[at : at + length].decode(), at + length
        sizes[name], at = _number(listed, at)
        is_compressed = listed[at + _HASH_LENGTH]
        at += _HASH_LENGTH + 1
        if is_compressed:
            _, at = _number(listed, at)
            at += _HASH_LENGTH
    return sizes


def _number(text: bytes, at: int) -> tuple[int, int]:
    """Returns (unsigned LEB128 number, position of the next value)."""
    value = shift = 0
    while True:
        byte = text[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at

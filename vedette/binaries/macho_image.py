"""Reads the headers of Mach-O files, including universal ones with several architectures."""

from typing import Any, Final

import lief

from vedette.binaries.file_facts import FileFacts, Problems, clean_text
from vedette.binaries.section_entropy import entropies
from vedette.limits import Limit

UNIVERSAL_SLICES_MAX: Limit[int] = 64
"""Architectures of a universal Mach-O file; real ones have two. Java classes have the same first
bytes, and a version above 40 in this place."""


_THIN_64: Final = (b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf")
_THIN: Final = (b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xce", *_THIN_64)
_FAT: Final = {b"\xca\xfe\xba\xbe": 20, b"\xca\xfe\xba\xbf": 32}
"""Maps the first bytes of universal files to the size of an entry of their table."""

_IMAGES: Final = frozenset({2, 4, 5, 6, 7, 8, 11})
"""File types that a system runs or loads: programs, libraries, loaders, bundles, extensions."""


def is_macho(content: bytes) -> bool:
    """Whether the file begins like a Mach-O file. False for a Java class, which has the same first
    bytes."""
    head = content[:4]
    return head in _THIN or bool(_slices(content))


def _slices(content: bytes) -> list[int]:
    """Returns the offsets of the architectures of a universal file; none for others."""
    step = _FAT.get(content[:4])
    count = int.from_bytes(content[4:8], "big")
    if step is None or not 0 < count < min(UNIVERSAL_SLICES_MAX, 40):
        return []
    size, at = (8, 8) if step == 32 else (4, 8)
    starts = range(8 + at, 8 + at + count * step, step)
    return [int.from_bytes(content[start : start + size], "big") for start in starts]


def _header(content: bytes, offset: int) -> tuple[bool, bool]:
    """Returns (whether the architecture at an offset is 64-bit, whether it is an image)."""
    head = content[offset : offset + 16]
    if head[:4] not in _THIN:
        return False, False
    order = "big" if head[:2] == b"\xfe\xed" else "little"
    kind = int.from_bytes(head[12:16], order)  # type: ignore[arg-type]
    return head[:4] in _THIN_64, kind in _IMAGES


def read_macho(content: bytes, problems: Problems) -> FileFacts:
    """Returns the facts of a Mach-O file. A universal file is 64-bit if any architecture is; its
    other facts are those of the first architecture."""
    headers = [_header(content, offset) for offset in _slices(content) or [0]]
    is_64bit = any(is_64bit for is_64bit, _ in headers)
    is_image = any(is_image for _, is_image in headers)
    parsed: Any = lief.MachO.parse(content, lief.MachO.ParserConfig.quick)
    if parsed is None or not parsed.size:
        problems.add("macho", "no valid load commands")
        return FileFacts("macho", is_image, is_64bit, problems=problems.found)
    image = parsed.at(0)
    return FileFacts(
        "macho",
        is_executable_image=is_image,
        is_64bit=is_64bit,
        sections=entropies(image.sections, problems),
        build_id=bytes(image.uuid.uuid).hex() if image.has_uuid else "",
        interpreter=clean_text(image.dylinker.name) if image.has_dylinker else "",
        problems=problems.found,
    )

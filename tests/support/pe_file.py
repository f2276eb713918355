"""Small PE files of our own making, with a version resource and an icon."""

import struct
from collections.abc import Mapping
from typing import Final

VERSION: Final = {
    "CompanyName": "Example Works",
    "FileDescription": "Counts sheep",
    "FileVersion": "1.2.3.4",
    "InternalName": "sheep",
    "LegalCopyright": "(c) Example Works",
    "LegalTrademarks": "Sheep (tm)",
    "OriginalFilename": "sheep.exe",
    "ProductName": "Sleep Suite",
    "ProductVersion": "9.8",
    "PrivateBuild": "by hand",
    "SpecialBuild": "for tests",
    "Comments": "baa",
}
_SECTION_ALIGN: Final = 0x1000
_FILE_ALIGN: Final = 0x200


def pe_file(
    version: Mapping[str, str] | None = VERSION,
    icon: bytes = b"",
    *,
    is_64bit: bool = True,
    padding: int = 0,
) -> bytes:
    """A program that does nothing; `icon` is the data of one image, as in an .ico file;
    `padding` bytes of code make it larger."""
    code = b"\xc3" + bytes(range(256)) * (padding // 256)
    leaves: list[tuple[int, int, bytes]] = []
    if icon:
        leaves.append((3, 1, icon))
        leaves.append((14, 1, _icon_group(icon)))
    if version is not None:
        leaves.append((16, 1, version_resource(version)))
    text_size = _up(len(code), _SECTION_ALIGN)
    resources = _resources(leaves, 0x1000 + text_size)
    sections = [(b".text", code, 0x60000020), (b".rsrc", resources, 0x40000040)]
    return _image(sections, is_64bit=is_64bit)


def icon_image(width: int, height: int) -> bytes:
    """An image of 32 bits a pixel as icons hold it: red, opaque. The header may lie about it."""
    drawn = min(width, 256), min(height, 256)
    head = struct.pack("<IiiHHIIiiII", 40, width, height * 2, 1, 32, 0, 0, 0, 0, 0, 0)
    mask = bytes((drawn[0] + 31) // 32 * 4 * drawn[1])
    return head + b"\x00\x00\xff\xff" * (drawn[0] * drawn[1]) + mask


def version_resource(values: Mapping[str, str]) -> bytes:
    """VS_VERSIONINFO with one table of strings."""
    strings = b""
    for name, value in values.items():
        strings = _pad4(strings) + _block(name, (value + "\0").encode("utf-16-le"), is_text=True)
    table = _block("040904b0", b"", strings, is_text=True)
    info = _block("StringFileInfo", b"", table, is_text=True)
    numbers = (0xFEEF04BD, 0x10000, 0x10002, 0x30004, 0x90008, 0, 0x3F, 0, 0x40004, 1, 0, 0, 0)
    return _block("VS_VERSION_INFO", struct.pack("<13I", *numbers), info)


def _block(key: str, value: bytes, children: bytes = b"", *, is_text: bool = False) -> bytes:
    head = _pad4(bytes(6) + (key + "\0").encode("utf-16-le"))
    whole = _pad4(head + value) + children if children else head + value
    length = len(value) // 2 if is_text else len(value)
    return struct.pack("<HHH", len(whole), length, int(is_text)) + whole[6:]


def _icon_group(icon: bytes) -> bytes:
    width, height = struct.unpack_from("<ii", icon, 4)
    entry = struct.pack("<BBBBHHIH", width % 256, height // 2 % 256, 0, 0, 1, 32, len(icon), 1)
    return struct.pack("<HHH", 0, 1, 1) + entry


def _resources(leaves: list[tuple[int, int, bytes]], rva: int) -> bytes:
    """A tree of three levels: type, name, language."""
    size = 16 + 8 * len(leaves) + len(leaves) * (24 + 24 + 16)
    root = struct.pack("<IIHHHH", 0, 0, 0, 0, 0, len(leaves))
    tree, entries, data = b"", b"", b""
    at = 16 + 8 * len(leaves)
    for kind, number, content in leaves:
        root += struct.pack("<II", kind, 0x80000000 | at)
        name = struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, number, 0x80000000 | (at + 24))
        language = struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, 1033, at + 48)
        entry = struct.pack("<IIII", rva + size + len(data), len(content), 0, 0)
        tree += name + language + entry
        at += 64
        data += _pad4(content)
    return root + tree + entries + data


def _image(sections: list[tuple[bytes, bytes, int]], *, is_64bit: bool) -> bytes:
    optional = 240 if is_64bit else 224
    head_size = _up(64 + 24 + optional + 40 * len(sections), _FILE_ALIGN)
    rva, at, table, body, rsrc = _SECTION_ALIGN, head_size, b"", b"", (0, 0)
    for name, content, flags in sections:
        raw = content.ljust(_up(len(content), _FILE_ALIGN), b"\0")
        table += struct.pack(
            "<8sIIIIIIHHI", name, len(content), rva, len(raw), at, 0, 0, 0, 0, flags
        )
        if name == b".rsrc":
            rsrc = rva, len(content)
        body += raw
        at, rva = at + len(raw), rva + _up(len(content), _SECTION_ALIGN)
    machine, magic = (0x8664, 0x20B) if is_64bit else (0x14C, 0x10B)
    flags = 0x22 if is_64bit else 0x102
    coff = struct.pack("<HHIIIHH", machine, len(sections), 0, 0, 0, optional, flags)
    head = struct.pack("<HBBIIIII", magic, 14, 0, 0x200, 0x200, 0, 0x1000, 0x1000)
    head += struct.pack("<Q", 0x140000000) if is_64bit else struct.pack("<II", 0x2000, 0x400000)
    head += struct.pack(
        "<IIHHHHHHIIIIHH", 0x1000, 0x200, 6, 0, 0, 0, 6, 0, 0, rva, head_size, 0, 3, 0
    )
    word = "<QQQQII" if is_64bit else "<IIIIII"
    head += struct.pack(word, 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
    directories = [(0, 0)] * 16
    directories[2] = rsrc
    head += b"".join(struct.pack("<II", *one) for one in directories)
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    return (dos + b"PE\0\0" + coff + head + table).ljust(head_size, b"\0") + body


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _pad4(content: bytes) -> bytes:
    return content.ljust(_up(len(content), 4), b"\0")

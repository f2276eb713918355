"""Programs of the formats that the reader knows, and damaged ones."""

import random
import shutil
import struct
from pathlib import Path

from tests.support.code_signing import CODE_SIGNING, identity, signed
from tests.support.pe_file import icon_image, pe_file

SYSTEM_PROGRAM = Path("/bin/true")


def universal(*slices: bytes) -> bytes:
    """A universal Mach-O file of these architectures."""
    head, body, at = struct.pack(">II", 0xCAFEBABE, len(slices)), b"", 4_096
    for content in slices:
        head += struct.pack(">iIIII", 0x01000007, 3, at, len(content), 12)
        body += content.ljust(4_096, b"\0")
        at += 4_096
    return head.ljust(4_096, b"\0") + body


def macho(*, is_64bit: bool = True, kind: int = 2) -> bytes:
    """A Mach-O file with a UUID and a segment without sections; `kind` 2 is a program."""
    uuid = struct.pack("<II", 0x1B, 24) + bytes(range(16))
    loader = struct.pack("<III", 0xE, 28, 12) + b"/usr/lib/dyld\0\0\0"
    magic, machine = (0xFEEDFACF, 0x01000007) if is_64bit else (0xFEEDFACE, 7)
    head = struct.pack("<IiIIIII", magic, machine, 3, kind, 2, len(uuid + loader), 0)
    return head + (bytes(4) if is_64bit else b"") + uuid + loader


def samples(folder: Path) -> list[bytes]:
    """One of each format; the PE file is signed where that can be done."""
    program = pe_file(icon=icon_image(16, 16))
    if shutil.which("osslsigncode"):
        program = signed(folder, program, identity(folder, "one", usage=CODE_SIGNING))
    return [
        program,
        pe_file(is_64bit=False),
        SYSTEM_PROGRAM.read_bytes(),
        macho(),
        universal(macho(is_64bit=False), macho()),
    ]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with some bytes changed, more often near headers, sometimes cut or repeated."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 2, 8, 64))):
        reach = min(len(made), chance.choice((64, 1_024, len(made))))
        at = chance.randrange(reach) if reach else 0
        made[at : at + 1] = bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))])
    if chance.random() < 0.1:
        del made[chance.randrange(len(made)) :]
    if chance.random() < 0.05:
        at = chance.randrange(len(made) + 1)
        made[at:at] = made[at : at + 4_096]
    return bytes(made)

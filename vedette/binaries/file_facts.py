"""What the bytes of a program say, as values that cross from the reading process to the server."""

from typing import Final, Literal

import msgspec

from vedette.binaries.yara_result import YaraResult
from vedette.limits import FILE_PROBLEMS_MAX, FILE_TEXT_CHARS_MAX

READER_VERSION: Final = 1
"""Grows when the reader learns to read more; files that an older one read are read again."""

ImageFormat = Literal["pe", "elf", "macho", "other"]


class Signature(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a signature in a file is worth. Times in epoch microseconds, 0 unknown."""

    result: str = ""
    """One of `model.field.SIGN_RESULTS`; "" where it cannot be judged."""
    result_code: str = ""
    """The code of Windows for that result, decimal."""
    publisher: str = ""
    issuer: str = ""
    subject: str = ""
    prog_name: str = ""
    sign_time_us: int = 0
    """When it was signed: as a trusted countersignature says, else as the signer says."""
    countersign_time_us: int = 0
    """When a trusted countersignature was made."""


class SectionEntropy(msgspec.Struct, frozen=True):
    """How random the bytes of a section are: 0 to 8 bits a byte."""

    name: str
    bits: float


class FileFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What could be read of one file."""

    format: ImageFormat = "other"
    is_executable_image: bool = False
    """Whether a system can run or load it: programs, libraries and drivers, not object files."""
    is_64bit: bool = False
    version: dict[str, str] = {}
    """Texts of a version resource by column of a binary (`model/columns.py`)."""
    signature: Signature = Signature()
    imphash: str = ""
    sections: list[SectionEntropy] = []
    build_id: str = ""
    """Of an ELF file, hexadecimal; the UUID of a Mach-O file."""
    interpreter: str = ""
    """The program that loads an ELF file, or a Mach-O one."""
    yara: YaraResult = YaraResult()
    icon: bytes = b""
    """The largest icon as PNG."""
    problems: list[str] = []
    """What could not be read, with the reason."""


class Problems:
    """Collects reasons while a file is read; never raises."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str, why: object) -> None:
        if len(self.found) < FILE_PROBLEMS_MAX:
            self.found.append(clean_text(f"{what}: {why}"))


def clean_text(value: object) -> str:
    """Text of a file without control characters and surrogates, of bounded length."""
    if not isinstance(value, str):
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    printable = (char for char in value[: 2 * FILE_TEXT_CHARS_MAX] if char.isprintable())
    return "".join(printable).strip()[:FILE_TEXT_CHARS_MAX]

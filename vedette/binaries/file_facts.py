"""Facts from the bytes of a program, as values that the reading process sends to the server."""

from typing import Final, Literal

import msgspec

from vedette.binaries.yara_result import YaraResult
from vedette.limits import Limit

FILE_TEXT_CHARS_MAX: Limit[int] = 512
"""Characters of one text read from a file; real version resources have under 200."""

FILE_PROBLEMS_MAX: Limit[int] = 8
"""Reasons stored for parts of one file that could not be read."""


READER_VERSION: Final = 1
"""Incremented when the reader learns to read more; files read by an older version are read
again."""

ImageFormat = Literal["pe", "elf", "macho", "other"]


class Signature(msgspec.Struct, frozen=True, omit_defaults=True):
    """The judged signature of a file. Times in epoch microseconds, 0 if unknown."""

    result: str = ""
    """One of `model.field.SIGN_RESULTS`; "" if the signature cannot be judged."""
    result_code: str = ""
    """The Windows code for that result, decimal."""
    publisher: str = ""
    issuer: str = ""
    subject: str = ""
    prog_name: str = ""
    sign_time_us: int = 0
    """Signing time: from a trusted countersignature, else as claimed by the signer."""
    countersign_time_us: int = 0
    """Time of a trusted countersignature."""


class SectionEntropy(msgspec.Struct, frozen=True):
    """Entropy of the bytes of a section: 0 to 8 bits per byte."""

    name: str
    bits: float


class FileFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts that could be read from one file."""

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
    """Build id of an ELF file, hexadecimal; UUID of a Mach-O file."""
    interpreter: str = ""
    """The program that loads an ELF or Mach-O file."""
    yara: YaraResult = YaraResult()
    icon: bytes = b""
    """The largest icon as PNG."""
    problems: list[str] = []
    """Parts that could not be read, with the reason."""


class Problems:
    """Collects reasons while a file is read; never raises."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str, why: object) -> None:
        if len(self.found) < FILE_PROBLEMS_MAX:
            self.found.append(clean_text(f"{what}: {why}"))


def clean_text(value: object) -> str:
    """Returns a text of a file without control characters and surrogates, with bounded length."""
    if not isinstance(value, str):
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    printable = (char for char in value[: 2 * FILE_TEXT_CHARS_MAX] if char.isprintable())
    return "".join(printable).strip()[:FILE_TEXT_CHARS_MAX]

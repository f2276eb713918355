"""Reads one file: detects its format and reads its facts. Runs in the reading process."""

from vedette.binaries.elf_image import read_elf
from vedette.binaries.file_facts import FileFacts, Problems
from vedette.binaries.macho_image import is_macho, read_macho
from vedette.binaries.pe_image import read_pe
from vedette.binaries.trust_store import TrustStore


def read_file(content: bytes, is_whole: bool, trust: TrustStore) -> FileFacts:
    """Returns the facts of a file; `is_whole` is False for the beginning of a larger file.

    Exceptions that a library raises for a broken file become problems of that file.
    """
    problems = Problems()
    try:
        if content[:2] == b"MZ":
            return read_pe(content, is_whole, trust, problems)
        if content[:4] == b"\x7fELF":
            return read_elf(content, problems)
        if is_macho(content):
            return read_macho(content, problems)
    except Exception as error:  # noqa: BLE001 - the file decides what goes wrong
        problems.add("file", repr(error))
        return FileFacts(problems=problems.found)
    return FileFacts(problems=["file: neither a PE, an ELF nor a Mach-O file"])

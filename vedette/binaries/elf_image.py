"""Reads the headers of ELF files."""

from typing import Any

import lief

from vedette.binaries.file_facts import FileFacts, Problems, clean_text
from vedette.binaries.section_entropy import entropies


def _config() -> Any:
    config = lief.ELF.ParserConfig()
    config.parse_relocations = False
    config.parse_dyn_symbols = False
    config.parse_symtab_symbols = False
    config.parse_symbol_versions = False
    config.parse_overlay = False
    return config


def read_elf(content: bytes, problems: Problems) -> FileFacts:
    """Returns the facts of an ELF file; only those of the header if the rest is broken."""
    is_64bit = content[4:5] == b"\x02"
    order = "big" if content[5:6] == b"\x02" else "little"
    kind = int.from_bytes(content[16:18], order)  # type: ignore[arg-type]
    is_image = kind in {2, 3}
    image: Any = lief.ELF.parse(content, _config())
    if image is None:
        problems.add("elf", "no valid headers")
        return FileFacts("elf", is_image, is_64bit, problems=problems.found)
    return FileFacts(
        "elf",
        is_executable_image=is_image,
        is_64bit=is_64bit,
        sections=entropies(image.sections, problems),
        build_id=_build_id(image, problems),
        interpreter=clean_text(image.interpreter) if image.has_interpreter else "",
        problems=problems.found,
    )


def _build_id(image: Any, problems: Problems) -> str:
    try:
        for note in image.notes:
            if note.type == lief.ELF.Note.TYPE.GNU_BUILD_ID:
                return bytes(note.description)[:64].hex()
    except Exception as error:  # noqa: BLE001
        problems.add("notes", repr(error))
    return ""

"""Reads PE files: headers, version resource, icon, imphash, entropy, signature."""

from typing import Any, Final

import lief

from vedette.binaries.file_facts import FileFacts, Problems, Signature, clean_text
from vedette.binaries.icon_image import largest_icon
from vedette.binaries.pe_signature import read_signature
from vedette.binaries.section_entropy import entropies
from vedette.binaries.trust_store import TrustStore

_VERSION_COLUMNS: Final = {
    "companyname": "company_name",
    "filedescription": "file_desc",
    "fileversion": "file_version",
    "internalname": "internal_name",
    "legalcopyright": "legal_copyright",
    "legaltrademarks": "legal_trademark",
    "originalfilename": "original_filename",
    "productname": "product_name",
    "productversion": "product_version",
    "privatebuild": "private_build",
    "specialbuild": "special_build",
    "comments": "comments",
}
"""Maps lower-case names of version resources to the columns of a binary."""


def read_pe(content: bytes, is_whole: bool, trust: TrustStore, problems: Problems) -> FileFacts:
    """Returns the facts of a PE file; for a DOS program or a broken file only the problem."""
    image: Any = lief.PE.parse(content, _config())
    if image is None:
        problems.add("pe", "no valid headers")
        return FileFacts("pe", problems=problems.found)
    resources = _resources(image, problems)
    if is_whole:
        _check_length(image, len(content), problems)
        signature = read_signature(content, trust, problems)
    else:
        problems.add("signature", "only the beginning of the file is stored")
        signature = Signature()
    return FileFacts(
        "pe",
        is_executable_image=bool(int(image.header.characteristics) & 0x2),
        is_64bit=image.optional_header.magic == lief.PE.PE_TYPE.PE32_PLUS,
        version=_version(resources, problems) if resources else {},
        signature=signature,
        imphash=_imphash(image, problems),
        sections=entropies(image.sections, problems),
        icon=largest_icon(resources, problems) if resources else b"",
        problems=problems.found,
    )


def _check_length(image: Any, size: int, problems: Problems) -> None:
    """Notes missing data of a file that was truncated before it was sent."""
    declared, found = image.header.numberof_sections, len(image.sections)
    if found < declared:
        problems.add("pe", f"{found} of {declared} sections")
    ends = [one.pointerto_raw_data + one.sizeof_raw_data for one in image.sections]
    if max(ends, default=0) > size:
        problems.add("pe", f"{size} of {max(ends)} bytes")


def _config() -> Any:
    config = lief.PE.ParserConfig()
    config.parse_signature = False
    config.parse_reloc = False
    config.parse_exports = False
    config.parse_exceptions = False
    return config


def _resources(image: Any, problems: Problems) -> Any:
    try:
        return image.resources_manager if image.has_resources else None
    except Exception as error:  # noqa: BLE001 - the file decides what goes wrong
        problems.add("resources", repr(error))
        return None


def _version(resources: Any, problems: Problems) -> dict[str, str]:
    """Returns the texts of the first version resource that has any."""
    found: dict[str, str] = {}
    try:
        for version in resources.version if resources.has_version else ():
            for table in version.string_file_info.children if version.string_file_info else ():
                for entry in table.entries:
                    column = _VERSION_COLUMNS.get(entry.key.lower())
                    text = clean_text(entry.value)
                    if column and text:
                        found.setdefault(column, text)
            if found:
                break
    except Exception as error:  # noqa: BLE001
        problems.add("version resource", repr(error))
    return found


def _imphash(image: Any, problems: Problems) -> str:
    """Returns the hash of the imported functions as other tools compute it; "" without imports."""
    try:
        if not image.has_imports:
            return ""
        return str(lief.PE.get_imphash(image, lief.PE.IMPHASH_MODE.PEFILE))
    except Exception as error:  # noqa: BLE001
        problems.add("imports", repr(error))
        return ""

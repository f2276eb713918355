"""Data read from the bytes of programs, compared with the output of other tools."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.pe_file import VERSION, icon_image, pe_file
from tests.support.program_files import SYSTEM_PROGRAM, macho, universal
from tests.unit.binaries.conftest import Read


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("is_64bit", [True, False])
def test_a_pe_file_has_its_version_resource_and_width(read: Read, is_64bit: bool) -> None:
    facts = read(pe_file(is_64bit=is_64bit))
    assert (facts.format, facts.is_executable_image, facts.is_64bit) == ("pe", True, is_64bit)
    assert sorted(facts.version.values()) == sorted(VERSION.values())
    assert facts.version["legal_trademark"] == VERSION["LegalTrademarks"]
    assert facts.version["original_filename"] == "sheep.exe"
    assert facts.signature.result == "Unsigned"
    assert facts.problems == []


def test_texts_of_a_version_resource_lose_what_cannot_be_shown(read: Read) -> None:
    hostile = {"ProductName": "a\x00\x1b[2J\u202eb", "CompanyName": "x" * 10_000, "Comments": "\n"}
    version = read(pe_file(hostile)).version
    assert version["product_name"] == "a" or version["product_name"] == "a[2Jb"
    assert len(version["company_name"]) == 512
    assert "comments" not in version


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
@pytest.mark.parametrize("path", [SYSTEM_PROGRAM, Path("/bin/sh")])
def test_an_elf_file_is_what_readelf_says(read: Read, path: Path) -> None:
    said = subprocess.run(
        ["readelf", "-hln", path], capture_output=True, text=True, check=True
    ).stdout
    facts = read(path.read_bytes())
    assert (facts.format, facts.is_executable_image) == ("elf", True)
    assert facts.is_64bit is ("ELF64" in said)
    assert f"[Requesting program interpreter: {facts.interpreter}]" in said
    assert facts.build_id == "" or f"Build ID: {facts.build_id}" in said
    assert (facts.build_id == "") is ("Build ID:" not in said)
    assert 5 < next(one.bits for one in facts.sections if one.name == ".text") < 8


def test_an_object_file_is_no_image(read: Read) -> None:
    content = bytearray(SYSTEM_PROGRAM.read_bytes())
    content[16:18] = b"\x01\x00"
    assert not read(bytes(content)).is_executable_image


@pytest.mark.parametrize(
    ("slices", "is_64bit"),
    [
        ([macho(is_64bit=False)], False),
        ([macho(is_64bit=False), macho()], True),
        ([macho(), macho(is_64bit=False)], True),
    ],
)
def test_a_universal_file_is_64_bit_when_one_architecture_is(
    read: Read, slices: list[bytes], is_64bit: bool
) -> None:
    facts = read(universal(*slices))
    assert (facts.format, facts.is_executable_image, facts.is_64bit) == ("macho", True, is_64bit)
    assert facts.build_id == bytes(range(16)).hex()


@pytest.mark.parametrize(("kind", "is_image"), [(1, False), (2, True), (6, True)])
def test_a_mach_o_object_is_no_image(read: Read, kind: int, is_image: bool) -> None:
    assert read(macho(kind=kind)).is_executable_image is is_image


def test_a_java_class_is_no_universal_file(read: Read) -> None:
    assert read(b"\xca\xfe\xba\xbe\x00\x00\x00\x34" + bytes(500)).format == "other"


def test_an_icon_is_drawn_as_png(read: Read, tmp_path: Path) -> None:
    facts = read(pe_file(icon=icon_image(32, 32)))
    assert facts.icon.startswith(b"\x89PNG\r\n\x1a\n")
    if shutil.which("wrestool") is None or shutil.which("icotool") is None:
        pytest.skip("icoutils are not installed")
    program, icon = tmp_path / "a.exe", tmp_path / "a.ico"
    program.write_bytes(pe_file(icon=icon_image(32, 32)))
    subprocess.run(["wrestool", "-x", "-t14", "-o", icon, program], check=True)
    listed = subprocess.run(
        ["icotool", "-l", icon], capture_output=True, text=True, check=True
    ).stdout
    assert "--width=32 --height=32" in listed
    assert facts.icon[16:24] == bytes([0, 0, 0, 32, 0, 0, 0, 32])


@pytest.mark.parametrize("size", [(30_000, 30_000), (1, 20_000_000), (2**31 - 2, 1)])
def test_an_icon_that_is_too_large_is_a_problem_and_not_drawn(
    read: Read, size: tuple[int, int]
) -> None:
    icon = bytearray(icon_image(16, 16))
    icon[4:12] = size[0].to_bytes(4, "little") + size[1].to_bytes(4, "little")
    facts = read(pe_file(icon=bytes(icon)))
    assert facts.icon == b""
    assert any("icon" in one for one in facts.problems)
    assert facts.version["product_name"] == "Sleep Suite"


@pytest.mark.parametrize(
    "content",
    [b"", b"MZ", b"MZ" + bytes(10_000), b"\x7fELF", b"PK\x03\x04" + bytes(100), pe_file()[:300]],
    ids=["empty", "two bytes", "zeros", "elf", "zip", "cut"],
)
def test_what_is_no_program_has_a_reason(read: Read, content: bytes) -> None:
    assert read(content).problems


def test_of_a_beginning_the_headers_are_read_and_the_signature_is_not_judged(read: Read) -> None:
    facts = read(pe_file(padding=100_000)[:50_000], is_whole=False)
    assert facts.is_64bit
    assert facts.signature.result == ""
    assert "signature: only the beginning of the file is stored" in facts.problems

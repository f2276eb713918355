"""Finding files in directories and archives: what is refused, and that the rest is read."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from vedette.importer.sources import byte_streams
from vedette.importer.sources.archives import Kind, Refusal, kind_of, walk

LINE = b'{"a":1}\n'


def found(path: Path) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """Names (after the path) and contents of the files, and what was refused why."""
    refused: list[Refusal] = []
    contents = {
        one.name.removeprefix(str(path)): one.stream.read() for one in walk(path, refused.append)
    }
    return contents, [(one.name.removeprefix(str(path)), one.reason) for one in refused]


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], *others: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for other in others:
            archive.addfile(other)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", Kind.EMPTY),
        (b"ElfFile\0\0", Kind.EVTX),
        (b"PK\x03\x04", Kind.ZIP),
        (b"\x1f\x8b\x08", Kind.GZIP),
        (b' \n{"a":1}', Kind.TEXT),
        (b"[1]", Kind.TEXT),
        (b"<?xml?>", Kind.TEXT),
        (b"\xff\xfe{\0", Kind.TEXT),
        (b"type=EXECVE msg=audit(1.0:2): argc=1", Kind.TEXT),
        (b'# a comment\nNov 1 h laurel: {"ID":1}', Kind.TEXT),
        (b"id: 7\ntitle: x", Kind.UNKNOWN),
        (b"\x7fELF\0\0", Kind.UNKNOWN),
        (b"MZ\x90\0", Kind.UNKNOWN),
    ],
)
def test_the_first_bytes_decide_the_kind(head: bytes, kind: Kind) -> None:
    assert kind_of(head) is kind


@pytest.mark.parametrize(
    "content",
    [
        LINE,
        gzip.compress(LINE, mtime=0),
        gzip.compress(LINE[:3], mtime=0) + gzip.compress(LINE[3:], mtime=0),
        gzip.compress(LINE, mtime=0) + b"\nrubbish after the end",
        zstandard.ZstdCompressor().compress(LINE),
    ],
)
def test_a_file_is_read_plain_or_compressed(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(content)
    assert found(path) == ({"": LINE}, [])


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (zipped({"b.json": LINE, "d/a.json": LINE}), ["!b.json", "!d/a.json"]),
        (tarred({"b.json": LINE, "a.json": LINE}), ["!b.json", "!a.json"]),
        (gzip.compress(tarred({"a.json": LINE}), mtime=0), ["!a.json"]),
        (zipped({"in.tgz": gzip.compress(tarred({"a": LINE}), mtime=0)}), ["!in.tgz!a"]),
        (tarred({"in.zip": zipped({"a": LINE})}), ["!in.zip!a"]),
    ],
)
def test_members_of_archives_are_read(content: bytes, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(content)
    assert found(path) == (dict.fromkeys(names, LINE), [])


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "C:\\x", "..\\x"])
def test_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    for content in (zipped({name: LINE, "good": LINE}), tarred({name: LINE, "good": LINE})):
        path = tmp_path / "archive"
        path.write_bytes(content)
        contents, refused = found(path)
        assert contents == {"!good": LINE}
        assert [reason for _, reason in refused] == ["outside"]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "archive"]


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    link, device = tarfile.TarInfo("link"), tarfile.TarInfo("device")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device.type = tarfile.CHRTYPE
    path = tmp_path / "archive"
    path.write_bytes(tarred({"good": LINE}, link, device))
    assert found(path) == ({"!good": LINE}, [("!link", "link"), ("!device", "link")])


def test_directories_are_walked_by_name_without_their_links(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b").write_bytes(LINE)
    (tmp_path / "a").write_bytes(LINE)
    (tmp_path / "c").symlink_to(tmp_path / "a")
    contents, refused = found(tmp_path)
    assert list(contents) == ["/a", "/d/b"]
    assert refused == [("/c", "link")]


def test_a_bomb_is_refused_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_streams, "ARCHIVE_INFLATED_BYTES_MIN", 1_000_000)
    (tmp_path / "a.zip").write_bytes(zipped({"bomb": b"{" + b" " * 300_000_000, "z": LINE}))
    (tmp_path / "b.json").write_bytes(LINE)
    refused: list[Refusal] = []
    names: list[str] = []
    files = walk(tmp_path, refused.append)
    one = next(files, None)
    while one is not None:
        try:
            while one.stream.read(1_000_000):
                pass
        except byte_streams.BombError as error:
            one = files.throw(error)
            continue
        names.append(Path(one.name).name)
        one = next(files, None)
    assert names == ["b.json"]
    assert [(Path(r.name).name, r.reason) for r in refused] == [("a.zip", "bomb")]


def test_archives_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    content = LINE
    for _ in range(4):
        content = zipped({"in": content})
    path = tmp_path / "archive"
    path.write_bytes(content)
    contents, refused = found(path)
    assert contents == {}
    assert [reason for _, reason in refused] == ["too_deep"]


@pytest.mark.parametrize(
    "content",
    [zipped({"a": LINE})[:-30], gzip.compress(LINE, mtime=0)[:2], b"PK\x03\x04rubbish"],
    ids=["zip cut short", "gzip cut short", "rubbish behind a zip's mark"],
)
def test_damaged_archives_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(content)
    _, refused = found(path)
    assert [reason for _, reason in refused] == ["damaged"]


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"a": LINE}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + at] |= 1
    path = tmp_path / "archive"
    path.write_bytes(content)
    assert [reason for _, reason in found(path)[1]] == ["damaged"]

"""Finding files in directories and archives: what is refused, and that the rest is read."""

import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.unlisted_folder import too_deep
from vedette.importer.file_sequence import Sequence
from vedette.importer.sources import byte_streams
from vedette.importer.sources.archives import Kind, Refusal, kind_of, walk

LINE = b'{"a":1}\n'
RECORD = (
    b'{"Event":{"System":{"EventID":5,"Computer":"desk-1","Channel":"x","TimeCreated":'
    b'{"#attributes":{"SystemTime":"2026-11-01T10:00:00Z"}}},"EventData":{}}}\n'
)


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


def test_every_file_on_disk_is_read_or_refused(tmp_path: Path) -> None:
    """Also two empty files of one name, an archive without files, links to folders, and a folder
    that the system cannot list."""
    folder = tmp_path / "logs"
    files = {
        "a/good.json": RECORD,
        "a/empty.json": b"",
        "b/empty.json": b"",
        "b/none.zip": zipped({}),
        "b/two.zip": zipped({"one.json": RECORD, "two.json": b""}),
        "c/text.txt": b"plain words",
        "c/brackets.json": b"[]",
        "c/cut.gz": gzip.compress(RECORD)[:-9],
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "d").symlink_to(folder / "a")
    unlisted = too_deep(folder)
    with Sequence(folder) as sequence:
        assert sequence.on_disk == len(files) + 1
        places = [*sequence.files, *(refusal.name for refusal in sequence.refusals)]
        disk = {name.partition("!")[0] for name in places}
        reasons = {(one.name.removeprefix(f"{folder}/"), one.reason) for one in sequence.refusals}
    not_listed = {name for name in disk if name.startswith(str(unlisted))}
    assert len(not_listed) == 1
    assert disk - not_listed == {str(folder / name) for name in (*files, "d")}
    assert {one for one in reasons if not one[0].startswith("nnn")} == {
        ("a/empty.json", "empty"),
        ("b/empty.json", "empty"),
        ("b/none.zip", "no_records"),
        ("b/two.zip!two.json", "empty"),
        ("c/text.txt", "unknown_kind"),
        ("c/cut.gz", "damaged"),
        ("d", "link"),
    }
    assert {reason for name, reason in reasons if name.startswith("nnn")} == {"unreadable"}


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


def shortened(whole: bytes, count: int) -> list[bytes]:
    """The first bytes of a file, up to `count` different lengths."""
    return [whole[:length] for length in range(1, len(whole), max(1, len(whole) // count))]


@pytest.mark.parametrize("level", [1, 19])
@pytest.mark.parametrize("checksum", [False, True])
def test_a_zstd_file_that_is_cut_short_is_refused(
    level: int, checksum: bool, tmp_path: Path
) -> None:
    noise = random.Random(level).randbytes(300_000)
    content = b'{"a":"' + noise.hex().encode() + b'"}\n' + b" " * 400_000 + LINE
    pack = zstandard.ZstdCompressor(level, write_checksum=checksum).compress
    skipped = b"\x50\x2a\x4d\x18" + (9).to_bytes(4, "little") + b"s" * 9
    whole = pack(LINE) + skipped + pack(content) + pack(b"")
    path = tmp_path / "log.zst"
    path.write_bytes(whole)
    assert found(path) == ({"": LINE + content}, [])
    ends = {len(pack(LINE)), len(pack(LINE) + skipped), len(pack(LINE) + skipped + pack(content))}
    for part in shortened(whole, 200):
        path.write_bytes(part)
        with Sequence(path) as sequence:
            reasons = {(one.reason, one.message) for one in sequence.refusals}
        cut = ("damaged", "the zstd stream is cut short")
        assert (cut in reasons) is (len(part) not in ends and len(part) >= 4), len(part)
        assert reasons or len(part) in ends


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["tar", "tar.gz"])
def test_a_tar_that_is_cut_short_is_refused(pack: Any, tmp_path: Path) -> None:
    whole = tarred({"a.json": RECORD, "b.json": RECORD * 9})
    end = 512 * 2 + 512 + 512 * -(-len(RECORD * 9) // 512)
    path = tmp_path / "logs"
    for length in (*range(512, end, 128), end):
        path.write_bytes(pack(whole[:length]))
        with Sequence(path) as sequence:
            assert "damaged" in {one.reason for one in sequence.refusals}, length
    path.write_bytes(pack(whole[: end + 512]))
    with Sequence(path) as sequence:
        assert (sequence.refusals, len(sequence.files)) == ([], 2)


def test_a_damaged_head_in_a_tar_does_not_end_it_silently(tmp_path: Path) -> None:
    whole = bytearray(tarred({"a.json": RECORD, "b.json": RECORD}))
    whole[1_024 + 148] ^= 1  # the checksum of the second head
    (tmp_path / "logs.tar").write_bytes(whole)
    with Sequence(tmp_path / "logs.tar") as sequence:
        assert [one.reason for one in sequence.refusals] == ["damaged"]
        assert len(sequence.files) == 1


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"a": LINE}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(mark) + at] |= 1
    path = tmp_path / "archive"
    path.write_bytes(content)
    assert [reason for _, reason in found(path)[1]] == ["damaged"]

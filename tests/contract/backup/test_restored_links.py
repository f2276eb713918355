"""A backup that another party wrote: its paths and links stay within the restored directory."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from vedette.backup.repository import Manifest, Progress, Repository, StoredFile, StoredLink
from vedette.blobs.blob_store import BlobKey
from vedette.blobs.local_directory import LocalDirectory
from vedette.errors import BadRequestError, UnavailableError

CONTENT = b"written by the backup"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def file_at(path: str) -> StoredFile:
    return StoredFile(path, 0o6777, len(CONTENT), 0, SHA256, SHA256)


def made(
    blobs: LocalDirectory,
    files: Iterable[str] = (),
    links: Iterable[tuple[str, str]] = (),
    folders: Iterable[str] = (),
) -> str:
    """Id of a backup with this list, which the server itself would not write."""
    manifest = Manifest(
        version=1,
        made_us=1,
        server_version="0",
        files=[file_at(path) for path in files],
        links=[StoredLink(*link) for link in links],
        folders=list(folders),
    )
    content = msgspec.json.encode(manifest)
    envelope = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "is_encrypted": False,
        "content": content,
    }
    stored = msgspec.msgpack.encode(envelope)
    backup_id = hashlib.sha256(stored).hexdigest()
    blobs.put(BlobKey("backups", SHA256), (CONTENT,))
    blobs.put(BlobKey("backup_lists", backup_id), (stored,))
    return backup_id


def ignore(_done: Progress) -> None:
    return


OUTWARDS: tuple[tuple[list[str], list[tuple[str, str]], list[str]], ...] = (
    # A link to its own folder makes the depth of the second link look greater than it is.
    (["up/written"], [("d", "."), ("d/d/up", "../..")], []),
    (["a/up/written"], [("a/here", "."), ("a/here/here/up", "../../..")], ["a"]),
    (["one/written"], [("two", "sub/.."), ("one", "two/..")], ["sub"]),
    (["up/written"], [("up", "..")], []),
    (["up/written"], [("up", "/")], []),
    (["up/written"], [("up", "a/../../..")], ["a"]),
    ([], [("chain", "other"), ("other", "../outside")], []),
    (["a/../../written"], [], ["a"]),
    (["/written"], [], []),
    (["../written"], [], []),
    ([], [], ["../made"]),
    ([], [("../linked", "x")], []),
    (["file", "file/written"], [], []),
    (["same", "same"], [], []),
    (["same"], [("same", "a")], ["a"]),
    (["."], [], []),
    ([""], [], []),
    (["nul\0"], [], []),
)


@pytest.mark.parametrize(("files", "links", "folders"), OUTWARDS)
def test_nothing_is_written_outside_of_the_target(
    tmp_path: Path, files: list[str], links: list[tuple[str, str]], folders: list[str]
) -> None:
    blobs = LocalDirectory(tmp_path / "backups")
    repository = Repository(blobs, None)
    backup_id = made(blobs, files, links, folders)
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(BadRequestError):
        repository.restore(backup_id, outside / "inner" / "target", ignore)
    below = [path for path in outside.rglob("*") if path.is_file() or path.is_symlink()]
    assert [path for path in below if "target" not in path.parts] == []
    for path in below:
        assert path.resolve().is_relative_to(outside / "inner" / "target")


def test_links_inside_are_restored_and_rights_are_for_the_owner(tmp_path: Path) -> None:
    blobs = LocalDirectory(tmp_path / "backups")
    backup_id = made(
        blobs, ["store/a/file"], [("metadata/default", "../store/a")], ["store", "store/a"]
    )
    Repository(blobs, None).restore(backup_id, tmp_path / "target", ignore)
    assert (tmp_path / "target/metadata/default/file").read_bytes() == CONTENT
    assert (tmp_path / "target/store/a/file").stat().st_mode & 0o7777 == 0o700


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "alias/file"])
def test_a_backup_that_could_not_be_restored_is_not_made(tmp_path: Path, target: str) -> None:
    source = tmp_path / "data"
    (source / "folder").mkdir(parents=True)
    (source / "alias").symlink_to("folder")
    (source / "linked").symlink_to(target)
    repository = Repository(LocalDirectory(tmp_path / "backups"), None)
    with pytest.raises(BadRequestError, match="linked: is a link to a place outside"):
        repository.create(source, 1, "0", ignore)
    assert repository.backups() == []


def test_an_absolute_link_within_the_data_directory_is_restored(tmp_path: Path) -> None:
    source = tmp_path / "data"
    (source / "store").mkdir(parents=True)
    (source / "store/file").write_bytes(CONTENT)
    (source / "alias").symlink_to(source / "store")
    repository = Repository(LocalDirectory(tmp_path / "backups"), None)
    backup = repository.create(source, 1, "0", ignore)
    repository.restore(backup.id, tmp_path / "target", ignore)
    assert os.readlink(tmp_path / "target/alias") == "store"
    assert (tmp_path / "target/alias/file").read_bytes() == CONTENT


def test_a_blob_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    blobs = LocalDirectory(tmp_path / "backups")
    repository = Repository(blobs, None)
    backup_id = made(blobs, ["file"])
    blob = blobs.path(BlobKey("backups", SHA256))
    blob.unlink()
    (tmp_path / "elsewhere").write_bytes(CONTENT)
    blob.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError, match="blob store"):
        repository.verify(backup_id)
    blob.unlink()
    os.mkfifo(blob)
    with pytest.raises(UnavailableError, match="blob store"):
        repository.verify(backup_id)


@pytest.mark.parametrize("linked", ["drafts", "binaries", "binaries/ab"])
def test_a_blob_is_not_stored_through_a_link(tmp_path: Path, linked: str) -> None:
    blobs, outside = LocalDirectory(tmp_path / "blobs"), tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "blobs" / linked).parent.mkdir(parents=True)
    (tmp_path / "blobs" / linked).symlink_to(outside)
    content = next(
        b"%d" % number
        for number in range(10_000)
        if hashlib.sha256(b"%d" % number).hexdigest().startswith("ab")
    )
    with pytest.raises(UnavailableError, match="blob store"):
        blobs.put(BlobKey("binaries", hashlib.sha256(content).hexdigest()), (content,))
    assert list(outside.rglob("*")) == []

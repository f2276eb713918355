"""Paths from another source are opened part by part, and never through a link."""

import os
from pathlib import Path

import pytest

from vedette.blobs.open_folder import OpenFolder, is_link_error, path_parts
from vedette.errors import BadRequestError
from vedette.forwarder.delivery import Content, DeliveryError
from vedette.forwarder.directory import Directory

LINE = Content(b"line", "application/x-ndjson", ".jsonl")


@pytest.mark.parametrize("name", ["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0"])
def test_a_path_that_is_not_plain_has_no_parts(name: str) -> None:
    with pytest.raises(BadRequestError, match="outside"):
        path_parts(name)


def test_a_folder_that_is_swapped_for_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"secret")
    (tmp_path / "root").mkdir()
    with OpenFolder.root(tmp_path / "root") as root:
        with root.below(("a", "b"), mode=0o700) as inner, inner.create_file("file", 0o600) as file:
            file.write(b"content")
        with root.below(("a", "b")) as inner, inner.open_file("file") as opened:
            assert opened.read() == b"content"
        with root.below(("a", "b")) as inner:
            os.rename(tmp_path / "root/a", tmp_path / "root/moved")
            (tmp_path / "root/a").symlink_to(outside)
            with inner.open_file("file") as opened:
                assert opened.read() == b"content"
        for mode in (None, 0o700):
            with (
                pytest.raises(OSError, match=r"irectory|symbolic") as refused,
                root.below(("a",), mode=mode),
            ):
                pass
            assert is_link_error(refused.value)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "socket"])
def test_what_is_no_file_is_neither_read_nor_written(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "x"
    match kind:
        case "link":
            place.symlink_to("/etc/passwd")
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case _:
            os.mknod(place, 0o140600)
    with OpenFolder.root(tmp_path) as root:
        with pytest.raises(OSError, match="x"):
            root.open_file("x")
        with pytest.raises(FileExistsError):
            root.create_file("x", 0o600)


@pytest.mark.parametrize("linked", ["org", "org/alerts", "org/alerts/a.jsonl"])
def test_a_forwarder_writes_no_file_through_a_link(tmp_path: Path, linked: str) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    is_file = linked.endswith(".jsonl")
    (root / linked).parent.mkdir(parents=True)
    (root / linked).symlink_to(outside / "kept" if is_file else outside)
    destination = Directory(root)
    if is_file:  # the name is replaced, and not what it leads to
        destination.deliver("org/alerts/a.jsonl", LINE)
        assert (root / linked).read_bytes() == b"line"
    else:
        with pytest.raises(DeliveryError):
            destination.deliver("org/alerts/a.jsonl", LINE)
    assert [(one.name, one.read_bytes()) for one in outside.iterdir()] == [("kept", b"kept")]

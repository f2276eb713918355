"""Listing the files below a folder."""

import os
from pathlib import Path

import pytest

from tests.support.unlisted_folder import too_deep
from vedette.file_tree import matching, regular_files, walk


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    too_deep(tmp_path)
    for listing in (regular_files(tmp_path), walk(tmp_path)):
        with pytest.raises(OSError, match="File name too long"):
            list(listing)


def test_the_caller_may_take_the_error_and_gets_the_rest(tmp_path: Path) -> None:
    too_deep(tmp_path)
    (tmp_path / "a").write_text("x")
    (tmp_path / "z").write_text("x")
    errors: list[OSError] = []
    found = [path.name for path in regular_files(tmp_path, errors.append)]
    assert found == ["a", "z"]
    assert len(errors) == 1


def test_links_and_devices_are_handed_over_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")
    (tmp_path / "to-folder").symlink_to(tmp_path / "folder")
    (tmp_path / "to-file").symlink_to(tmp_path / "folder" / "file")
    os.mkfifo(tmp_path / "pipe")
    links: list[Path] = []
    found = list(regular_files(tmp_path, on_link=links.append))
    assert found == [tmp_path / "folder" / "file"]
    assert sorted(path.name for path in links) == ["pipe", "to-file", "to-folder"]


def test_a_pattern_matches_as_a_glob_does(tmp_path: Path) -> None:
    for name in ("ab/one", "ab/two.txt", "abc/three", "four"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    for pattern in ("*", "??/*", "ab/*.txt", "*/*", "none/*"):
        assert list(matching(tmp_path, pattern)) == sorted(tmp_path.glob(pattern))
    assert list(matching(tmp_path / "missing", "*")) == []


def test_a_pattern_does_not_pass_over_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    too_deep(tmp_path)
    with pytest.raises(OSError, match="File name too long"):
        list(matching(tmp_path, "/".join(["*"] * 21)))

"""The data directory is for its owner alone."""

from pathlib import Path

import pytest

from vedette.bootstrap.private_folder import make_private
from vedette.errors import StartError


def mode(folder: Path) -> int:
    return folder.stat().st_mode & 0o777


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b")
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_directory_that_was_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    make_private(tmp_path / "open")
    assert mode(tmp_path / "open") == 0o700


@pytest.mark.parametrize("place", ["/", "/tmp", "~"])
def test_a_directory_that_others_need_is_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = Path(place).expanduser()
    before = mode(folder)
    with pytest.raises(StartError, match="a directory of its own"):
        make_private(folder)
    assert mode(folder) == before

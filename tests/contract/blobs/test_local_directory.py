"""Blobs in a directory: rights, damage, and a writer that is killed."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vedette.blobs.blob_store import BlobKey, DamagedBlobError, open_verified
from vedette.blobs.local_directory import BLOB_DRAFT_STALE_S, LocalDirectory
from vedette.errors import UnavailableError

CONTENT = b"content" * 1_000
KEY = BlobKey("binaries", hashlib.sha256(CONTENT).hexdigest())


def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = LocalDirectory(tmp_path / "blobs")
    store.put(KEY, [CONTENT])
    for path in (tmp_path / "blobs").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT + b"x", b"", bytes(len(CONTENT))])
def test_a_damaged_blob_is_never_handed_out(tmp_path: Path, damage: bytes) -> None:
    store = LocalDirectory(tmp_path)
    store.put(KEY, [CONTENT])
    store.path(KEY).write_bytes(damage)
    with pytest.raises(DamagedBlobError, match="damaged"):
        open_verified(store, KEY)
    store.put(KEY, [CONTENT])  # putting it again repairs it
    with open_verified(store, KEY) as file:
        assert file.read() == CONTENT


def test_a_writer_that_is_killed_leaves_no_blob_and_no_draft_for_long(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from vedette.blobs.blob_store import BlobKey
from vedette.blobs.local_directory import LocalDirectory
def pieces():
    yield b"content" * 500
    print("half", flush=True)
    sys.stdin.read()
LocalDirectory(Path({str(tmp_path)!r})).put(BlobKey("binaries", {KEY.sha256!r}), pieces())
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        writer.send_signal(signal.SIGKILL)
    store = LocalDirectory(tmp_path)
    assert store.size(KEY) is None
    assert list(store.blobs("binaries")) == []
    (draft,) = (tmp_path / "drafts").iterdir()
    store.delete_stale_drafts()
    assert draft.exists()  # somebody may be writing it
    old = time.time() - BLOB_DRAFT_STALE_S - 60
    os.utime(draft, (old, old))
    store.delete_stale_drafts()
    assert not draft.exists()
    store.put(KEY, [CONTENT])
    assert store.size(KEY) == len(CONTENT)


def test_a_disk_that_refuses_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("no directory")
    with pytest.raises(UnavailableError):
        LocalDirectory(tmp_path / "blobs").put(KEY, [CONTENT])


def test_foreign_files_are_not_listed(tmp_path: Path) -> None:
    store = LocalDirectory(tmp_path)
    store.put(KEY, [CONTENT])
    (tmp_path / "binaries" / "aa").mkdir(exist_ok=True)
    for name in ("README", "x" * 64, KEY.sha256 + ".7"):
        (tmp_path / "binaries" / "aa" / name).touch()
    assert [one.key for one in store.blobs("binaries")] == [KEY]

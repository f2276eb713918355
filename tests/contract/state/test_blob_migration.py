"""Files of older versions move into the blob store, on both databases."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from tests.support.object_store import KEY, SECRET, failing_store, make_bucket, object_store
from vedette.blobs.blob_store import BlobKey, open_verified
from vedette.blobs.fallback_store import FallbackStore
from vedette.blobs.local_directory import LocalDirectory
from vedette.bootstrap.open_blobs import open_blobs
from vedette.model.scope import EVERYTHING
from vedette.respond.binary_copies import BinaryCopies
from vedette.respond.blob_migration import BlobMigration
from vedette.respond.package_files import open_installer, open_sensor_package
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.db.schema import INSTALLER, INSTALLER_CHUNK
from vedette.state.db.schema_fleet import STORED_FILE
from vedette.state.sensors import installers, sensor_packages
from vedette.state.sensors.installers import Installer, InstallerFile, NewInstaller
from vedette.state.sensors.sensor_packages import Package

NOW_US = 1_700_000_000_000_000
COPY, BEGINNING, UPDATE = b"a copy" * 100, b"the beginning" * 50, b"an update" * 10
INSTALLER_BYTES = os.urandom(2_500_000)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def left_by_older(database: Database, data: Path) -> Installer:
    """Stores the data of an older version: a copy, a partial copy, an update, and a package in
    chunks."""
    row: dict[str, Any] = {"path": "/x", "size": 10**9, "copied": 1, "stored_us": 1}
    with database.writing() as connection:
        md5 = hashlib.md5(COPY).hexdigest()
        connection.execute(
            insert(STORED_FILE), {**row, "sha256": sha(COPY), "sensor_id": 0, "md5": md5}
        )
        connection.execute(
            insert(STORED_FILE), {**row, "sha256": "ab" * 32, "sensor_id": 7, "md5": "cd" * 16}
        )
    for name, content in ((sha(COPY), COPY), ("ab" * 32 + ".7", BEGINNING)):
        path = data / "binaries" / name[:2] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (data / "packages").mkdir()
    (data / "packages" / sha(UPDATE)).write_bytes(UPDATE)
    sensor_packages.register(database, Package("linux", "2", sha(UPDATE), len(UPDATE)))
    file = InstallerFile("a.msi", sha(INSTALLER_BYTES), len(INSTALLER_BYTES))
    made = installers.add(database, file, NewInstaller("windows", "msi", "1"), NOW_US)
    chunks = [
        {"installer_id": made.id, "number": number, "data": INSTALLER_BYTES[at : at + (1 << 20)]}
        for number, at in enumerate(range(0, len(INSTALLER_BYTES), 1 << 20))
    ]
    with database.writing() as connection:
        connection.execute(insert(INSTALLER_CHUNK), chunks)
    return made


def assert_all_served(database: Database, blobs: FallbackStore, data: Path) -> None:
    copies = BinaryCopies(database, blobs, data / "arriving", 10**9)
    copy = copies.open_copy(hashlib.md5(COPY).hexdigest(), EVERYTHING, NOW_US)
    assert copy is not None
    with copy:
        assert copy.read() == COPY
    with open_sensor_package(database, blobs, sha(UPDATE)) as file:
        assert file.read() == UPDATE
    (installer,) = installers.all_installers(database)
    with open_installer(blobs, installer) as file:
        assert file.read() == INSTALLER_BYTES


def assert_moved(database: Database, blobs: FallbackStore, data: Path) -> None:
    """Everything is in the current store, and nothing in the older places."""
    for area, content in (
        ("binaries", COPY),
        ("binaries", BEGINNING),
        ("packages", UPDATE),
        ("installers", INSTALLER_BYTES),
    ):
        with open_verified(blobs.current, BlobKey(area, sha(content))) as file:  # type: ignore[arg-type]
            assert file.read() == content
    older = [*(data / "binaries").rglob("*"), *(data / "packages").rglob("*")]
    assert [path for path in older if path.is_file()] == []
    with database.reading() as connection:
        assert connection.execute(select(INSTALLER_CHUNK.c.number)).all() == []
        beginning = select(STORED_FILE.c.content_sha256).where(STORED_FILE.c.sensor_id == 7)
        assert connection.scalar(beginning) == sha(BEGINNING)


def test_files_of_older_versions_are_served_before_while_and_after_they_move(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.respond.blob_migration.BLOBS_MOVED_A_ROUND", 1)
    left_by_older(database, tmp_path)
    blobs = open_blobs(Settings(data=tmp_path), database)
    migration = BlobMigration(blobs, database)
    assert_all_served(database, blobs, tmp_path)
    rounds = 0
    while not migration.move_some():
        assert_all_served(database, blobs, tmp_path)
        rounds += 1
    assert rounds == 3
    assert_all_served(database, blobs, tmp_path)
    assert_moved(database, blobs, tmp_path)


@pytest.mark.parametrize("at", [1, 3, 4, 5, 6, 8, 10, 12, 14, 15, 16, 17])
def test_a_move_that_is_killed_goes_on(database: Database, tmp_path: Path, at: int) -> None:
    """SIGKILL before the n-th statement that changes a file or a row."""
    left_by_older(database, tmp_path)
    dsn = database.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")
    program = """
import os, signal, sys
from sqlalchemy import event
from pathlib import Path
from vedette.bootstrap.open_blobs import open_blobs
from vedette.respond.blob_migration import BlobMigration
from vedette.settings import Settings
from vedette.state.db.database import open_database
data, dsn, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def note():
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
database = open_database(dsn, data)
event.listen(
    database.engine, "before_cursor_execute",
    lambda c, cursor, text, *more: note() if text.startswith(("DELETE", "UPDATE")) else None,
)
event.listen(database.engine, "commit", lambda c: note())
sys.addaudithook(
    lambda name, arguments: note() if name in ("os.rename", "os.remove") else None
)
blobs = open_blobs(Settings(data=data), database)
migration = BlobMigration(blobs, database)
while not migration.move_some():
    pass
"""
    command = [sys.executable, "-c", program, str(tmp_path), dsn, str(at)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    blobs = open_blobs(Settings(data=tmp_path), database)
    assert_all_served(database, blobs, tmp_path)
    assert BlobMigration(blobs, database).move_some()
    assert_all_served(database, blobs, tmp_path)
    assert_moved(database, blobs, tmp_path)


def test_a_damaged_file_stays_and_is_not_served(database: Database, tmp_path: Path) -> None:
    left_by_older(database, tmp_path)
    path = tmp_path / "binaries" / sha(COPY)[:2] / sha(COPY)
    path.write_bytes(b"damaged")
    with database.writing() as connection:
        connection.execute(delete(INSTALLER_CHUNK).where(INSTALLER_CHUNK.c.number == 1))
    blobs = open_blobs(Settings(data=tmp_path), database)
    migration = BlobMigration(blobs, database)
    while not migration.move_some():
        pass
    assert path.read_bytes() == b"damaged"
    with database.reading() as connection:
        assert len(connection.execute(select(INSTALLER_CHUNK.c.number)).all()) == 2
    assert [list(blobs.current.blobs(area)) for area in ("installers",)] == [[]]
    assert blobs.current.size(BlobKey("binaries", sha(COPY))) is None
    assert blobs.current.size(BlobKey("packages", sha(UPDATE))) == len(UPDATE)


def test_a_bucket_is_filled_from_the_directory_that_was_there_before(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_by_older(database, tmp_path)
    local = LocalDirectory(tmp_path / "blobs")
    local.put(BlobKey("binaries", sha(b"local")), [b"local"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with object_store() as url:
        settings = Settings(data=tmp_path, blob_bucket=make_bucket(url), blob_endpoint=url)
        blobs = open_blobs(settings, database)
        assert_all_served(database, blobs, tmp_path)
        while not BlobMigration(blobs, database).move_some():
            pass
        assert_moved(database, blobs, tmp_path)
        assert list(local.blobs("binaries")) == []
        elsewhere = tmp_path / "another server"
        other = open_blobs(
            Settings(data=elsewhere, blob_bucket=settings.blob_bucket, blob_endpoint=url), database
        )
        assert_all_served(database, other, elsewhere)


def test_a_bucket_that_fails_loses_nothing_and_is_left_alone_for_a_while(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_by_older(database, tmp_path)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with failing_store() as url:
        settings = Settings(data=tmp_path, blob_bucket="b", blob_endpoint=url, blob_deadline_s=1)
        migration = BlobMigration(open_blobs(settings, database), database)
        assert migration.move_some() is False
    assert migration.move_some() is False  # at once: it does not ask again so soon
    assert_all_served(database, open_blobs(Settings(data=tmp_path), database), tmp_path)


def test_two_packages_of_the_same_bytes_move_together(database: Database, tmp_path: Path) -> None:
    one = left_by_older(database, tmp_path)
    file = InstallerFile("b.msi", one.sha256, one.size)
    other = installers.add(database, file, NewInstaller("windows", "msi", "2"), NOW_US)
    with database.writing() as connection:
        same = select(INSTALLER_CHUNK).where(INSTALLER_CHUNK.c.installer_id == one.id)
        rows = [dict(row) for row in connection.execute(same).mappings()]
        copied = [{**row, "installer_id": other.id} for row in rows]
        connection.execute(insert(INSTALLER_CHUNK), copied)
    blobs = open_blobs(Settings(data=tmp_path), database)
    while not BlobMigration(blobs, database).move_some():
        pass
    with database.reading() as connection:
        assert connection.execute(select(INSTALLER_CHUNK.c.number)).all() == []
        assert len(connection.execute(select(INSTALLER.c.id)).all()) == 2
    for made in (one, other):
        with open_installer(blobs, made) as opened:
            assert opened.read() == INSTALLER_BYTES

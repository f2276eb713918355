"""Copies of programs and packages on several API servers: one database, one bucket, and of each
server its own connection, its own client and its own folder for unfinished files."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.object_store import KEY, SECRET, make_bucket, object_store
from vedette.blobs.s3_bucket import Bucket, Credentials, S3Bucket
from vedette.errors import NotFoundError
from vedette.model.host import Sighting
from vedette.model.scope import EVERYTHING
from vedette.respond.binary_copies import BinaryCopies, OfferedFile, Wanted
from vedette.respond.package_files import add_installer, open_installer, remove_installer
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors import installers
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.installers import NewInstaller

NOW_US = 1_700_000_000_000_000
CONTENT = os.urandom(30_000)
HALF = len(CONTENT) // 2
FILE = OfferedFile(
    hashlib.sha256(CONTENT).hexdigest(), hashlib.md5(CONTENT).hexdigest(), len(CONTENT), "/x"
)


class ApiServer:
    """File stores of one of several servers."""

    def __init__(self, database: Database, bucket: Bucket, folder: Path) -> None:
        self.database = database
        self.blobs = S3Bucket(bucket, deadline_s=20)
        self.copies = BinaryCopies(database, self.blobs, folder / "arriving", 1 << 30)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with object_store() as at:
        yield at


@pytest.fixture
def servers(
    another: Callable[[], Database], url: str, tmp_path: Path
) -> tuple[ApiServer, ApiServer]:
    bucket = Bucket(make_bucket(url), endpoint=url, credentials=Credentials(KEY, SECRET))
    one, other = (ApiServer(another(), bucket, tmp_path / name) for name in ("one", "other"))
    return one, other


@pytest.fixture
def sensor_id(servers: tuple[ApiServer, ApiServer]) -> int:
    changes = groups.GroupChanges(options={"collect_storefiles": True})
    groups.change(servers[0].database, groups.DEFAULT_GROUP_ID, changes)
    sensors = Sensors(servers[0].database)
    found = sensors.resolve({"sends": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)
    return found["sends"].id


def served(server: ApiServer) -> bytes | None:
    file = server.copies.open_copy(FILE.md5, EVERYTHING, NOW_US)
    if file is None:
        return None
    with file:
        return file.read()


def test_a_copy_that_one_server_takes_is_served_by_the_other(
    servers: tuple[ApiServer, ApiServer], sensor_id: int
) -> None:
    one, other = servers
    assert one.copies.offer(sensor_id, [FILE], NOW_US) == [Wanted(FILE.sha256, 0)]
    assert one.copies.put(sensor_id, FILE.sha256, 0, CONTENT, NOW_US) == len(CONTENT)
    assert served(other) == served(one) == CONTENT
    assert other.copies.copied([FILE.md5], EVERYTHING) == {FILE.md5: len(CONTENT)}
    assert other.copies.offer(sensor_id, [FILE], NOW_US) == []


def test_a_file_whose_sensor_goes_to_the_other_server_halfway_arrives_whole(
    servers: tuple[ApiServer, ApiServer], sensor_id: int
) -> None:
    one, other = servers
    one.copies.offer(sensor_id, [FILE], NOW_US)
    assert one.copies.put(sensor_id, FILE.sha256, 0, CONTENT[:HALF], NOW_US) == HALF
    with pytest.raises(NotFoundError):
        other.copies.put(sensor_id, FILE.sha256, HALF, CONTENT[HALF:], NOW_US)
    assert other.copies.offer(sensor_id, [FILE], NOW_US) == [Wanted(FILE.sha256, 0)]
    assert other.copies.put(sensor_id, FILE.sha256, 0, CONTENT, NOW_US) == len(CONTENT)
    assert served(one) == CONTENT


def test_a_package_that_one_server_takes_is_served_and_removed_by_the_other(
    servers: tuple[ApiServer, ApiServer], tmp_path: Path
) -> None:
    one, other = servers
    (tmp_path / "a.msi").write_bytes(CONTENT)
    new = NewInstaller("windows", "msi", "1")
    added = add_installer(one.database, one.blobs, tmp_path / "a.msi", new, NOW_US)
    found = installers.package_for(other.database, "windows", "msi", groups.DEFAULT_GROUP_ID)
    assert found == added
    with open_installer(other.blobs, found) as file:
        assert file.read() == CONTENT
    remove_installer(other.database, other.blobs, added.id)
    assert installers.all_installers(one.database) == []
    assert list(one.blobs.blobs("installers")) == []

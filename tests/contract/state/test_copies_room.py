"""Disk usage of copies of programs, on both databases."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vedette import limits
from vedette.blobs.blob_store import BlobKey
from vedette.blobs.local_directory import LocalDirectory
from vedette.errors import BusyError, ConflictError, NotFoundError
from vedette.model.host import Sighting
from vedette.model.scope import EVERYTHING, Scope
from vedette.record.objects.sensor_group import GroupOptions
from vedette.respond.binary_copies import BinaryCopies, OfferedFile
from vedette.respond.copies_room import CopiesRoom
from vedette.state.db.database import Database
from vedette.state.files import binary_orders, stored_files
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import Sensors
from vedette.state.shares.quota_list import BINARY_ORDERS

NOW_US = 1_700_000_000_000_000
FILE_BYTES = 10_000


def test_a_sensor_fills_no_more_than_its_share_however_it_offers(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COPIED_FILE_BYTES_MAX", FILE_BYTES)
    options = {"collect_storefiles": True}
    groups.change(database, groups.DEFAULT_GROUP_ID, groups.GroupChanges(options=options))
    found = Sensors(database).resolve(
        {"greedy": Sighting(), "other": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US
    )
    copies = BinaryCopies(
        database, LocalDirectory(tmp_path / "blobs"), tmp_path / "arriving", 8 * 2 * FILE_BYTES
    )
    contents = [os.urandom(FILE_BYTES) for _ in range(10)]
    files = [OfferedFile(hashlib.sha256(one).hexdigest(), "", len(one), "/x") for one in contents]
    greedy, other = found["greedy"].id, found["other"].id
    for file in files:  # one by one, before a byte of any is sent
        copies.offer(greedy, [file], NOW_US)
    taken = 0
    for file, content in zip(files, contents, strict=True):
        try:
            taken += copies.put(greedy, file.sha256, 0, content, NOW_US)
        except BusyError:
            continue
    assert taken == 2 * FILE_BYTES
    (wanted,) = copies.offer(other, files[-1:], NOW_US)
    assert copies.put(other, wanted.sha256, 0, contents[-1], NOW_US) == FILE_BYTES


class Filled:
    """A server with room for eight files, and sensors in two groups that send them."""

    def __init__(self, database: Database, folder: Path, quota: int = 0) -> None:
        self.database = database
        self.blobs = LocalDirectory(folder / "blobs")
        self.copies = BinaryCopies(database, self.blobs, folder / "arriving", 8 * FILE_BYTES)
        options = {"collect_storefiles": True, "binary_quota_bytes": quota}
        groups.change(database, groups.DEFAULT_GROUP_ID, groups.GroupChanges(options=options))
        other = groups.add(database, "other", options=GroupOptions(collect_storefiles=True))
        sensors = Sensors(database)
        self.sensor = sensors.resolve({"a": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)["a"].id
        self.other = sensors.resolve({"b": Sighting()}, other.id, NOW_US)["b"].id

    def send(self, sensor_id: int, content: bytes, at: int = 0) -> OfferedFile | None:
        file = OfferedFile(
            hashlib.sha256(content).hexdigest(), hashlib.md5(content).hexdigest(), FILE_BYTES, "/x"
        )
        if not self.copies.offer(sensor_id, [file], NOW_US):
            return None
        self.copies.put(sensor_id, file.sha256, 0, content, NOW_US + at)
        for one in stored_files.unread(self.database, "r", 100):
            stored_files.note_reading(self.database, one, "r")
        return file

    def ask(self, file: OfferedFile | None) -> bool:
        assert file is not None
        opened = self.copies.open_copy(file.md5, EVERYTHING, NOW_US)
        if opened is None:
            return False
        opened.close()
        return True

    def has_bytes(self, file: OfferedFile | None) -> bool:
        assert file is not None
        return self.blobs.size(BlobKey("binaries", file.sha256)) is not None


def test_what_was_asked_for_least_goes_for_what_comes(database: Database, tmp_path: Path) -> None:
    filled = Filled(database, tmp_path)
    contents = [os.urandom(FILE_BYTES) for _ in range(10)]
    files = [filled.send(filled.sensor, one, at) for at, one in enumerate(contents[:8])]
    assert filled.ask(files[0])
    files += [filled.send(filled.other, one, 9) for one in contents[8:]]
    kept = [filled.has_bytes(one) for one in files]
    assert kept == [True, False, False, *[True] * 7]
    assert [filled.ask(one) for one in files] == kept


def test_what_was_not_read_yet_and_what_was_added_stays(database: Database, tmp_path: Path) -> None:
    filled = Filled(database, tmp_path)
    added = [os.urandom(FILE_BYTES) for _ in range(8)]
    for one in added:
        filled.copies.add(one, "added", NOW_US)
    assert filled.send(filled.sensor, os.urandom(FILE_BYTES)) is None
    with pytest.raises(BusyError):
        filled.copies.add(os.urandom(FILE_BYTES), "one more", NOW_US)
    hashes = [BlobKey("binaries", hashlib.sha256(one).hexdigest()) for one in added]
    assert all(filled.blobs.size(key) == FILE_BYTES for key in hashes)


def test_the_quota_of_a_group_takes_nothing_from_others(database: Database, tmp_path: Path) -> None:
    filled = Filled(database, tmp_path, quota=2 * FILE_BYTES)
    shared, theirs = os.urandom(FILE_BYTES), os.urandom(FILE_BYTES)
    common = filled.send(filled.sensor, shared, 1)
    filled.send(filled.other, shared, 2)
    foreign = filled.send(filled.other, theirs, 3)
    own = [filled.send(filled.sensor, os.urandom(FILE_BYTES), 4 + at) for at in range(3)]
    assert [filled.has_bytes(one) for one in own] == [False, True, True]
    assert filled.has_bytes(common)
    assert filled.has_bytes(foreign)
    assert common is not None
    mine = Scope(frozenset({filled.sensor}))
    assert filled.copies.copied([common.md5], mine) == {}
    assert filled.copies.copied([common.md5], EVERYTHING) == {common.md5: FILE_BYTES}


def test_a_file_larger_than_the_quota_of_its_group_is_not_asked_for(
    database: Database, tmp_path: Path
) -> None:
    filled = Filled(database, tmp_path, quota=FILE_BYTES - 1)
    assert filled.send(filled.sensor, os.urandom(FILE_BYTES)) is None


def begun(filled: Filled, sensor_id: int) -> None:
    """Half of a file, which stays unfinished."""
    content = os.urandom(FILE_BYTES)
    file = OfferedFile(hashlib.sha256(content).hexdigest(), "", FILE_BYTES, "/half")
    assert filled.copies.offer(sensor_id, [file], NOW_US)
    filled.copies.put(sensor_id, file.sha256, 0, content[: FILE_BYTES // 2], NOW_US)


def test_what_another_group_is_sending_takes_nothing_of_a_groups_quota(
    database: Database, tmp_path: Path
) -> None:
    filled = Filled(database, tmp_path, quota=2 * FILE_BYTES)
    begun(filled, filled.other)
    own = [filled.send(filled.sensor, os.urandom(FILE_BYTES), at) for at in range(2)]
    assert [filled.has_bytes(one) for one in own] == [True, True]
    own.append(filled.send(filled.sensor, os.urandom(FILE_BYTES), 2))
    assert [filled.has_bytes(one) for one in own] == [False, True, True]


def test_what_others_are_sending_does_not_use_up_a_sensors_share(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COPIED_FILE_BYTES_MAX", FILE_BYTES)  # a share: two files
    filled = Filled(database, tmp_path)
    sensors = Sensors(database).resolve(
        {name: Sighting() for name in "cdef"}, groups.DEFAULT_GROUP_ID, NOW_US
    )
    full = [one.id for one in sensors.values()][:3]
    files = [
        filled.send(one, os.urandom(FILE_BYTES)) for one in (*full, filled.other) for _ in "12"
    ]
    assert all(map(filled.has_bytes, files))
    for _ in "123":
        begun(filled, filled.sensor)
    newcomer = list(sensors.values())[3].id
    assert filled.has_bytes(filled.send(newcomer, os.urandom(FILE_BYTES)))


def test_an_order_without_room_says_so_until_there_is_some(
    database: Database, tmp_path: Path
) -> None:
    filled = Filled(database, tmp_path, quota=FILE_BYTES - 1)
    content = os.urandom(FILE_BYTES)
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    file = binary_orders.OrderedFile(md5, sha256)
    order = binary_orders.NewOrder(filled.sensor, ["/x"])
    binary_orders.place(database, file, [order], "alice", NOW_US, NOW_US + 10**9)
    assert filled.send(filled.sensor, content) is None

    def reported() -> tuple[str, str]:
        (one,) = binary_orders.of_file(database, file, EVERYTHING, NOW_US)
        return one.state, one.message

    assert reported() == ("waiting", binary_orders.NO_ROOM)
    options = {"collect_storefiles": True, "binary_quota_bytes": 0}
    groups.change(database, groups.DEFAULT_GROUP_ID, groups.GroupChanges(options=options))
    assert filled.send(filled.sensor, content)
    assert reported() == ("done", "")


def test_a_group_that_is_switched_off_sends_not_even_the_rest_of_a_file(
    database: Database, tmp_path: Path
) -> None:
    filled, content = Filled(database, tmp_path), os.urandom(FILE_BYTES)
    file = OfferedFile(hashlib.sha256(content).hexdigest(), "", FILE_BYTES, "/half")
    filled.copies.offer(filled.sensor, [file], NOW_US)
    filled.copies.put(filled.sensor, file.sha256, 0, content[:100], NOW_US)
    groups.change(
        database,
        groups.DEFAULT_GROUP_ID,
        groups.GroupChanges(options={"collect_storefiles": False}),
    )
    with pytest.raises(NotFoundError):
        filled.copies.put(filled.sensor, file.sha256, 100, content[100:], NOW_US)
    assert list((tmp_path / "arriving").iterdir()) == []


def test_a_copy_is_found_by_either_hash_and_the_next_one_stands_in(
    database: Database, tmp_path: Path
) -> None:
    filled = Filled(database, tmp_path)
    file = filled.send(filled.sensor, os.urandom(FILE_BYTES))
    assert file is not None
    assert filled.copies.copied([file.sha256], EVERYTHING) == {file.sha256: FILE_BYTES}
    opened = filled.copies.open_copy(file.sha256.upper(), EVERYTHING, NOW_US)
    assert opened is not None
    opened.close()
    assert filled.copies.copied([""], EVERYTHING) == {}


class Interrupted(LocalDirectory):
    """A store where something else happens right before or after some bytes are deleted, as
    another server's request does."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] | None = None

    def delete(self, key: BlobKey) -> None:
        before, after, self.before, self.after = self.before, self.after, None, None
        if before is not None:
            before()
        super().delete(key)
        if after is not None:
            after()


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("who", ["sensor", "operator"])
def test_a_copy_that_comes_again_while_it_makes_room_is_there_or_not_announced(
    database: Database, tmp_path: Path, moment: str, who: str
) -> None:
    filled, content = Filled(database, tmp_path), os.urandom(FILE_BYTES)
    blobs = Interrupted(tmp_path / "blobs")
    room = CopiesRoom(database, blobs, 8 * FILE_BYTES)
    file = filled.send(filled.sensor, content)
    assert file is not None

    def again() -> None:
        if who == "sensor":
            filled.send(filled.other, content)
        else:
            filled.copies.add(content, "added", NOW_US)

    setattr(blobs, moment, again)
    room.make_for_all(8 * FILE_BYTES)
    is_announced = filled.copies.copied([file.sha256], EVERYTHING) != {}
    assert is_announced == filled.has_bytes(file) == (moment == "after")
    assert filled.ask(file) == is_announced


def test_bytes_that_go_while_they_come_again_are_stored_once_more(
    database: Database, tmp_path: Path
) -> None:
    filled, content = Filled(database, tmp_path), os.urandom(FILE_BYTES)
    file = filled.send(filled.sensor, content)
    assert file is not None
    stored, note = [0], stored_files.add

    def make_room(*args: Any) -> None:
        """Between the bytes of the second sender and its note."""
        stored[0] += 1
        if stored[0] == 1:
            CopiesRoom(database, filled.blobs, 0).make_for_all(0)
        note(*args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stored_files, "add", make_room)
        filled.send(filled.other, content)
    assert stored == [2]
    assert filled.has_bytes(file)
    assert filled.ask(file)


def test_adding_a_file_again_needs_no_room(database: Database, tmp_path: Path) -> None:
    filled = Filled(database, tmp_path)
    added = [os.urandom(FILE_BYTES) for _ in range(8)]
    for one in [*added, *added]:
        filled.copies.add(one, "added", NOW_US)
    hashes = [BlobKey("binaries", hashlib.sha256(one).hexdigest()) for one in added]
    assert all(filled.blobs.size(key) == FILE_BYTES for key in hashes)


def test_a_group_has_a_bounded_number_of_open_orders(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_orders, "BINARY_ORDERS", replace(BINARY_ORDERS, most=2))
    filled = Filled(database, tmp_path)

    def order(sensor_id: int, number: int, at_us: int = NOW_US) -> None:
        file = binary_orders.OrderedFile(f"{number:032x}", "")
        new = binary_orders.NewOrder(sensor_id, ["/x"])
        binary_orders.place(database, file, [new], "alice", at_us, at_us + 1_000)

    order(filled.sensor, 1)
    order(filled.sensor, 2)
    order(filled.sensor, 2)  # asked already
    with pytest.raises(ConflictError) as refused:
        order(filled.sensor, 3)
    assert refused.value.reason == "too_many_orders"
    order(filled.other, 3)
    order(filled.sensor, 3, NOW_US + 2_000)  # the others expired

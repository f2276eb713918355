"""How much room copies of programs take, on both databases."""

import hashlib
import os
from pathlib import Path

import pytest

from vedette import limits
from vedette.blobs.local_directory import LocalDirectory
from vedette.errors import BusyError
from vedette.model.host import Sighting
from vedette.respond.binary_copies import BinaryCopies, OfferedFile
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import Sensors

NOW_US = 1_700_000_000_000_000
FILE_BYTES = 10_000


def test_a_sensor_fills_no_more_than_its_share_however_it_offers(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COPIED_FILE_BYTES_MAX", FILE_BYTES)
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
        copies.offer(greedy, [file])
    taken = 0
    for file, content in zip(files, contents, strict=True):
        try:
            taken += copies.put(greedy, file.sha256, 0, content, NOW_US)
        except BusyError:
            continue
    assert taken == 2 * FILE_BYTES
    (wanted,) = copies.offer(other, files[-1:])
    assert copies.put(other, wanted.sha256, 0, contents[-1], NOW_US) == FILE_BYTES

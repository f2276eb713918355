"""Which of the files that a server orders the sensor sends, and what it says of the others."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from vedette.sensor.events.hashes import FileHashes
from vedette.sensor.settings import read_settings
from vedette.sensor.transport.binary_copies import Binaries
from vedette.sensor.transport.https_client import Client

PROGRAM = b"\x7fELF" + bytes(100)


def order(path: object, content: bytes = PROGRAM) -> dict[str, Any]:
    md5, sha256 = hashlib.md5(content).hexdigest(), hashlib.sha256(content).hexdigest()
    return {"md5": md5, "sha256": sha256, "paths": [str(path)]}


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """No request is made while orders wait."""
    path = tmp_path / "sensor.ini"
    path.write_text("[sensor]\nserver_url = https://127.0.0.1:1\ngroup_secret = s\n")
    return Client(read_settings(path))


def refusals(client: Client, binaries: Binaries, *orders: dict[str, Any]) -> list[str]:
    """Looks for the files; why some are refused."""
    binaries.want(list(orders))
    for _ in orders:
        assert binaries.send_some(client, "")
    return [one["reason"] for one in binaries.take_refused()]


def test_a_program_with_the_hash_is_found_and_no_other_file(tmp_path: Path, client: Client) -> None:
    program, other = tmp_path / "program", tmp_path / "other"
    program.write_bytes(PROGRAM)
    other.write_bytes(b"secret")
    binaries = Binaries(FileHashes().of, is_wanted=True)
    (reason,) = refusals(client, binaries, order(other))
    assert "another one" in reason
    (reason,) = refusals(client, binaries, order(other, b"secret"))
    assert refusals(client, binaries, order(program)) == []
    assert reason == "the file is not a program"


def test_places_that_are_no_files_are_refused_and_hold_nothing_up(
    tmp_path: Path, client: Client
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    places = [pipe, "/dev/zero", tmp_path, tmp_path / "none", "\0", ""]
    binaries = Binaries(FileHashes().of, is_wanted=True)
    orders = [order(place, bytes([number])) for number, place in enumerate(places)]
    assert len(refusals(client, binaries, *orders)) == len(places)


def test_a_file_that_could_not_be_hashed_now_is_not_refused(tmp_path: Path, client: Client) -> None:
    """The rate of hashing is bounded: the order comes again with the next check-in."""
    program = tmp_path / "program"
    program.write_bytes(PROGRAM)
    hashes, is_late = FileHashes(), True
    binaries = Binaries(lambda path: None if is_late else hashes.of(path), is_wanted=True)
    assert refusals(client, binaries, order(program)) == []
    is_late = False
    assert refusals(client, binaries, order(program)) == []


def test_a_host_that_sends_no_programs_says_so(tmp_path: Path) -> None:
    binaries = Binaries(FileHashes().of, is_wanted=False)
    binaries.want([order(tmp_path)])
    (refused,) = binaries.take_refused()
    assert "send_binaries" in refused["reason"]


@pytest.mark.parametrize("bodies", [[{}], [{"md5": "", "paths": ["/x"]}], ["x"], [None]])
def test_what_is_no_order_is_told(bodies: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        Binaries(FileHashes().of, is_wanted=True).want(bodies)

"""State and telemetry that do not belong together, and telemetry that is not whole: the server
refuses to start, or says what is missing."""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import httpx
import pytest

from tests.fault.crash import forked
from tests.fault.senders import Sender, check_stored_once, drain, lasting_token
from tests.support.commands import program
from tests.support.served import STOP_S, Server, listening
from vedette.cli.options import operator

DELETE_ID = """
import sys
from pathlib import Path
from vedette.store.engine.open import open_engine
engine = open_engine(Path(sys.argv[1]))
engine.command("DROP TABLE identity SYNC")
engine.close()
"""

VERIFY = """
import sys
from pathlib import Path
from vedette.store.engine.open import open_engine
from vedette.store.integrity.damage import verify_parts
engine = open_engine(Path(sys.argv[1]))
print(*(f"{part.table} {part.reason} {part.row_count}" for part in verify_parts(engine)), sep="\\n")
engine.close()
"""


class Filled(Protocol):
    def __call__(self, data: Path, *names: str, batches: int = 1) -> list[Sender]: ...


@contextmanager
def running(data: Path, *flags: str) -> Iterator[Server]:
    """A server that is stopped in order at the end."""
    data.mkdir(exist_ok=True)
    with forked(data, *flags) as process:
        yield listening(data, process)
        process.terminate()
        assert process.wait(STOP_S) == 0


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """Makes a stopped server that has stored something of each host, as a copy of one that was
    made once for all tests."""
    made: dict[tuple[tuple[str, ...], int], tuple[Path, list[Sender]]] = {}

    def fill(data: Path, *names: str, batches: int = 1) -> list[Sender]:
        if (names, batches) not in made:
            original = tmp_path_factory.mktemp("filled")
            made[names, batches] = original, _stored(original, names, batches)
        original, senders = made[names, batches]
        assert not absolute_links(original), "a copy has nothing of its original"
        shutil.copytree(original, data, symlinks=True, dirs_exist_ok=True)
        return deepcopy(senders)

    return fill


def _stored(data: Path, names: tuple[str, ...], batches: int) -> list[Sender]:
    senders = [Sender(name, numbered=True) for name in names]
    with running(data) as server:
        lasting = replace(server, ingest_token=lasting_token(server))
        for _ in range(batches):
            drain(senders, lasting)
    return senders


def absolute_links(data: Path) -> list[Path]:
    return [one for one in data.rglob("*") if one.is_symlink() and one.readlink().is_absolute()]


def refusal(data: Path, *flags: str) -> str:
    """Returns the error of a server that fails to start."""
    (data / "server.log").unlink(missing_ok=True)
    with forked(data, *flags) as process:
        assert process.wait(STOP_S) != 0
    said = (data / "server.log").read_text()
    assert "Traceback" not in said
    return said


def sensor_ids(server: Server) -> dict[str, int]:
    with server.analyst() as client:
        return {one["computer_dns_name"]: one["id"] for one in client.get("/api/v1/sensor").json()}


def remove_state(data: Path) -> None:
    for path in data.glob("state.db*"):
        path.unlink()


def segment_files(data: Path, pattern: str) -> list[Path]:
    table = (data / "telemetry/clickhouse/data/vedette/segment").resolve()
    return sorted(path for path in table.glob(pattern) if "detached" not in path.parts)


def searched(client: httpx.Client, query: str = "") -> httpx.Response:
    return client.get("/api/v1/process", params={"q": query})


def test_telemetry_without_its_state_database_is_not_started_on(
    tmp_path: Path, filled: Filled
) -> None:
    (old,) = filled(tmp_path, "old.example")
    remove_state(tmp_path)
    said = refusal(tmp_path)
    assert "the state database that belongs to this telemetry is missing" in said
    assert "--accept-store" in said
    assert refusal(tmp_path)  # the refusal has changed nothing
    new = Sender("new.example", numbered=True)
    with running(tmp_path, "--accept-store") as server:
        drain([new], server)
        assert sensor_ids(server) == {"old.example": 1, "new.example": 2}
        check_stored_once([old, new], server)
    with running(tmp_path) as server:
        check_stored_once([old, new], server)


def test_a_new_server_that_was_refused_still_prints_its_credentials_once_accepted(
    tmp_path: Path,
    filled: Filled,
) -> None:
    filled(tmp_path, "old.example")
    remove_state(tmp_path)
    refusal(tmp_path)
    with running(tmp_path, "--accept-store"):
        pass
    assert "This server is new" in (tmp_path / "server.log").read_text()


def test_a_state_database_without_its_telemetry_is_not_started_on(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example")
    shutil.rmtree(tmp_path / "telemetry")
    for _ in range(2):
        said = refusal(tmp_path)
        assert "the telemetry that belongs to this state database is missing" in said
    with running(tmp_path, "--accept-store") as server, server.analyst() as client:
        assert searched(client).json()["total_results"] == 0
        found = client.get("/api/v1/audit", params={"kind": "store"}).json()["results"]
        assert [(one["author_kind"], one["author"]) for one in found] == [
            ("command", operator().name)
        ]
    with running(tmp_path):
        pass


def test_state_and_telemetry_of_two_servers_are_not_started_on(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path / "one", "one.example")
    filled(tmp_path / "two", "two.example")
    shutil.rmtree(tmp_path / "one/telemetry")
    shutil.copytree(tmp_path / "two/telemetry", tmp_path / "one/telemetry", symlinks=True)
    said = refusal(tmp_path / "one")
    assert "the state database and the telemetry belong to different servers" in said


def test_a_state_database_older_than_the_telemetry_is_not_started_on(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "one.example")
    shutil.copy(tmp_path / "state.db", tmp_path / "backup.db")
    with running(tmp_path) as server:
        drain([Sender("two.example", numbered=True)], server)
    remove_state(tmp_path)
    (tmp_path / "backup.db").rename(tmp_path / "state.db")
    assert "the state database is older than the telemetry" in refusal(tmp_path)


def test_a_pair_that_an_older_version_made_gets_an_identity(tmp_path: Path, filled: Filled) -> None:
    senders = filled(tmp_path, "old.example")
    _delete_identity(tmp_path)
    with running(tmp_path) as server:
        check_stored_once(senders, server)
    remove_state(tmp_path)
    assert "--accept-store" in refusal(tmp_path)


@pytest.mark.parametrize("lost", ["state", "telemetry"])
def test_half_of_a_pair_that_an_older_version_made_is_not_started_on(
    tmp_path: Path, filled: Filled, lost: str
) -> None:
    filled(tmp_path, "old.example")
    _delete_identity(tmp_path)
    if lost == "state":
        remove_state(tmp_path)
    else:
        shutil.rmtree(tmp_path / "telemetry")
    assert "--accept-store" in refusal(tmp_path)
    assert "--accept-store" in refusal(tmp_path)


def test_a_first_start_that_was_interrupted_is_completed(tmp_path: Path, filled: Filled) -> None:
    filled(tmp_path)
    with sqlite3.connect(tmp_path / "state.db") as state:
        state.execute("UPDATE kept_value SET value = 'pending:' || value WHERE name = 'store_id'")
    with running(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "state.db") as state:
        (value,) = state.execute("SELECT value FROM kept_value WHERE name = 'store_id'").fetchone()
    assert not value.startswith("pending:")


def _delete_identity(data: Path) -> None:
    with sqlite3.connect(data / "state.db") as state:
        state.execute("DELETE FROM kept_value WHERE name = 'store_id'")
    _run(DELETE_ID, data)


def _run(script: str, data: Path) -> list[str]:
    """Lines that a program prints that opens the telemetry of a stopped server."""
    return program(script, data / "telemetry").split("\n")


def _lose_definition(data: Path) -> None:
    (data / "telemetry/clickhouse/metadata/vedette/segment.sql").unlink()


def _empty_definition(data: Path) -> None:
    (data / "telemetry/clickhouse/metadata/vedette/record.sql").write_text("")


def _lose_data(data: Path) -> None:
    shutil.rmtree((data / "telemetry/clickhouse/data/vedette/segment").resolve())


def _lose_database(data: Path) -> None:
    shutil.rmtree((data / "telemetry/clickhouse/metadata/vedette").resolve())


@pytest.mark.parametrize(
    ("lose", "named"),
    [
        (_lose_definition, "has lost the definition of segment"),
        (_empty_definition, "the definition of table record is damaged"),
        (_lose_data, "the data of table segment are gone"),
        (_lose_database, "the table definitions of database vedette are gone"),
    ],
)
def test_a_store_that_lost_a_table_says_which(
    tmp_path: Path, filled: Filled, lose: Callable[[Path], None], named: str
) -> None:
    filled(tmp_path, "old.example")
    lose(tmp_path)
    said = refusal(tmp_path)
    assert named in said
    assert "backup" in said


def test_a_part_whose_files_are_gone_is_named_and_searches_are_incomplete(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example", batches=3)
    for path in segment_files(tmp_path, "*/data.bin"):
        path.unlink()
    with running(tmp_path) as server, server.analyst() as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["parts"]) == (503, "damaged")
        named = ready.json()["damaged_parts"]
        assert named
        assert all(one.startswith("segment ") and " rows, 20" in one for one in named)
        assert "unknown" not in str(named)
        found = searched(client).json()
        assert (found["total_results"], found["incomplete_results"]) == (0, True)
        later = searched(client, "last_update:[2100-01-01T00:00:00 TO *]").json()
        assert later["incomplete_results"]
        new = Sender("new.example", numbered=True)
        drain([new], server)
        check_stored_once([new], server)
    assert "damaged part" in (tmp_path / "server.log").read_text()
    with running(tmp_path, "--accept-store") as server, server.analyst() as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["damaged_parts"]) == (200, named)
        assert searched(client).json()["incomplete_results"]
    with running(tmp_path) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200


def test_parts_that_were_taken_away_while_the_server_was_stopped_are_named(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example", batches=3)
    taken_away(tmp_path)
    with running(tmp_path) as server, server.analyst() as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["parts"]) == (503, "damaged")
        named = ready.json()["damaged_parts"]
        assert named
        assert all(re.match(r"segment \S+ \(gone\): \d+ rows, 20", one) for one in named)
        found = searched(client).json()
        assert (found["total_results"], found["incomplete_results"]) == (0, True)
        # These get parts of the same names.
        drain([Sender(f"new-{number}.example", numbered=True) for number in range(3)], server)
    with running(tmp_path) as server, server.analyst() as client:
        assert client.get("/readyz").json()["damaged_parts"] == named
    with running(tmp_path, "--accept-store") as server, server.analyst() as client:
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["damaged_parts"]) == (200, named)
        assert searched(client).json()["incomplete_results"]


def test_parts_that_are_put_back_are_there_again(tmp_path: Path, filled: Filled) -> None:
    filled(tmp_path, "old.example", batches=3)
    kept, table = taken_away(tmp_path)
    with running(tmp_path) as server, server.client() as client:
        assert client.get("/readyz").status_code == 503
    for path in kept.iterdir():
        shutil.move(path, table / path.name)
    with running(tmp_path) as server, server.client() as client:
        assert client.get("/readyz").status_code == 200


def taken_away(data: Path) -> tuple[Path, Path]:
    """Moves all parts of the table elsewhere; there, and where they were."""
    found = {one.parent for one in segment_files(data, "*/data.bin")}
    kept, table = data / "kept", next(iter(found)).parent
    kept.mkdir()
    for path in found:
        shutil.move(path, kept / path.name)
    return kept, table


def test_nothing_is_missed_of_a_partition_that_was_merged_or_unmounted(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example", batches=3)
    with running(tmp_path) as server, server.analyst() as client:
        assert client.post("/api/v1/storage/events/new_partition").status_code == 200
        (warm,) = (
            one["name"]
            for one in client.get("/api/v1/storage/events/partition").json().values()
            if one["name"] != "writer"
        )
        assert client.post(f"/api/v1/storage/events/{warm}/unmount").status_code == 200
    with running(tmp_path) as server, server.analyst() as client:
        assert "damaged_parts" not in client.get("/readyz").json()
        assert client.delete(f"/api/v1/storage/events/{warm}").status_code == 200
    with running(tmp_path) as server, server.analyst() as client:
        assert "damaged_parts" not in client.get("/readyz").json()


def test_a_part_that_is_found_corrupt_by_a_search_is_named_and_the_search_is_503(
    tmp_path: Path,
    filled: Filled,
) -> None:
    filled(tmp_path, "old.example")
    with running(tmp_path) as server, server.analyst() as client:
        assert client.post("/api/v1/storage/events/new_partition").status_code == 200
    corrupt(segment_files(tmp_path, "*/data.bin"), 2_500, 3_500)
    with running(tmp_path) as server, server.analyst() as client:
        answer = searched(client, "process_name:writer.exe")
        assert answer.status_code == 503, answer.text
        searched(client, "process_name:other.exe")
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert "(unreadable)" in str(ready.json()["damaged_parts"])


def test_verifying_reads_every_part_and_names_the_corrupt_ones(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example")
    assert "".join(_run(VERIFY, tmp_path)) == ""
    corrupt(segment_files(tmp_path, "*/data.bin"), 1_500, 2_500)
    found = [line for line in _run(VERIFY, tmp_path) if line]
    assert found
    assert all(re.fullmatch(r"segment checksum mismatch [1-9]\d*", line) for line in found)


def test_a_part_without_which_the_server_cannot_start_is_named(
    tmp_path: Path, filled: Filled
) -> None:
    filled(tmp_path, "old.example")
    corrupt(segment_files(tmp_path, "*/data.bin"), 100, 2_500)
    said = refusal(tmp_path)
    assert "of table segment is damaged" in said
    assert "backup" in said


def corrupt(files: list[Path], begin: int, end: int) -> None:
    """Overwrites these bytes. The columns of the key come first, `record_keys` last."""
    assert files
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[:begin] + b"x" * (end - begin) + content[end:])


def test_a_copy_that_followed_symbolic_links_starts_and_has_everything(
    tmp_path: Path, filled: Filled
) -> None:
    senders = filled(tmp_path / "made", "old.example")
    shutil.copytree(tmp_path / "made", tmp_path / "copied", symlinks=False)
    with running(tmp_path / "copied") as server:
        check_stored_once(senders, server)


@pytest.mark.parametrize("target", ["", "/nowhere"])
def test_a_copy_without_its_symbolic_links_starts_and_has_everything(
    tmp_path: Path, filled: Filled, target: str
) -> None:
    senders = filled(tmp_path / "made", "old.example")
    shutil.copytree(tmp_path / "made", tmp_path / "copied", symlinks=True)
    for path in (tmp_path / "copied").rglob("*"):
        if path.is_symlink():
            path.unlink()
            if target:
                path.symlink_to(target)
    with running(tmp_path / "copied") as server:
        check_stored_once(senders, server)
    assert not absolute_links(tmp_path / "copied")

"""Crashes, a second server, a full disk, a closed store, a deadline."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.store.rows import file, partial, store
from vedette.errors import StartError, UnavailableError
from vedette.store.engine.capabilities import EMBEDDED
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.directory_lock import directory_lock
from vedette.store.schema.create import create_tables

ROOT = Path(__file__).parents[3]

OPEN = """
import sys
from pathlib import Path
from tests.contract.store.rows import *
from vedette.model.scope import EVERYTHING
from vedette.store.read.segment_search import search_segments
from vedette.store.read.recovery import seen_keys
from vedette.store.engine.open import open_engine
from vedette.store.schema.create import create_tables
from vedette.store.sql.scope_filter import ALL
engine = open_engine(Path(sys.argv[1]))
create_tables(engine)
"""

WRITE = """
first = int(sys.argv[2])
for number in range(first, 10_000):
    store(engine, partial(number % 7, file(f"c:\\\\{number}"), record_keys=[number], last_update=1))
    print(number, flush=True)
"""

READ = """
keys = [key for _, records, _ in seen_keys(engine, "segment") for key in records]
rows = search_segments(engine, ALL, EVERYTHING).rows
print(len(rows), sum(row["filemod_count"] for row in rows), *sorted(keys))
engine.close()
"""

EXHAUST = """
import os, resource
from concurrent.futures import ThreadPoolExecutor
from vedette.errors import UnavailableError
store(engine, partial(1, file("c:\\\\a"), last_update=1))
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
held = []
refused = other = 0

def attempt(number):
    global refused, other
    try:
        search_segments(engine, ALL, EVERYTHING)
        store(engine, partial(number, file("c:\\\\b"), last_update=2))
        engine.ping()
    except UnavailableError:
        refused += 1
    except BaseException as error:
        other += 1
        print(type(error), str(error)[:300])

for spare in range(12):
    while True:
        try:
            held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            break
    for descriptor in held[len(held) - spare:]:
        os.close(descriptor)
    del held[len(held) - spare:]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(attempt, range(spare * 10, spare * 10 + 4)))
for descriptor in held:
    os.close(descriptor)
store(engine, partial(500, file("c:\\\\again"), last_update=3))
print(refused > 0, other, search_segments(engine, ALL, EVERYTHING).total > 1)
engine.close()
"""

FILL = """
from vedette.errors import UnavailableError
import random
import time
refused = 0
for number in range(400):
    noise = [file(random.randbytes(20_000).hex()) for _ in range(10)]
    try:
        store(engine, partial(number, *noise, last_update=1))
    except UnavailableError as error:
        refused += 1
        break
Path(sys.argv[1], "ballast").unlink()
# A merge that the full disk ended is noticed by the next insert, which is refused, too.
while True:
    try:
        store(engine, partial(1, file("c:\\\\again"), last_update=1))
        break
    except UnavailableError:
        time.sleep(0.1)
print("refused", refused, flush=True)
engine.close()
"""


def run(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    for _ in range(3):
        first = acknowledged[-1] + 2 if acknowledged else 1
        with run(OPEN + WRITE, tmp_path, first) as writer:
            assert writer.stdout is not None
            acknowledged += [int(writer.stdout.readline()) for _ in range(15)]
            writer.kill()
            acknowledged += map(int, writer.stdout.read().split())
    with run(OPEN + READ, tmp_path) as reader:
        output, errors = reader.communicate(timeout=60)
    assert reader.returncode == 0, errors
    rows, count, *keys = map(int, output.split())
    assert rows == 7
    assert set(acknowledged) <= set(keys)
    assert count == len(keys) == len(set(keys))


def test_a_second_server_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with directory_lock(tmp_path), run(OPEN, tmp_path) as second:
        _, errors = second.communicate(timeout=60)
    assert second.returncode != 0
    assert f"is in use by process {os.getpid()}" in errors


def test_the_directory_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with directory_lock(tmp_path):
            pass


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StartError, match="cannot use the data directory"),
        directory_lock(tmp_path / "file" / "below"),
    ):
        pass


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """64 MB of file system, most of it taken by a file that can be removed."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting needs root")
    (tmp_path / "ballast").write_bytes(bytes(40 * 1024 * 1024))
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_refuses_and_recovers_without_a_restart(small_disk: Path) -> None:
    with run(OPEN + FILL, small_disk) as server:
        output, errors = server.communicate(timeout=120)
    assert (server.returncode, output) == (0, "refused 1\n"), errors


def test_a_closed_store_is_unavailable(root_engine: ClickHouseEngine) -> None:
    engine = root_engine.sibling("test_closed", EMBEDDED)
    create_tables(engine)
    store(engine, partial(last_update=1))
    engine.close()
    engine.close()
    with pytest.raises(UnavailableError, match="closed"):
        engine.query("SELECT 1")
    with pytest.raises(UnavailableError, match="closed"):
        store(engine, partial(last_update=1))
    root_engine.command("DROP DATABASE test_closed SYNC")


def test_a_slow_question_ends_at_its_deadline(engine: ClickHouseEngine) -> None:
    with pytest.raises(UnavailableError) as caught:
        engine.query("SELECT sum(cityHash64(number)) FROM numbers(100000000000)", deadline_s=0.2)
    assert caught.value.reason == "deadline"


def test_a_slow_stream_ends_at_its_deadline(engine: ClickHouseEngine) -> None:
    slow = "SELECT cityHash64(number) AS hash FROM numbers(100000000000) WHERE hash = 1"
    with (
        pytest.raises(UnavailableError) as caught,
        engine.stream(slow, deadline_s=0.2) as blocks,
    ):
        list(blocks)
    assert caught.value.reason == "deadline"
    assert engine.query("SELECT 1").rows[0] == (1,)


def test_a_mistake_of_ours_is_not_called_an_outage(engine: ClickHouseEngine) -> None:
    with pytest.raises(Exception, match="UNKNOWN_IDENTIFIER"):
        engine.query("SELECT nothing FROM segment")


def test_a_stream_and_other_questions_do_not_disturb_each_other(
    engine: ClickHouseEngine,
) -> None:
    store(engine, *(partial(number, file("c:\\a"), last_update=1) for number in range(100)))
    total = 0
    with engine.stream("SELECT number FROM numbers(300000)") as blocks:
        for block in blocks:
            total += len(block)
            assert engine.query("SELECT count() FROM segment").rows[0][0] == 100
    assert total == 300_000


def test_making_the_tables_twice_changes_nothing(contract_engine: ClickHouseEngine) -> None:
    store(contract_engine, partial(last_update=1))
    create_tables(contract_engine)
    assert contract_engine.query("SELECT count() FROM segment").rows[0][0] == 1


def test_tables_of_a_newer_version_are_refused(engine: ClickHouseEngine) -> None:
    engine.command("INSERT INTO schema VALUES (99, now64(6))")
    with pytest.raises(StartError, match="newer version"):
        create_tables(engine)


def test_without_file_descriptors_the_store_is_unavailable_and_recovers(tmp_path: Path) -> None:
    with run(OPEN + EXHAUST, tmp_path) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.split("\n")[-2] == "True 0 True", output

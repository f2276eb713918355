"""Writes that the disk refuses are lost to the embedded engine, which reports success: an insert is
refused then, and a merge of which files are cut short costs no row, no search and no start.

A limit of the size of files stands for the disk, since it fails the same writes every time.
"""

from pathlib import Path

from tests.support.commands import program

OPENED = """
import os, resource, sys
from pathlib import Path
import pyarrow as pa
from vedette.errors import UnavailableError
from vedette.store.engine.open import open_engine
from vedette.store.integrity.damage import damaged_parts

NONE = resource.RLIM_INFINITY

def limit_files(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, NONE))

def rows(first, count):
    texts = [f"word{n} of many" for n in range(count)]
    return pa.table({"number": pa.array(range(first, first + count), pa.uint64()), "text": texts})

def refused(call, *arguments):
    try:
        call(*arguments)
    except UnavailableError as error:
        return "full or failing" in str(error)
    return False

def stored():
    counted = "count(), uniqExact(number), countIf(text LIKE 'w%')"
    numbers = engine.query(f"SELECT {counted} FROM rows").rows
    found = engine.query("SELECT count() FROM rows WHERE hasAllTokens(text, ['word5'])").rows
    return [*numbers[0], found[0][0], *(part.text() for part in damaged_parts(engine))]

engine = open_engine(Path(sys.argv[1]))
engine.command(
    "CREATE TABLE IF NOT EXISTS rows (number UInt64, text String, "
    "noise String MATERIALIZED randomString(200), "
    "INDEX words text TYPE text(tokenizer = 'splitByNonAlpha'), "
    "PROJECTION by_text (SELECT * ORDER BY text)) ENGINE = MergeTree ORDER BY number "
    "SETTINGS deduplicate_merge_projection_mode = 'rebuild', old_parts_lifetime = 60"
)
"""

INSERTED = """
engine.insert_arrow("rows", rows(0, 100))
limit_files(40_000)
print(refused(engine.insert_arrow, "rows", rows(100, 1_000)), stored())
limit_files(NONE)
engine.insert_arrow("rows", rows(100, 1_000))
print(stored())
engine.close()
"""

TOGETHER = """
engine.command("CREATE TABLE others (number UInt64) ENGINE = MergeTree ORDER BY number")
one = pa.table({"number": pa.array([1], pa.uint64())})
together = [("others", one), ("rows", rows(0, 1_000)), ("others", one)]
limit_files(40_000)
print(refused(engine.insert_tables, together), stored())
limit_files(NONE)
engine.insert_tables(together)
print(stored())
engine.close()
"""

MERGED = """
for first in range(0, 500, 100):
    engine.insert_arrow("rows", rows(first, 100))
before = stored()
limit_files(40_000)
print(refused(engine.command, "OPTIMIZE TABLE rows FINAL"), stored() == before)
for notice in (lambda: None, engine.recover_failed_writes):
    engine.query("OPTIMIZE TABLE rows FINAL")  # as the engine does it by itself
    notice()
    print(stored() == before)
limit_files(NONE)
engine.command("OPTIMIZE TABLE rows FINAL")
print(stored())
engine.close()
"""

KILLED = """
for first in range(0, 500, 100):
    engine.insert_arrow("rows", rows(first, 100))
limit_files(40_000)
engine.query("OPTIMIZE TABLE rows FINAL")
os._exit(0)
"""

HELD = """
from vedette.store.engine import write_failures
write_failures.RELOAD_WAIT_S = write_failures.RELOAD_KILL_S = 0.2

def busy(call, *arguments):
    try:
        call(*arguments)
    except UnavailableError as error:
        return str(error)
    return ""

engine.insert_arrow("rows", rows(0, 100))
with engine.stream("SELECT number FROM rows") as blocks:
    limit_files(40_000)
    print(busy(engine.insert_arrow, "rows", rows(100, 1_000)))
    limit_files(NONE)
    print(busy(engine.ping))
    print(busy(list, blocks))
engine.recover_failed_writes()
engine.ping()
print(stored())
engine.close()
"""

LOOKED_AT = "print(stored()); engine.close()"


def test_an_insert_that_the_disk_refuses_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    assert program(OPENED + INSERTED, tmp_path).splitlines() == [
        "True [100, 100, 100, 1]",
        "[1100, 1100, 1100, 2]",
    ]
    assert program(OPENED + LOOKED_AT, tmp_path) == "[1100, 1100, 1100, 2]\n"


def test_of_inserts_into_several_tables_one_that_the_disk_refuses_refuses_all(
    tmp_path: Path,
) -> None:
    assert program(OPENED + TOGETHER, tmp_path).splitlines() == [
        "True [0, 0, 0, 0]",
        "[1000, 1000, 1000, 1]",
    ]


def test_while_a_search_is_in_the_way_nothing_is_answered(tmp_path: Path) -> None:
    assert program(OPENED + HELD, tmp_path).splitlines() == [
        "the telemetry store is busy",
        "the telemetry store cannot load its tables after a full disk",
        "the telemetry store reloaded its tables",
        "[100, 100, 100, 1]",
    ]


def test_a_merge_that_the_disk_refuses_costs_nothing(tmp_path: Path) -> None:
    assert program(OPENED + MERGED, tmp_path).splitlines() == [
        "True True",
        "True",
        "True",
        "[500, 500, 500, 5]",
    ]
    assert program(OPENED + LOOKED_AT, tmp_path) == "[500, 500, 500, 5]\n"


def test_a_kill_after_such_a_merge_costs_nothing(tmp_path: Path) -> None:
    program(OPENED + KILLED, tmp_path)
    assert program(OPENED + LOOKED_AT, tmp_path) == "[500, 500, 500, 5]\n"
